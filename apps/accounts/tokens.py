"""The JSON web tokens of a login. They only name it: what it may do is in the database."""

from typing import Any, NoReturn

from rest_framework_simplejwt.exceptions import TokenError
from rest_framework_simplejwt.token_blacklist.models import BlacklistedToken, OutstandingToken
from rest_framework_simplejwt.tokens import AccessToken, RefreshToken
from rest_framework_simplejwt.utils import datetime_from_epoch

from apps.accounts.errors import InvalidToken
from apps.accounts.models import LoginSession

LOGIN_CLAIM = "sid"


class Refresh(RefreshToken):
    """A refresh token whose reuse is judged by `rotate()`, which has to end the login."""

    def check_blacklist(self) -> None:
        """Nothing here: a bare refusal would leave a stolen family alive."""


def refresh_for(login: LoginSession) -> Refresh:
    """A new refresh token, written down so that its use can be noticed."""
    token = Refresh()
    token["user_id"], token[LOGIN_CLAIM] = str(login.user_id), str(login.pk)
    OutstandingToken.objects.create(
        user_id=login.user_id,
        jti=token["jti"],
        token="",  # The text is a credential: whoever reads the table must not get it.
        created_at=token.current_time,
        expires_at=datetime_from_epoch(token["exp"]),
    )
    return token


def read_access(text: str) -> AccessToken:
    return _read(AccessToken, text)


def read_refresh(text: str) -> Refresh:
    return _read(Refresh, text)


def was_used(token: Refresh) -> bool:
    return BlacklistedToken.objects.filter(token__jti=token["jti"]).exists()


def _read(kind: Any, text: str) -> Any:
    try:
        token = kind(text)
    except TokenError:
        _refuse()
    return token if token.get(LOGIN_CLAIM) else _refuse()


def _refuse() -> NoReturn:
    raise InvalidToken
