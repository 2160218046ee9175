"""What one may do about alerts in the console: each is a service, called with words."""

from collections.abc import Callable
from typing import Any, NamedTuple

from django import forms
from django.utils.translation import gettext_lazy as _
from unfold.widgets import UnfoldAdminRadioSelectWidget, UnfoldAdminTextareaWidget

from apps.watch import services
from apps.watch.models import Alert

LONGEST = 10_000


class Deed(NamedTuple):
    label: Any
    act: Callable[[Alert, Any, str], Alert]


DEEDS = {
    "acknowledge": Deed(
        _("Acknowledge"),
        lambda alert, by, words: services.acknowledge(alert=alert, by=by, note=words),
    ),
    "root_cause": Deed(
        _("Write down the root cause"),
        lambda alert, by, words: services.record_root_cause(alert=alert, root_cause=words),
    ),
    "team_notified": Deed(
        _("Tell the team"),
        lambda alert, by, words: services.record_team_notified(alert=alert, note=words),
    ),
    "action": Deed(
        _("Write down what was done"),
        lambda alert, by, words: services.record_action(alert=alert, action=words),
    ),
    "resolve": Deed(
        _("Resolve"),
        lambda alert, by, words: services.resolve(alert=alert, by=by, root_cause=words),
    ),
    "dismiss": Deed(
        _("Dismiss: it was right, but there is nothing to do"),
        lambda alert, by, words: services.dismiss(
            alert=alert, by=by, false_positive=False, reason=words
        ),
    ),
    "false_positive": Deed(
        _("Dismiss as a false positive"),
        lambda alert, by, words: services.dismiss(
            alert=alert, by=by, false_positive=True, reason=words
        ),
    ),
}
VERDICTS = [
    ("right", _("It was right, but there is nothing to do")),
    ("wrong", _("It was a false positive: it should not have been raised")),
]


class DeedForm(forms.ModelForm):  # type: ignore[type-arg]
    """What is done about one alert."""

    deed = forms.ChoiceField(choices=[(name, deed.label) for name, deed in DEEDS.items()])
    words = forms.CharField(required=False, max_length=LONGEST)

    class Meta:
        model = Alert
        fields: tuple[str, ...] = ()

    def _post_clean(self) -> None:
        """The services write. Held against its case, an alert that outlived it would be refused."""


def _words(label: Any, *, required: bool) -> forms.CharField:
    widget = UnfoldAdminTextareaWidget(attrs={"rows": 3})
    return forms.CharField(label=label, required=required, max_length=LONGEST, widget=widget)


class DismissForm(forms.Form):
    """The verdict on many alerts."""

    verdict = forms.ChoiceField(
        label=_("Verdict"), choices=VERDICTS, widget=UnfoldAdminRadioSelectWidget
    )
    reason = _words(_("reason"), required=False)

    def given(self) -> dict[str, Any]:
        told = self.cleaned_data
        return {"false_positive": told["verdict"] == "wrong", "reason": told["reason"]}


class ResolveForm(forms.Form):
    """What caused many alerts."""

    root_cause = _words(_("root cause"), required=True)

    def given(self) -> dict[str, Any]:
        return {"root_cause": self.cleaned_data["root_cause"]}
