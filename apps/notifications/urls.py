from django.urls import include, path
from rest_framework.routers import SimpleRouter

from apps.notifications.api import deliveries, endpoints, inbox, preferences

router = SimpleRouter()
router.register("deliveries", deliveries.DeliveriesResource, basename="delivery")
router.register("endpoints", endpoints.EndpointsResource, basename="endpoint")
router.register("notifications", inbox.NotificationsResource, basename="notification")

urlpatterns = [
    path("notifications/mute/", inbox.MuteView.as_view(), name="notifications-mute"),
    path("notifications/tickets/", inbox.TicketView.as_view(), name="notifications-ticket"),
    path(
        "notifications/preferences/",
        preferences.PreferencesResource.as_view(preferences.PreferencesResource.routes),
        name="notifications-preferences",
    ),
    path("", include(router.urls)),
]
