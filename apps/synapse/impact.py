"""Tells who asks about a table or a column what of the ontology stands on it."""

from collections.abc import Iterator, Sequence

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from apps.metadata.selectors import impact
from apps.synapse.models import EventLogBinding, OntologyLink
from axiom.references import affected


@impact.affects("link", label=gettext_lazy("ontology links"), page="synapse_ontologylink")
def links_on(datasource: str, targets: Sequence[impact.Target]) -> Iterator[impact.Affected]:
    rows = OntologyLink.objects.select_related("node")
    for link, target, used in affected(rows, datasource, targets):
        how = _("The node stands for %(what)s.") % {"what": used}
        yield impact.Affected("link", str(link.pk), link.node.name, how, target)


@impact.affects("binding", label=gettext_lazy("event-log bindings"), page="synapse_eventlogbinding")
def bindings_on(datasource: str, targets: Sequence[impact.Target]) -> Iterator[impact.Affected]:
    for binding, target, used in affected(EventLogBinding.objects.all(), datasource, targets):
        how = _("The event log is read from %(what)s.") % {"what": used}
        yield impact.Affected("binding", str(binding.pk), binding.name, how, target)
