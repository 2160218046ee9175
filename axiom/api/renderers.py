"""Answers as JSON, written by the fastest encoder there is."""

from typing import Any

import orjson
from rest_framework.renderers import JSONRenderer
from rest_framework.utils.encoders import JSONEncoder

# Times keep the form that REST framework gives them.
_OPTIONS = orjson.OPT_NON_STR_KEYS | orjson.OPT_PASSTHROUGH_DATETIME


class QuickJSONRenderer(JSONRenderer):
    """The same JSON as REST framework's; what this encoder cannot say, that one says."""

    def render(
        self, data: Any, accepted_media_type: Any = None, renderer_context: Any = None
    ) -> Any:
        if data is None or self.get_indent(accepted_media_type or "", renderer_context or {}):
            return super().render(data, accepted_media_type, renderer_context)
        try:
            return orjson.dumps(data, default=JSONEncoder().default, option=_OPTIONS)
        except TypeError:
            return super().render(data, accepted_media_type, renderer_context)
