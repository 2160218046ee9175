"""Browsers log in and out through Django, also at the console: their logins are kept here."""

from typing import Any

from django.contrib.auth.signals import user_logged_in, user_logged_out
from django.dispatch import receiver
from django.http import HttpRequest

from apps.accounts.models import LoginSession, User
from apps.accounts.selectors import LOGIN_IN_SESSION
from apps.accounts.services.log_in import choose_membership, end_logins, open_login


@receiver(user_logged_in)
def keep_login(sender: Any, request: HttpRequest, user: User, **kwargs: Any) -> None:
    end_kept_login(sender, request)
    membership = getattr(request, "membership", None) or choose_membership(user)
    login = open_login(
        user=user, membership=membership, kind=LoginSession.Kind.BROWSER, request=request
    )
    request.session[LOGIN_IN_SESSION] = str(login.pk)


@receiver(user_logged_out)
def end_kept_login(sender: Any, request: HttpRequest, **kwargs: Any) -> None:
    if login_id := request.session.get(LOGIN_IN_SESSION):
        end_logins(LoginSession.objects.filter(pk=login_id))
