"""By mail: text and HTML, through Django's mail backend (Amazon SES, SMTP, or a folder)."""

import smtplib

from anymail.exceptions import AnymailAPIError, AnymailRecipientsRefused
from botocore.exceptions import BotoCoreError, ClientError
from django.conf import settings
from django.core.mail import EmailMultiAlternatives, get_connection
from django.core.mail.message import sanitize_address

from ..message import Address, Message, Outcome, again, never, sent

# Mailboxes that look at Message-ID show a repeat once, but not all do.
REPEATABLE = False
_REFUSED = {"MessageRejected", "BadRequestException", "MailFromDomainNotVerifiedException"}


def is_set_up() -> bool:
    return True


def reaches(to: Address) -> bool:
    return bool(to.email)


def send(message: Message) -> Outcome:
    mail = _mail(message)
    try:
        mail.send()
    except smtplib.SMTPRecipientsRefused as error:
        return _refused(next(iter(error.recipients.values())))
    except smtplib.SMTPResponseException as error:
        return _refused((error.smtp_code, error.smtp_error))
    except (AnymailAPIError, ClientError) as error:
        return _of_ses(error)
    except AnymailRecipientsRefused as error:
        return never(str(error))
    except (smtplib.SMTPException, BotoCoreError, OSError) as error:
        return again(f"{type(error).__name__}: {error}")
    return sent(peer_id=_peer_id(mail, message))


def _mail(message: Message) -> EmailMultiAlternatives:
    mail = EmailMultiAlternatives(
        subject=" ".join(message.render("email_subject.txt").split()),
        body=message.render("email.txt"),
        to=[sanitize_address((message.to.name, message.to.email), "utf-8")],
        headers={
            "Message-ID": message_id(message),
            # Nobody's holiday note answers us.
            "Auto-Submitted": "auto-generated",
        },
        connection=get_connection(),
    )
    mail.attach_alternative(message.render("email.html"), "text/html")
    return mail


def message_id(message: Message) -> str:
    """The same for every try, so that a repeat can be known as one."""
    domain = settings.DEFAULT_FROM_EMAIL.rpartition("@")[2].strip("> ")
    return f"<{message.key}@{domain}>"


def _refused(answer: tuple[int, bytes | str]) -> Outcome:
    code, words = answer
    text = words.decode(errors="replace") if isinstance(words, bytes) else words
    said = f"{code} {text}"
    # A wrong login is the operator's to mend, and the mail can go then.
    return never(said) if code >= 500 and code not in (530, 534, 535) else again(said)


def _of_ses(error: Exception) -> Outcome:
    cause = error if isinstance(error, ClientError) else error.__cause__
    known = getattr(cause, "response", None)
    code = known.get("Error", {}).get("Code", "") if isinstance(known, dict) else ""
    return never(str(error)) if code in _REFUSED else again(str(error))


def _peer_id(mail: EmailMultiAlternatives, message: Message) -> str:
    status = getattr(mail, "anymail_status", None)
    return str(status.message_id) if status and status.message_id else message_id(message)
