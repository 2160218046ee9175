"""A tenant's own steps of escalation. They hold for what is put on the clock from then on."""

from typing import Any

from django.db import transaction

from ..models import EscalationStep


@transaction.atomic
def save_step(*, step: EscalationStep | None = None, **given: Any) -> EscalationStep:
    """Add or change a step; its severity then follows the tenant's own steps only."""
    step = step or EscalationStep()
    for name, value in given.items():
        setattr(step, name, value)
    step.full_clean()
    step.save()
    return step


@transaction.atomic
def remove_step(*, step: EscalationStep) -> None:
    """Without steps of its own, a severity follows the installation's again."""
    step.delete()
