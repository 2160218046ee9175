"""A time line on which many apps write: each tells what it knows, and it is read as one."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple, Self
from uuid import UUID

from django.db.models import Q, QuerySet
from django.utils.dateparse import parse_datetime

SIZE = 50
_BETWEEN = "~"


class Entry(NamedTuple):
    """Something that happened, as one reads it."""

    at: datetime
    id: Any
    title: str
    text: str = ""
    who: str = ""
    link: str = ""
    severity: str = ""


@dataclass(frozen=True)
class Stretch:
    """The part of the time line that a source is asked for: its newest entries before a place.

    `below` is the id of the entry at that very moment which was told last; a source that comes
    after that entry's tells all of that moment (`all_of_it`), one that came before it nothing.
    """

    size: int
    before: datetime | None = None
    below: Any = None
    all_of_it: bool = False

    def where(self, moment: str) -> Q:
        """The condition alone, for rows that are united with others."""
        there = Q(**{f"{moment}__isnull": False})
        if self.before is None:
            return there
        earlier = Q(**{f"{moment}__lt": self.before})
        if self.all_of_it:
            earlier |= Q(**{moment: self.before})
        elif self.below is not None:
            earlier |= Q(**{moment: self.before, "pk__lt": self.below})
        return there & earlier

    def of(self, rows: QuerySet[Any], moment: str) -> QuerySet[Any]:
        """The rows of this stretch, the newest first. A source asks once, however long it is."""
        return rows.filter(self.where(moment)).order_by(f"-{moment}", "-pk")[: self.size]


Source = Callable[[UUID, Stretch], Iterable[Entry]]


class Topic(NamedTuple):
    """What an app has to tell, and how people find just that."""

    name: str
    label: Any
    icon: str
    position: int
    sources: tuple[Source, ...]


class Told(NamedTuple):
    """An entry in its place."""

    entry: Entry
    topic: Topic
    place: str


class Place(NamedTuple):
    """An entry's place in the order: by moment, then by source, then by id."""

    at: datetime
    source: str
    id: Any

    def __str__(self) -> str:
        return _BETWEEN.join([self.at.isoformat(), self.source, str(self.id)])

    @classmethod
    def of(cls, text: str) -> Self | None:
        """The place a link names; None, and so the newest, when it names none."""
        try:
            at, source, name = text.split(_BETWEEN)
            moment = parse_datetime(at)
            return cls(moment, source, _id(name)) if moment and moment.tzinfo else None
        except ValueError:
            return None


def _id(text: str) -> Any:
    return int(text) if text.isdecimal() and len(text) < 19 else UUID(text)


class Page(NamedTuple):
    """Some of it, the newest first; `next` is the place after which the rest follows."""

    told: list[Told]
    next: str


class Timeline:
    """What happened to things of one kind. Apps add what they know from AppConfig.ready()."""

    def __init__(self) -> None:
        self._topics: dict[str, Topic] = {}

    def add(self, topic: Topic) -> None:
        self._topics[topic.name] = topic

    @property
    def topics(self) -> list[Topic]:
        return sorted(self._topics.values(), key=lambda topic: topic.position)

    def page(self, thing: UUID, *, before: str = "", only: str = "", size: int = SIZE) -> Page:
        """What happened to a thing: one question per source, however much there is."""
        place = Place.of(before)
        told = sorted(self._told(thing, place, only, size + 1), reverse=True, key=_order)[
            : size + 1
        ]
        shown = [each for _place, each in told[:size]]
        return Page(shown, shown[-1].place if len(told) > size else "")

    def _told(
        self, thing: UUID, before: Place | None, only: str, size: int
    ) -> Iterator[tuple[Place, Told]]:
        for topic in self.topics:
            if only in ("", topic.name):
                for number, source in enumerate(topic.sources):
                    name = f"{topic.name}.{number}"
                    for entry in source(thing, _stretch(name, before, size)):
                        place = Place(entry.at, name, entry.id)
                        yield place, Told(entry, topic, str(place))


def _order(told: tuple[Place, Told]) -> Place:
    return told[0]


def _stretch(source: str, before: Place | None, size: int) -> Stretch:
    if before is None:
        return Stretch(size)
    below = before.id if source == before.source else None
    return Stretch(size, before.at, below, source < before.source)
