"""The operations console: Django's admin, grouped by what an operator does."""
