from django.urls import include, path
from rest_framework.routers import SimpleRouter

from apps.watch.api import alerts, escalation_steps, sla, subscriptions

router = SimpleRouter()
router.register("alerts", alerts.AlertsResource, basename="alert")
router.register(
    "escalation-steps", escalation_steps.EscalationStepsResource, basename="escalation-step"
)
router.register("subscriptions", subscriptions.SubscriptionsResource, basename="subscription")

urlpatterns = [
    path("alerts/sla/", sla.SlaView.as_view(), name="alert-sla"),
    path("", include(router.urls)),
]
