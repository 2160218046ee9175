from django.contrib import admin
from django.urls import path

from axiom.metrics import metrics_view

urlpatterns = [
    path("metrics", metrics_view, name="metrics"),
    path("admin/", admin.site.urls),
]
