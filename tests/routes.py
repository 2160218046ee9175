"""Every route there is, and what becomes of a request by somebody who has no business there."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django.contrib import admin
from django.contrib.admindocs.views import simplify_regex
from django.db.models import Model
from django.urls import URLPattern, URLResolver, get_resolver
from django.urls.resolvers import RegexPattern

from apps.events.context import acting
from tests.examples import BY_PATH, MARK, SHARED, Scene

NEVER_TRIED = {"options", "head", "trace"}
FORMAT = {"format": "json"}


@dataclass(frozen=True)
class Route:
    """A path with `<parameters>`, and the view behind it."""

    path: str
    callback: Any

    def __str__(self) -> str:
        return self.path

    @cached_property
    def view_class(self) -> Any:
        return getattr(self.callback, "cls", None) or getattr(self.callback, "view_class", None)

    @cached_property
    def methods(self) -> list[str]:
        if self.view_class is None:
            return ["get", "post"]
        handlers = getattr(self.callback, "actions", None) or dir(self.view_class)
        names = set(handlers) & set(self.view_class.http_method_names)
        return sorted(names - NEVER_TRIED)

    @cached_property
    def parameters(self) -> list[str]:
        return re.findall(r"<(\w+)>", self.path)

    def filled(self, values: dict[str, Any]) -> str:
        return re.sub(r"<(\w+)>", lambda found: str({**FORMAT, **values}[found[1]]), self.path)


def all_routes(urlconf: str | None = None) -> list[Route]:
    return list(_walk(get_resolver(urlconf).url_patterns, ""))


def _walk(patterns: Iterable[URLPattern | URLResolver], above: str) -> Iterator[Route]:
    for entry in patterns:
        path = above + _text(entry.pattern)
        if isinstance(entry, URLResolver):
            yield from _walk(entry.url_patterns, path)
        else:
            yield Route("/" + path.replace("//", "/"), entry.callback)


def _text(pattern: Any) -> str:
    if isinstance(pattern, RegexPattern):
        return simplify_regex(str(pattern)).removeprefix("/")
    return re.sub(r"<\w+:(\w+)>", r"<\1>", str(pattern))


def below(prefix: str, urlconf: str | None = None) -> list[Route]:
    return [route for route in all_routes(urlconf) if route.path.startswith(prefix)]


def model_of(route: Route) -> type[Model] | None:
    """The model whose rows a route of the console is about."""
    for model in admin.site._registry:
        if route.path.startswith(f"/admin/{model._meta.app_label}/{model._meta.model_name}/"):
            return model
    return None


def ask(client: Any, method: str, url: str) -> Any:
    """A request that would be allowed to its owner, as far as one can be made up."""
    body = {} if method in {"get", "delete"} else {"data": {}, "format": "json"}
    return getattr(client, method)(url, headers={"If-Match": "*"}, **body)


def examples_for(route: Route, scene: Scene) -> dict[str, tuple[Model, Any]]:
    """Acme's things whose ids stand in the route's path."""
    found = {}
    for name in route.parameters:
        if name in FORMAT:
            continue
        path = looked_up(route, name)
        assert path in BY_PATH, (
            f"{route} looks an object up by <{name}>, and there is no example of one. Add to "
            f'tests/examples.py a function marked @example("{path}") that makes one for '
            f"`scene.acme`; then it is proved that others cannot reach it. Is it the same for all "
            f"tenants? Then name it in SHARED there."
        )
        found[name] = _made(path, scene)
    return found


def looked_up(route: Route, name: str) -> str:
    """The path that ends with this parameter: what it is looked up in."""
    return route.path[: route.path.index(f"<{name}>")] + f"<{name}>/"


def is_shared(route: Route) -> bool:
    """Whether all that the route looks up is the same for all tenants."""
    return all(looked_up(route, name) in SHARED for name in route.parameters)


def _made(path: str, scene: Scene) -> tuple[Model, Any]:
    with acting(tenant_id=scene.acme.pk, actor=scene.alice.email):
        row = BY_PATH[path].make(scene)
    return row, getattr(row, BY_PATH[path].lookup)


def every_example(scene: Scene) -> dict[str, tuple[Model, Any]]:
    return {path: _made(path, scene) for path in BY_PATH}


def stored(rows: Iterable[Model]) -> list[Any]:
    """What is in the database of these rows."""
    return [type(row)._base_manager.filter(pk=row.pk).values().first() for row in rows]


def prove_out_of_reach(route: Route, scene: Scene, stranger: Any, owner: Any) -> None:
    """Each method answers a stranger 404 or 403, changes nothing, and is real for the owner."""
    found = examples_for(route, scene)
    rows = [row for row, _ in found.values()]
    url, before = route.filled({name: value for name, (_, value) in found.items()}), stored(rows)
    for method in route.methods:
        status = ask(stranger, method, url).status_code
        assert status in {403, 404}, f"{method.upper()} {url} answers a stranger {status}"
        assert stored(rows) == before, f"{method.upper()} {url} changed another tenant's row"
    # The safe methods first: the last one may well delete it.
    for method in sorted(route.methods, key=["get", "post", "put", "patch", "delete"].index):
        status = ask(owner, method, url).status_code
        assert status != 404, f"{method.upper()} {url} answers its owner 404: a wrong example?"


def prove_silent(route: Route, scene: Scene, stranger: Any, owner: Any) -> None:
    """A route without an object tells a stranger nothing of Acme's and changes nothing there."""
    made = every_example(scene)
    rows = [scene.acme, *(row for row, _ in made.values())]
    secrets = [MARK, *(str(row.pk) for row in rows if len(str(row.pk)) > 30)]
    url, before = route.filled({}), stored(rows)
    for method in route.methods:
        text = ask(stranger, method, url).content.decode()
        leaked = [secret for secret in secrets if secret in text]
        assert not leaked, f"{method.upper()} {url} tells a stranger {leaked}"
        assert stored(rows) == before, f"{method.upper()} {url} changed another tenant's row"
    _prove_telling(url, made, owner)


def _prove_telling(url: str, made: dict[str, tuple[Model, Any]], owner: Any) -> None:
    """A list that hid everything from everybody would prove nothing."""
    for path, (_, value) in made.items():
        if re.fullmatch(re.escape(url) + r"<\w+>/", path):
            text = ask(owner, "get", url).content.decode()
            assert str(value) in text, f"GET {url} does not show its owner the example of {path}"
