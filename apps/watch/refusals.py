"""What people are told when an alert does not allow what they want."""

from axiom.errors import AxiomError


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
