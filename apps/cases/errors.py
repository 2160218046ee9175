"""What people are told when a case does not allow what they want."""

from axiom.errors import AxiomError


class CaseIsClosed(AxiomError):
    """This case is closed: reopen it first."""

    code, status = "case_closed", 409


class CaseNotClosed(AxiomError):
    """Only a closed case can be reopened."""

    code, status = "case_not_closed", 409


class CaseAlreadyClosed(AxiomError):
    """This case is already closed."""

    code, status = "case_already_closed", 409


class ImpossibleTransition(AxiomError):
    """It cannot go from its status to that one."""

    code, status = "impossible_transition", 409


class NotAColleague(AxiomError):
    """Choose people who are members of this tenant and active."""

    code, status = "not_a_colleague", 400


class ManagerOnlyWatches(AxiomError):
    """Choose a manager or approver who may act here; viewers only look."""

    code, status = "manager_only_watches", 400
