"""What chat refuses."""

from axiom.errors import AxiomError


class ChatAway(AxiomError):
    """Messages cannot be taken at the moment; send it again shortly, with the same client_id."""

    code, status = "chat_away", 503


class MessageRefused(AxiomError):
    """A message has a text of 1 to 4,000 characters and a client_id of 1 to 64."""

    code, status = "message_refused", 400


class TooFast(AxiomError):
    """You write faster than anybody can read; wait a moment."""

    code, status = "too_fast", 429


class OwnersOnly(AxiomError):
    """Only an owner of the room may do this."""

    code, status = "owners_only", 403


class LastOwner(AxiomError):
    """A room keeps at least one owner: make somebody else an owner first."""

    code, status = "last_owner", 409


class AlreadyInRoom(AxiomError):
    """This person is in the room already."""

    code, status = "already_in_room", 409
