"""The edge for programs."""
