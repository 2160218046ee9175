"""What the child process does. It knows neither settings nor database; see confine.py."""
