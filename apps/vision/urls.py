from django.urls import include, path
from rest_framework.routers import SimpleRouter

from apps.vision.api import cubes

router = SimpleRouter()
router.register("vision/cubes", cubes.CubesResource, basename="cube")

urlpatterns = [path("", include(router.urls))]
