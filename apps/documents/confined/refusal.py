"""Why the child would not go on."""


class Refused(Exception):
    """The parent has an error for each reason."""

    def __init__(self, reason: str, detail: str = "") -> None:
        self.reason, self.detail = reason, detail
        super().__init__(reason)
