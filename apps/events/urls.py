from django.urls import include, path
from rest_framework.routers import SimpleRouter

from apps.events.api import dead_letters, event_types, journey, redrives

router = SimpleRouter()
router.register("event-types", event_types.EventTypesResource, basename="event-type")
router.register("dead-letters/redrives", redrives.RedrivesResource, basename="redrive")
router.register("dead-letters", dead_letters.DeadLettersResource, basename="dead-letter")
router.register("journey", journey.JourneyResource, basename="journey")

urlpatterns = [path("", include(router.urls))]
