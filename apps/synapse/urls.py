from django.urls import include, path
from rest_framework.routers import SimpleRouter

from apps.synapse.api import ontology

router = SimpleRouter()
router.register("ontology/nodes", ontology.NodesResource, basename="ontology-node")
router.register("ontology/links", ontology.LinksResource, basename="ontology-link")
router.register("ontology/bindings", ontology.BindingsResource, basename="event-log-binding")

urlpatterns = [
    path("ontology/reconcile/", ontology.ReconcileView.as_view(), name="reconcile-ontology"),
    path("", include(router.urls)),
]
