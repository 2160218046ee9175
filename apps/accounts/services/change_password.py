"""Passwords: changed by who knows the old one, or by a link that works once."""

from django.conf import settings
from django.contrib.auth.password_validation import validate_password
from django.contrib.auth.tokens import default_token_generator
from django.core.exceptions import ValidationError
from django.db import transaction
from django.urls import reverse
from django.utils.encoding import force_bytes
from django.utils.http import urlsafe_base64_decode, urlsafe_base64_encode
from django.utils.translation import gettext as _

from apps.accounts.errors import LinkExpired
from apps.accounts.models import LoginSession, User
from apps.accounts.services.log_in import end_logins


@transaction.atomic
def change_password(*, login: LoginSession, current: str, new: str) -> User:
    """Change one's own password. All other logins end; this one goes on."""
    user = User.objects.select_for_update().get(pk=login.user_id)
    if not user.check_password(current):
        raise ValidationError({"current_password": _("This is not your password.")})
    _set(user, new, field="new_password")
    end_logins(LoginSession.objects.filter(user=user).exclude(pk=login.pk))
    LoginSession.objects.filter(pk=login.pk).update(password_stamp=user.get_session_auth_hash())
    return user


@transaction.atomic
def set_password_by_link(*, uid: str, token: str, new: str) -> User:
    """Set a password with the link that was mailed. All logins end, and the link with them."""
    user = _user_of(uid)
    if user is None or not default_token_generator.check_token(user, token):
        raise LinkExpired
    _set(user, new, field="password")
    end_logins(LoginSession.objects.filter(user=user))
    return user


def ask_for_password_link(*, email: str) -> None:
    """Mail a link if there is such a person. Who asks cannot tell whether there is."""
    from apps.accounts.tasks import send_password_link

    transaction.on_commit(lambda: send_password_link.delay(email), robust=True)


def password_link_for(user: User) -> str:
    """A link that lets its bearer set this person's password, once."""
    uid, token = (
        urlsafe_base64_encode(force_bytes(user.pk)),
        default_token_generator.make_token(user),
    )
    return settings.PUBLIC_URL + reverse("set-password", kwargs={"uidb64": uid, "token": token})


def _set(user: User, new: str, *, field: str) -> None:
    try:
        validate_password(new, user)
    except ValidationError as error:
        raise ValidationError({field: error.error_list}) from error
    user.set_password(new)
    user.save(update_fields=["password"])


def _user_of(uid: str) -> User | None:
    try:
        key = urlsafe_base64_decode(uid).decode()
        return User.objects.select_for_update().filter(pk=key, is_active=True).first()
    except (ValueError, ValidationError):
        return None
