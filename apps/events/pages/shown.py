"""What the pages of the backbone share."""

import json
from typing import Any

from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse


def page(request: HttpRequest, template: str, context: dict[str, Any]) -> HttpResponse:
    return TemplateResponse(request, template, {**admin.site.each_context(request), **context})


def indented(payload: str) -> str:
    """JSON as people read it; what is none stays as it is."""
    try:
        return json.dumps(json.loads(payload), ensure_ascii=False, indent=2)
    except ValueError:
        return payload
