from django.urls import include, path
from rest_framework.routers import SimpleRouter

from apps.documents.api import configuration, documents

router = SimpleRouter()
router.register("documents", documents.DocumentsResource, basename="document")
router.register(
    r"documents/(?P<document_id>[0-9a-f-]{36})/versions",
    documents.VersionsResource,
    basename="document-version",
)
router.register("document-templates", configuration.TemplatesResource, basename="document-template")
router.register(
    "extraction-patterns", configuration.PatternsResource, basename="extraction-pattern"
)

urlpatterns = [
    path("documents/generate/", configuration.GenerateView.as_view(), name="generate-document"),
    path("", include(router.urls)),
]
