"""Why a subscription is refused."""

from axiom.errors import AxiomError


class NotWatchable(AxiomError):
    """Events of this type do not pass by the watch."""

    code, status = "not_watchable", 400


class NothingToWatch(AxiomError):
    """Choose at least one event type."""

    code, status = "nothing_to_watch", 400


class NotAColleague(AxiomError):
    """This person does not work in this tenant."""

    code, status = "not_a_colleague", 400


class NotYours(AxiomError):
    """This subscription is somebody else's; only admins change it."""

    code, status = "not_yours", 403


class SnoozeEndsBefore(AxiomError):
    """A snooze ends in the future, and not later than in 30 days."""

    code, status = "snooze_end", 400


class EventNotStored(AxiomError):
    """This event is not there, or not any more."""

    code, status = "event_not_stored", 404
