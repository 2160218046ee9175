"""Views that tell for whom they act, and wait for each other while they do."""

import asyncio
import threading

from django.http import JsonResponse
from django.urls import path
from rest_framework.response import Response

from apps.events.context import current
from axiom.api.views import ApiView

meeting = threading.Barrier(2, timeout=10)
crowd: "asyncio.Barrier | None" = None


def told():
    here = current()
    return {"tenant": str(here.tenant_id), "actor": here.actor}


class Meeting(ApiView):
    """Both requests are inside before either tells."""

    def get(self, request):
        before = told()
        meeting.wait()
        return Response([before, told()])


class Failing(ApiView):
    def get(self, request):
        raise ZeroDivisionError(told()["actor"])


async def crowded(request):
    before = told()
    await crowd.wait()
    return JsonResponse([before, told()], safe=False)


async def failing(request):
    await asyncio.sleep(0)
    raise ZeroDivisionError


def plain(request):
    return JsonResponse(told())


urlpatterns = [
    path("api/meeting/", Meeting.as_view()),
    path("api/failing/", Failing.as_view()),
    path("api/crowded/", crowded),
    path("api/failing-async/", failing),
    path("api/plain/", plain),
]
