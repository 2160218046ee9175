"""Tells who asks about a table or a column which cached queries use it."""

from collections.abc import Iterator, Sequence

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from apps.metadata.selectors import impact
from apps.oracle.models import CachedQuery
from axiom.references import affected


@impact.affects("query", label=gettext_lazy("cached queries"), page="oracle_cachedquery")
def queries_on(datasource: str, targets: Sequence[impact.Target]) -> Iterator[impact.Affected]:
    for query, target, used in affected(CachedQuery.objects.all(), datasource, targets):
        how = _("The query uses %(what)s.") % {"what": used}
        yield impact.Affected("query", str(query.pk), query.question, how, target)
