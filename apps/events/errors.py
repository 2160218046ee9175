"""Why an event is refused, and why nothing can be done about a dead letter."""

from axiom.errors import AxiomError


class EventRefused(AxiomError):
    """This event cannot be published."""

    code, status = "event_refused", 422


class UnknownEventType(EventRefused):
    """No event of this type is declared."""

    code = "unknown_event_type"


class PayloadDoesNotFit(EventRefused):
    """The payload does not fit the schema of its event type."""

    code = "payload_does_not_fit"


class PayloadTooLarge(EventRefused):
    """The payload is larger than 256 KiB: publish an id and keep the content elsewhere."""

    code, status = "payload_too_large", 413


class NotInTransaction(EventRefused):
    """An event is published inside the transaction of its change, or not at all."""

    code, status = "not_in_transaction", 500


class EventWithoutTenant(EventRefused):
    """An event belongs to a tenant, and none is known here."""

    code = "event_without_tenant"


class LetterNotOpen(AxiomError):
    """This dead letter is settled already: look at what was done about it."""

    code, status = "dead_letter_not_open", 409


class LetterUnreadable(AxiomError):
    """Nobody can read this entry, so it cannot be sent again: replace it by an edited event, or
    discard it."""

    code, status = "dead_letter_unreadable", 409


class NobodyHandles(AxiomError):
    """No handler of this group wants events of this type any more."""

    code, status = "nobody_handles", 409


class NothingToTry(AxiomError):
    """The relay gave up on this event before any group saw it: there is no handler to try."""

    code, status = "nothing_to_try", 409


class ReasonMissing(AxiomError):
    """Say why: whoever looks at this later will want to know."""

    code, status = "reason_missing", 422


class RedriveNotRunning(AxiomError):
    """This redrive has ended already."""

    code, status = "redrive_not_running", 409
