"""The page behind the link that is mailed to people who need a password."""

from typing import Any

from django.contrib.auth.forms import SetPasswordForm
from django.contrib.auth.views import PasswordResetConfirmView
from django.http import HttpResponse
from django.urls import reverse_lazy

from apps.accounts.models import LoginSession
from apps.accounts.services import end_logins


class SetPasswordView(PasswordResetConfirmView):
    """Set a password by link; all logins end, then one may log in with it."""

    template_name = "accounts/set_password.html"
    success_url = reverse_lazy("admin:login")

    def form_valid(self, form: "SetPasswordForm[Any]") -> HttpResponse:
        response = super().form_valid(form)
        end_logins(LoginSession.objects.filter(user=form.user))
        return response
