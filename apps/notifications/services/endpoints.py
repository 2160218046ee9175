"""Where Slack messages and webhooks go: made, changed, given new secrets."""

from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from apps.accounts import selectors as accounts
from apps.notifications.channels import slack
from apps.notifications.channels.webhook import new_secret
from apps.notifications.channels.webhook.address import AddressRefused, plausible
from apps.notifications.models import Endpoint
from axiom.errors import AxiomError

Kind = Endpoint.Kind


class NotSlack(AxiomError):
    """This is not the address of an incoming webhook of Slack's."""

    code, status = "not_slack", 400


class NoSecret(AxiomError):
    """Only webhooks are signed: this endpoint has no secret."""

    code, status = "no_secret", 409


class NotOneOfUs(AxiomError):
    """An endpoint belongs to somebody who works here, or to nobody."""

    code, status = "not_one_of_us", 400


@transaction.atomic
def add_endpoint(**given: Any) -> Endpoint:
    """A place to post to. The secret of a webhook can be read here and never again."""
    endpoint = Endpoint(**given)
    if endpoint.kind == Kind.WEBHOOK:
        endpoint.secret = new_secret()
    return _saved(endpoint)


@transaction.atomic
def change_endpoint(*, endpoint: Endpoint, **changes: Any) -> Endpoint:
    for name, value in changes.items():
        setattr(endpoint, name, value)
    return _saved(endpoint)


def _saved(endpoint: Endpoint) -> Endpoint:
    _refuse_strangers(endpoint)
    _refuse_address(endpoint)
    endpoint.full_clean()
    endpoint.save()
    return endpoint


def _refuse_strangers(endpoint: Endpoint) -> None:
    tenant_id = endpoint.claimed().tenant_id
    if endpoint.user_id is None:
        return
    if not accounts.members_of(tenant_id).filter(user_id=endpoint.user_id).exists():
        raise NotOneOfUs


def _refuse_address(endpoint: Endpoint) -> None:
    """As far as it can be judged now; a webhook's name is looked up whenever it is used."""
    if endpoint.kind == Kind.SLACK and not slack.is_slack(endpoint.url):
        raise NotSlack
    if endpoint.kind == Kind.WEBHOOK:
        scheme = plausible(endpoint.url).scheme
        if settings.PRODUCTION and scheme != "https":
            raise AddressRefused("In production a webhook goes to https addresses only.")


@transaction.atomic
def rotate_secret(*, endpoint: Endpoint, now: datetime | None = None) -> Endpoint:
    """A new secret. The former one signs beside it for a day, until the reader changed over."""
    endpoint = Endpoint.objects.select_for_update(of=("self",)).get(pk=endpoint.pk)
    if endpoint.kind != Kind.WEBHOOK:
        raise NoSecret
    overlap = timedelta(hours=settings.WEBHOOK_SECRET_OVERLAP_HOURS)
    endpoint.old_secret, endpoint.old_secret_until = (
        endpoint.secret,
        (now or timezone.now()) + overlap,
    )
    endpoint.secret = new_secret()
    endpoint.save()
    return endpoint


def remove_endpoint(*, endpoint: Endpoint) -> None:
    endpoint.delete()
