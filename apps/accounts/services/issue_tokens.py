"""Access and refresh tokens. A refresh token is good once: used again, its login ends."""

from dataclasses import dataclass

from django.db import transaction
from django.utils import timezone

from apps.accounts import tokens
from apps.accounts.errors import InvalidToken, LoginEnded, RefreshTokenReused
from apps.accounts.models import LoginSession
from apps.accounts.selectors import is_open, with_circumstances
from apps.accounts.services.log_in import TOKEN_LIFETIME, end_login


@dataclass(frozen=True)
class TokenPair:
    access: str
    refresh: str
    expires_in: int


def issue_tokens(*, login: LoginSession) -> TokenPair:
    """The first pair of a login."""
    return _pair(tokens.refresh_for(login))


def rotate_tokens(*, refresh: str) -> TokenPair:
    """A new pair for the old refresh token, which is then used up."""
    used = tokens.read_refresh(refresh)
    pair = _rotate(used)
    # Told after the commit: the error must not undo the end of the login.
    if pair is None:
        raise RefreshTokenReused
    return pair


@transaction.atomic
def _rotate(used: tokens.Refresh) -> TokenPair | None:
    login = _locked_login(used)
    if tokens.was_used(used):
        end_login(login=login)
        return None
    if not is_open(login) or login.password_stamp != login.user.get_session_auth_hash():
        raise LoginEnded
    used.blacklist()
    login.last_seen_at = timezone.now()
    login.expires_at = login.last_seen_at + TOKEN_LIFETIME
    login.save(update_fields=["last_seen_at", "expires_at"])
    return _pair(tokens.refresh_for(login))


def _locked_login(token: tokens.Refresh) -> LoginSession:
    """Locked: of two who use a token at the same moment, the second must see the first."""
    logins = with_circumstances(LoginSession.objects.select_for_update(of=("self",)))
    login = logins.filter(pk=token[tokens.LOGIN_CLAIM]).first()
    if login is None:
        raise LoginEnded
    if str(login.user_id) != token.get("user_id"):
        raise InvalidToken
    return login


def _pair(refresh: tokens.Refresh) -> TokenPair:
    access = refresh.access_token
    return TokenPair(str(access), str(refresh), int(access.lifetime.total_seconds()))
