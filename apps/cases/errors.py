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


class AlreadySettled(AxiomError):
    """This is settled already and cannot be changed any more."""

    code, status = "already_settled", 409


class NotTheApprover(AxiomError):
    """Only the named approver decides this; without one, a manager or an admin."""

    code, status = "not_the_approver", 403


class NotYourComment(AxiomError):
    """Only its author, a manager or an admin may delete a comment."""

    code, status = "not_your_comment", 403


class CommentAlreadyDeleted(AxiomError):
    """This comment was deleted already."""

    code, status = "comment_already_deleted", 409


class DateOutOfRange(AxiomError):
    """Choose a moment that lies ahead, and within fifty years."""

    code, status = "date_out_of_range", 400


class CurrencyDiffers(AxiomError):
    """The cash of a case is kept in one currency."""

    code, status = "currency_differs", 409
