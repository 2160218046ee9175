"""Tells who asks about a table or a column who would be told of a change of it."""

from collections.abc import Iterator, Sequence

from django.utils.translation import gettext as _

from apps.metadata.events import ColumnModified, TableRemoved
from apps.metadata.selectors import impact

from .models import Subscription


@impact.affects("subscription")
def subscriptions_on(
    datasource: str, targets: Sequence[impact.Target]
) -> Iterator[impact.Affected]:
    """Rules may look at any field, so whoever watches such changes at all is named."""
    types = [TableRemoved.type, ColumnModified.type]
    watching = Subscription.objects.filter(is_active=True, event_types__overlap=types)
    for subscription in watching.order_by("name", "pk"):
        how = _("It watches such changes.")
        yield impact.Affected("subscription", str(subscription.pk), subscription.name, how)
