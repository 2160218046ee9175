from django.contrib import admin
from django.urls import include, path
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerSplitView

from apps.accounts.views import SetPasswordView
from apps.notifications.views import acknowledge_alert
from axiom.home import favicon, home
from axiom.metrics import metrics_view

api = [
    path("", include("apps.documents.urls")),
    path("", include("apps.accounts.urls")),
    path("", include("apps.events.urls")),
    path("", include("apps.cases.urls")),
    path("", include("apps.chat.urls")),
    path("", include("apps.metadata.urls")),
    path("", include("apps.notifications.urls")),
    path("", include("apps.oracle.urls")),
    path("", include("apps.processes.urls")),
    path("", include("apps.synapse.urls")),
    path("", include("apps.vision.urls")),
    path("", include("apps.watch.urls")),
]

urlpatterns = [
    path("", home, name="home"),
    path("favicon.ico", favicon),
    path("api/v1/", include(api)),
    path("api/schema/", SpectacularAPIView.as_view(), name="schema"),
    path("api/docs/", SpectacularSwaggerSplitView.as_view(url_name="schema"), name="docs"),
    path("accounts/password/<uidb64>/<token>/", SetPasswordView.as_view(), name="set-password"),
    path("alerts/acknowledge/<str:token>/", acknowledge_alert, name="acknowledge-alert"),
    path("metrics", metrics_view, name="metrics"),
    path("admin/", admin.site.urls),
]
