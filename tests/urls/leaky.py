"""Resources that forget about tenants, beside one that does not."""

from django.http import Http404
from django.urls import include, path
from rest_framework.routers import SimpleRouter

from tests.library.api import BooksResource
from tests.library.models import Book


class Open(BooksResource):
    def get_queryset(self):
        return Book.across_tenants.all()


class Shut(BooksResource):
    def get_object(self):
        raise Http404


router = SimpleRouter()
router.register("open", Open, basename="open")
router.register("shut", Shut, basename="shut")
router.register("books", BooksResource, basename="book")

urlpatterns = [path("api/v1/", include(router.urls))]
