"""Why a subscription, or an act on an alert, is refused."""

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

    code, status = "event_not_stored", 400


class AlreadyAcknowledged(AxiomError):
    """Somebody acknowledged this alert already."""

    code, status = "alert_already_acknowledged", 409


class AlertSettled(AxiomError):
    """This alert was dismissed or resolved already."""

    code, status = "alert_settled", 409


class RootCauseMissing(AxiomError):
    """Say what caused it before it is resolved."""

    code, status = "root_cause_missing", 409


class NothingSaid(AxiomError):
    """Say it in words."""

    code, status = "nothing_said", 400
