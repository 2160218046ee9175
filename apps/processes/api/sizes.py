"""Bodies with a diagram in them: what is too large is told so before it is read."""

from typing import Any

from django.conf import settings
from rest_framework.request import Request
from rest_framework.views import APIView

from apps.processes.errors import BpmnTooLarge


class TakesDiagrams(APIView):
    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        # Django would refuse it too, but without a word of why.
        if int(request.META.get("CONTENT_LENGTH") or 0) > settings.DATA_UPLOAD_MAX_MEMORY_SIZE:
            raise BpmnTooLarge
