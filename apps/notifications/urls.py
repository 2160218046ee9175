from django.urls import include, path
from rest_framework.routers import SimpleRouter

from apps.notifications.api import inbox

router = SimpleRouter()
router.register("notifications", inbox.NotificationsResource, basename="notification")

urlpatterns = [
    path("notifications/mute/", inbox.MuteView.as_view(), name="notifications-mute"),
    path("notifications/tickets/", inbox.TicketView.as_view(), name="notifications-ticket"),
    path("", include(router.urls)),
]
