"""URL configurations with views made for tests."""
