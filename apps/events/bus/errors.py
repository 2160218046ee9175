class BusUnavailable(Exception):
    """The bus cannot be reached or takes nothing now. No event is to blame."""


class StreamsLost(Exception):
    """The bus lives but has forgotten streams it had: what was published has to go again."""
