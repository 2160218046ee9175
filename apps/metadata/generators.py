"""Who writes descriptions when people do not: pluggable, and none by default.

METADATA_GENERATOR names a class with a method `describe(Request) -> Answer`.
"""

import http.client
import urllib.error
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import orjson
import pydantic
from django.conf import settings
from django.utils.module_loading import import_string

from apps.metadata.errors import GeneratorFailed, NoGenerator

LARGEST_ANSWER = 1024 * 1024
INSTRUCTIONS = (
    "You document databases. For the table you are given, answer with a JSON object: "
    '"table" is a description of the table in at most two sentences, "columns" maps the name of '
    "each column to a description of at most one sentence. Write in the language of the comments "
    "that are there, in Korean if there are none. Do not invent facts."
)


@dataclass(frozen=True, slots=True)
class Request:
    """A table to be described; columns are names, types and what is known of them."""

    datasource: str
    schema: str
    table: str
    comment: str
    columns: Sequence[tuple[str, str, str]]


class Answer(pydantic.BaseModel):
    """What the generator says."""

    table: str = ""
    columns: dict[str, str] = {}


class Generator(Protocol):
    def describe(self, request: Request) -> Answer: ...


def configured() -> Generator:
    """The generator of this installation."""
    if not settings.METADATA_GENERATOR_URL:
        raise NoGenerator
    generator: Generator = import_string(settings.METADATA_GENERATOR)()
    return generator


@dataclass(frozen=True, slots=True)
class ChatCompletions:
    """An endpoint that speaks OpenAI's chat completions."""

    url: str = field(default_factory=lambda: settings.METADATA_GENERATOR_URL)
    key: str = field(default_factory=lambda: settings.METADATA_GENERATOR_KEY, repr=False)
    model: str = field(default_factory=lambda: settings.METADATA_GENERATOR_MODEL)
    seconds: float = field(default_factory=lambda: settings.METADATA_GENERATOR_SECONDS)

    def describe(self, request: Request) -> Answer:
        try:
            text = self._ask(request)["choices"][0]["message"]["content"]
            return Answer.model_validate_json(text)
        except urllib.error.HTTPError as error:
            raise GeneratorFailed(f"{GeneratorFailed.sentence()} {error.code}") from None
        except (OSError, http.client.HTTPException, LookupError, TypeError, ValueError) as error:
            raise GeneratorFailed(f"{GeneratorFailed.sentence()} {type(error).__name__}") from None

    def _ask(self, request: Request) -> Any:
        asked = urllib.request.Request(
            f"{self.url.rstrip('/')}/chat/completions",
            data=orjson.dumps(self._body(request)),
            headers={"Content-Type": "application/json", **self._authorization()},
        )
        with urllib.request.urlopen(asked, timeout=self.seconds) as answer:
            return orjson.loads(answer.read(LARGEST_ANSWER))

    def _authorization(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.key}"} if self.key else {}

    def _body(self, request: Request) -> dict[str, Any]:
        return {
            "model": self.model,
            "response_format": {"type": "json_object"},
            "messages": [
                {"role": "system", "content": INSTRUCTIONS},
                {"role": "user", "content": orjson.dumps(request).decode()},
            ],
        }
