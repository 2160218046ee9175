"""The edge of accounts."""
