"""What synapse knows. Everything here is of the current tenant."""

from django.db.models import QuerySet

from apps.synapse.models import EventLogBinding, OntologyLink, OntologyNode


def nodes() -> QuerySet[OntologyNode]:
    return OntologyNode.objects.all()


def links() -> QuerySet[OntologyLink]:
    return OntologyLink.objects.select_related("node")


def bindings() -> QuerySet[EventLogBinding]:
    return EventLogBinding.objects.all()
