"""A tenant's own escalation in the console."""

from typing import Any

from django import forms
from django.contrib import admin
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _
from unfold.widgets import UnfoldAdminCheckboxSelectMultipleWidget

from apps.watch.models import Channel, EscalationStep
from apps.watch.services.change_policy import save_step
from axiom.console.admin import TenantAdmin
from axiom.console.groups import Group
from axiom.roles import ADMINS


class StepForm(forms.ModelForm):  # type: ignore[type-arg]
    channels = forms.MultipleChoiceField(
        label=_("channels"), choices=Channel.choices, widget=UnfoldAdminCheckboxSelectMultipleWidget
    )

    class Meta:
        model = EscalationStep
        fields = ("severity", "level", "after_minutes", "audience", "channels", "is_active")


@admin.register(EscalationStep)
class EscalationStepAdmin(TenantAdmin):
    """Steps that take the place of the installation's, for all alerts of their severity."""

    group, icon, position = Group.ALERTS, "escalator_warning", 40
    may_add = may_change = may_delete = ADMINS
    form = StepForm
    list_display = ("severity", "level", "after_minutes", "audience", "channels", "is_active")
    list_filter = ("severity",)
    ordering = ("severity", "level")

    def save_model(
        self, request: HttpRequest, obj: EscalationStep, form: Any, change: bool
    ) -> None:
        save_step(step=obj)
