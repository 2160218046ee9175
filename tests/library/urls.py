"""Axiom's URLs with the library's added."""

from django.urls import include, path
from rest_framework.routers import SimpleRouter

from axiom.urls import urlpatterns as axiom_urls
from tests.library.api import BooksResource

router = SimpleRouter()
router.register("books", BooksResource, basename="book")

urlpatterns = [path("api/v1/", include(router.urls)), *axiom_urls]
