"""What can go wrong with processes, in sentences."""

from axiom.errors import AxiomError


class InvalidBpmn(AxiomError):
    """This is no process that can be run."""

    code, status = "invalid_bpmn", 400


class BpmnTooLarge(AxiomError):
    """A process definition has at most 1 MB and 40 levels of elements."""

    code, status = "bpmn_too_large", 400


class InvalidExpression(AxiomError):
    """This expression cannot be used."""

    code, status = "invalid_expression", 400


class InvalidFacts(AxiomError):
    """Values are plain JSON of at most 64 KB and 20 levels."""

    code, status = "invalid_facts", 400


class KeyTaken(AxiomError):
    """There is a process definition with this key already: add a version to it."""

    code, status = "definition_exists", 409


class AnotherProcess(AxiomError):
    """This diagram is of another process: the ids must be the same in every version."""

    code, status = "another_process", 409


class VersionPublished(AxiomError):
    """A published version never changes: add a new one."""

    code, status = "version_published", 409


class NothingPublished(AxiomError):
    """No version of this process is published yet."""

    code, status = "nothing_published", 409


class DefinitionRetired(AxiomError):
    """This process is retired: it cannot be started any more."""

    code, status = "definition_retired", 409


class ProcessOver(AxiomError):
    """This process has ended."""

    code, status = "process_over", 409


class NotStuck(AxiomError):
    """This process is not stuck."""

    code, status = "process_not_stuck", 409


class WrongState(AxiomError):
    """This work item is not in a state that allows this."""

    code, status = "wrong_state", 409


class NotYours(AxiomError):
    """This work item is for somebody else."""

    code, status = "not_your_work", 403


class NotDelegable(AxiomError):
    """Work can only be given to somebody of this tenant who may act."""

    code, status = "not_delegable", 409


class NoAgentsWork(AxiomError):
    """There is no agent's result here to say something about."""

    code, status = "no_agents_work", 409


class NeedsApproval(AxiomError):
    """This result needs somebody's approval: submit it instead."""

    code, status = "needs_approval", 409


class FourEyes(AxiomError):
    """Nobody approves what they handed in themselves."""

    code, status = "four_eyes", 403


class CannotStart(AxiomError):
    """This process cannot be started with these values."""

    code, status = "cannot_start", 409
