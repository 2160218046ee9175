"""What people are told when they cannot come in, or may not leave."""

from axiom.errors import AxiomError


class WrongCredentials(AxiomError):
    """Email or password is wrong."""

    code, status = "wrong_credentials", 401


class LockedOut(AxiomError):
    """Too many failed logins: wait before you try again."""

    code, status = "locked_out", 429


class NotAMember(AxiomError):
    """You are not a member of this tenant."""

    code, status = "not_a_member", 403


class InvalidToken(AxiomError):
    """This token is not valid."""

    code, status = "token_invalid", 401


class LoginEnded(AxiomError):
    """This login has ended: log in again."""

    code, status = "login_ended", 401


class RefreshTokenReused(AxiomError):
    """This refresh token was used before. Someone may have copied it, so its login was ended."""

    code, status = "refresh_token_reused", 401


class LastAdmin(AxiomError):
    """A tenant needs an admin: name another one first."""

    code, status = "last_admin", 409


class AlreadyAMember(AxiomError):
    """This person is a member already."""

    code, status = "already_a_member", 409


class EmailTaken(AxiomError):
    """Someone with this email was created at the same moment."""

    code, status = "email_taken", 409


class LinkExpired(AxiomError):
    """This link has expired or was used before: ask for a new one."""

    code, status = "link_expired", 400
