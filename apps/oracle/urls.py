from django.urls import include, path
from rest_framework.routers import SimpleRouter

from apps.oracle.api import meta, queries

router = SimpleRouter()
router.register("text2sql/queries", queries.QueriesResource, basename="cached-query")

urlpatterns = [
    path("text2sql/meta/search/", meta.SearchView.as_view(), name="search-catalog"),
    path("text2sql/meta/reindex/", meta.ReindexView.as_view(), name="reindex-catalog"),
    path("", include(router.urls)),
]
