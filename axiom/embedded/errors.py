class EmbeddedError(Exception):
    """An embedded server could not do what it was asked to."""
