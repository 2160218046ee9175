"""One view for each way a request can go wrong."""

from django import http
from django.core import exceptions as django_exceptions
from django.urls import path
from django.views.decorators.csrf import csrf_protect
from rest_framework import exceptions, serializers
from rest_framework.authentication import BaseAuthentication
from rest_framework.response import Response
from rest_framework.views import APIView

from axiom.errors import AxiomError


class AlreadyClosed(AxiomError):
    """This case is already closed."""

    code, status = "case_already_closed", 409


class KnownToDjango(AxiomError):
    """This field is required."""


class Address(serializers.Serializer):
    city = serializers.CharField(max_length=3)


class Person(serializers.Serializer):
    age = serializers.IntegerField()
    addresses = Address(many=True)


def invalid_model() -> None:
    raise django_exceptions.ValidationError(
        {"title": [django_exceptions.ValidationError("Too long.", code="max_length")]}
    )


FAILURES = {
    "axiom": AlreadyClosed(closed_by="bob@acme.example"),
    "korean": KnownToDjango(),
    "busy": AlreadyClosed("Closed a moment ago.", retry_after=0.2),
    "404": http.Http404("secret table"),
    "denied": django_exceptions.PermissionDenied("secret reason"),
    "throttled": exceptions.Throttled(wait=7.4),
    "login": exceptions.NotAuthenticated(),
    "bug": ZeroDivisionError("secret number"),
}


class Nobody(BaseAuthentication):
    def authenticate(self, request):
        return None

    def authenticate_header(self, request):
        return "Bearer"


class Failing(APIView):
    authentication_classes = [Nobody]
    permission_classes: list[type] = []

    def get(self, request, how):
        if how == "model":
            invalid_model()
        if how == "filter":
            raise exceptions.ValidationError({"status": ["Unknown."]})
        raise FAILURES[how]

    def post(self, request, how):
        serializer = Person(data=request.data)
        serializer.is_valid(raise_exception=True)
        return Response(serializer.data)


def plain(request, how):
    if how == "axiom":
        raise AlreadyClosed
    if how == "bug":
        raise ZeroDivisionError("secret number")
    if how == "405":
        return http.HttpResponseNotAllowed(["PUT"])
    return http.HttpResponse("secret page", status=int(how))


@csrf_protect
def protected(request):
    return http.HttpResponse("done")


urlpatterns = [
    path("api/v1/failing/<how>/", Failing.as_view()),
    path("api/plain/protected/", protected),
    path("api/plain/<how>/", plain),
    path("plain/protected/", protected),
    path("plain/<how>/", plain),
]
