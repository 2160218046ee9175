"""What tests of the watch share."""

import pytest
from django.db import transaction

from apps.watch.engine.evaluating import evaluate
from apps.watch.engine.index import RuleIndex
from apps.watch.models import Subscription
from apps.watch.rules import event_types_of, parse
from tests.watch.stories import at, message


class Watchtower:
    """A worker that hands out what it finds instead of raising alerts."""

    def __init__(self, tenant, owner):
        self.tenant, self.owner, self.index = tenant, owner, RuleIndex()

    def watch(self, rule, *event_types, since="2026-01-01T00:00", **given):
        """Somebody subscribed long ago."""
        types = sorted(event_types_of(parse(rule)) or event_types or ("PAYMENT_DUE",))
        return Subscription.across_tenants.create(
            tenant=self.tenant, user=self.owner, name="Mine", rule=rule, event_types=types,
            rule_since=at(since), **given,
        )  # fmt: skip

    def deliver(self, *events, now="23:00", together=False):
        """What is found in these events, one batch each or all in one."""
        batches = [events] if together else [[event] for event in events]
        return [match for batch in batches for match in self.handle(batch, at(now))]

    def handle(self, batch, now):
        with transaction.atomic():
            messages = [message(event, self.tenant.pk) for event in batch]
            return evaluate(messages, self.index, now=now)


@pytest.fixture
def tower(acme, alice):
    return Watchtower(acme, alice)
