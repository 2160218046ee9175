"""Why an event is refused."""

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
