from django.urls import include, path
from rest_framework.routers import SimpleRouter

from apps.events.api import event_types

router = SimpleRouter()
router.register("event-types", event_types.EventTypesResource, basename="event-type")

urlpatterns = [path("", include(router.urls))]
