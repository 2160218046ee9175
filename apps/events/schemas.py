"""The schemas that were promised, version by version, in `schemas.json` beside this file.

The file holds every version of every type that was ever declared, with an example. The declared
classes are held against it: what breaks old events or their readers needs a new version.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import catalog
from .catalog import Event
from .compatibility import breaks

FILE = Path(__file__).with_name("schemas.json")

Promise = dict[str, Any]
Promises = dict[str, dict[str, Promise]]
"""Type -> version -> what was promised."""

WRITE = "run `manage.py event_schemas --write` and commit the file"
NEW_VERSION = (
    "declare version={next} with an upcaster from {version} (or, if {version} was never released, "
    "take it out of apps/events/schemas.json), then " + WRITE
)


@dataclass(frozen=True)
class Finding:
    """A difference between what was promised and what is declared, and what to do about it."""

    event_type: str
    version: int
    problem: str
    fix: str
    breaking: bool

    def __str__(self) -> str:
        return f"{self.event_type} v{self.version}: {self.problem}. To fix: {self.fix}."


def stored() -> Promises:
    return dict(json.loads(FILE.read_text()))


def declared() -> list[type[Event]]:
    """What the apps declare, without the types that tests make for themselves."""
    return [kind for kind in catalog.event_types() if kind.__module__.startswith("apps.")]


def promise(kind: type[Event]) -> Promise:
    """What readers of this type, as it is declared now, may rely on."""
    return {
        "fingerprint": catalog.fingerprint(kind),
        "beside": {name: kind.model_fields[name].is_required() for name in kind.envelope_fields},
        "schema": catalog.bare_schema(kind),
        "example": {**kind.example_beside, **kind.example},
    }


def findings(promises: Promises, kinds: list[type[Event]]) -> list[Finding]:
    """Everything in which the declared types differ from the promises; breaking ones first."""
    found = [each for kind in kinds for each in _about(kind, promises.get(kind.type, {}))]
    found += _forgotten(promises, {kind.type for kind in kinds})
    return sorted(found, key=lambda each: (not each.breaking, each.event_type))


def renewed(promises: Promises, kinds: list[type[Event]]) -> Promises:
    """The promises with new types, new versions and compatible changes taken in.

    Versions that a finding calls broken stay as they were promised.
    """
    broken = {each.event_type for each in findings(promises, kinds) if each.breaking}
    fresh = {kind.type: {str(kind.version): promise(kind)} for kind in kinds}
    return {
        name: {**promises.get(name, {}), **({} if name in broken else fresh.get(name, {}))}
        for name in sorted({*promises, *(set(fresh) - broken)})
    }


def write(promises: Promises) -> None:
    text = json.dumps(promises, ensure_ascii=False, indent=1, sort_keys=True)
    FILE.write_text(f"{text}\n")


def _about(kind: type[Event], versions: dict[str, Promise]) -> Iterator[Finding]:
    latest = max(map(int, versions), default=0)
    if kind.version < latest:
        yield _finding(kind, f"version {latest} was already promised", "never lower a version")
    elif str(kind.version) not in versions:
        yield _finding(kind, "not promised yet", WRITE, breaking=False)
    else:
        yield from _changes(kind, versions[str(kind.version)])
    yield from _unreadable(kind, versions)
    yield from _tampered(kind, versions)


def _changes(kind: type[Event], old: Promise) -> Iterator[Finding]:
    new = promise(kind)
    broken = breaks(old["schema"], new["schema"]) + _broken_beside(old["beside"], new["beside"])
    fix = NEW_VERSION.format(next=kind.version + 1, version=kind.version)
    for each in broken:
        yield _finding(kind, each, fix)
    if new != old and not broken:
        yield _finding(kind, "changed in a compatible way", WRITE, breaking=False)


def _broken_beside(old: dict[str, bool], new: dict[str, bool]) -> list[str]:
    gone = [f"{name}: removed from the envelope" for name in sorted(set(old) - set(new))]
    wanted = {name for name, required in new.items() if required and not old.get(name)}
    return gone + [f"{name}: now required in the envelope" for name in sorted(wanted)]


def _unreadable(kind: type[Event], versions: dict[str, Promise]) -> Iterator[Finding]:
    """Old versions whose example the upcasters no longer bring up to date."""
    for version in (number for number in map(int, versions) if number < kind.version):
        example = dict(versions[str(version)]["example"])
        beside = {name: example.pop(name) for name in kind.envelope_fields if name in example}
        try:
            catalog.build(kind.type, example, version=version, **beside)
        except Exception as error:  # noqa: BLE001 - an upcaster may fail in any way
            yield Finding(
                kind.type, version, f"can no longer be read: {error}", "mend its upcaster", True
            )


def _tampered(kind: type[Event], versions: dict[str, Promise]) -> Iterator[Finding]:
    for version, old in versions.items():
        if catalog.fingerprint_of(old["schema"]) != old["fingerprint"]:
            problem, fix = "the stored schema was edited by hand", "take it back from git"
            yield Finding(kind.type, int(version), problem, fix, True)


def _forgotten(promises: Promises, known: set[str]) -> list[Finding]:
    fix = "keep the class: events of it are stored and may come back"
    return [
        Finding(name, max(map(int, promises[name])), "no longer declared", fix, True)
        for name in sorted(set(promises) - known)
    ]


def _finding(kind: type[Event], problem: str, fix: str, breaking: bool = True) -> Finding:
    return Finding(kind.type, kind.version, problem, fix, breaking)
