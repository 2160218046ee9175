"""What Celery does for accounts: mail links, forget old logins."""

from celery import shared_task
from django.core.mail import send_mail
from django.utils import translation
from django.utils.translation import gettext as _

from apps.accounts.models import User


@shared_task
def send_invitation(user_id: str, tenant_name: str) -> None:
    """Mail a new member the link to set their password."""
    user = User.objects.filter(pk=user_id, is_active=True).first()
    if user:
        with translation.override(user.language):
            subject = _("You were invited to %(tenant)s") % {"tenant": tenant_name}
            _mail_link(user, subject, _("Choose a password to come in:"))


@shared_task
def send_password_link(email: str) -> None:
    """Mail a person who forgot their password the link to set a new one."""
    user = User.objects.filter(email=email.strip().lower(), is_active=True).first()
    if user:
        with translation.override(user.language):
            _mail_link(user, _("Your new password"), _("Choose a new password here:"))


def _mail_link(user: User, subject: str, words: str) -> None:
    from apps.accounts.services import password_link_for

    ignore = _("If you did not expect this mail, ignore it.")
    send_mail(subject, f"{words}\n\n{password_link_for(user)}\n\n{ignore}\n", None, [user.email])


@shared_task
def purge_logins() -> int:
    """Forget logins and refresh tokens that expired."""
    from apps.accounts import services

    return services.purge_logins()
