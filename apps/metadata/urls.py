from django.urls import include, path
from rest_framework.routers import SimpleRouter

from apps.metadata.api import catalog, impact, knowledge, sources

router = SimpleRouter(use_regex_path=False)
router.register("data-sources", sources.DataSourcesResource, basename="metadata-source")
router.register("runs", sources.RunsResource, basename="metadata-run")
router.register("tables", catalog.TablesResource, basename="metadata-table")
router.register("columns", catalog.ColumnsResource, basename="metadata-column")
router.register("changes", catalog.ChangesResource, basename="metadata-change")
router.register("glossary", knowledge.GlossaryResource, basename="metadata-term")
router.register("snapshots", knowledge.SnapshotsResource, basename="metadata-snapshot")

urlpatterns = [
    path("metadata/impact/", impact.ImpactView.as_view(), name="metadata-impact"),
    path("metadata/", include(router.urls)),
]
