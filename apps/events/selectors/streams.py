"""Streams as an operator looks at them: who reads them how far, and what is in them."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from uuid import UUID

from .. import heartbeats
from ..bus import Entry
from ..bus.browse import ConsumerSeen, GroupSeen, Holding, StreamBrowser, StreamSeen
from ..groups import GROUPS
from ..ids import made_at
from ..keys import Stream
from ..models import InboxEntry, OutboxEvent
from .levels import Letters, open_letters_by_place

PAGE = 50
LOOKED_AT = 5_000
"""Entries that one page looks through at most; a stream holds twenty times as many."""
_CHUNK = 500

STREAMS = (*map(str, Stream), *(stream.dead_letters for stream in Stream))
"""What can be looked at: each stream, and what was given up on it."""


@dataclass(frozen=True, slots=True)
class GroupOfStream:
    """A group on one stream, and who reads for it."""

    seen: GroupSeen
    letters: int
    """Open dead letters."""
    alive: frozenset[str]
    """Consumers whose process was heard of in the last seconds."""

    @property
    def name(self) -> str:
        return self.seen.group

    @property
    def worker(self) -> str:
        return GROUPS[self.name].worker if self.name in GROUPS else ""

    @property
    def is_ordered(self) -> bool:
        return self.name in GROUPS and GROUPS[self.name].ordered

    @property
    def consumers(self) -> list[tuple[ConsumerSeen, bool]]:
        """Each reader, and whether it lives; those that hold something first."""
        ordered = sorted(self.seen.consumers, key=lambda each: (-each.pending, each.idle_seconds))
        return [(each, each.name in self.alive) for each in ordered]


@dataclass(frozen=True, slots=True)
class StreamTold:
    """A stream, its groups, and how much of it was given up."""

    seen: StreamSeen
    groups: list[GroupOfStream]
    dead_letters: int
    """Entries of its dead-letter stream."""

    @property
    def name(self) -> str:
        return self.seen.stream

    @property
    def dead_letter_stream(self) -> str:
        return Stream(self.name).dead_letters

    @property
    def oldest_at(self) -> datetime | None:
        return moment_of(self.seen.first_id) if self.seen.first_id else None

    @property
    def newest_at(self) -> datetime | None:
        return moment_of(self.seen.last_id) if self.seen.last_id else None


def streams_told(browser: StreamBrowser | None = None) -> list[StreamTold]:
    """All streams, in a fixed number of round trips. Raises BusUnavailable."""
    seen = {each.stream: each for each in (browser or StreamBrowser()).look(STREAMS)}
    letters = open_letters_by_place()
    alive = frozenset(each.name for each in heartbeats.alive())
    return [_told(stream, seen, letters, alive) for stream in Stream]


def _told(
    stream: Stream, seen: dict[str, StreamSeen], letters: Letters, alive: frozenset[str]
) -> StreamTold:
    groups = [
        GroupOfStream(group, letters.get((stream, group.group), 0), alive)
        for group in sorted(seen[stream].groups, key=lambda each: each.group)
    ]
    return StreamTold(seen[stream], groups, seen[stream.dead_letters].length)


def moment_of(entry_id: str) -> datetime:
    """When the bus took this entry."""
    return datetime.fromtimestamp(int(entry_id.split("-")[0]) / 1000, UTC)


def first_id_at(moment: datetime) -> str:
    return f"{int(moment.timestamp() * 1000)}-0"


@dataclass(frozen=True, slots=True)
class EntryTold:
    """An entry of a stream with the facts of its envelope; what is no event has few."""

    stream: str
    entry_id: str
    fields: dict[str, str]

    @classmethod
    def of(cls, entry: Entry) -> "EntryTold":
        text = {_text(name): _text(value) for name, value in entry.raw.items()}
        return cls(entry.stream, entry.entry_id, text)

    @property
    def at(self) -> datetime:
        return moment_of(self.entry_id)

    @property
    def event_type(self) -> str:
        return self.fields.get("event_type", "")

    @property
    def event_id(self) -> UUID | None:
        return _as_uuid(self.fields.get("event_id", ""))

    @property
    def tenant_id(self) -> UUID | None:
        return _as_uuid(self.fields.get("tenant_id", ""))

    @property
    def payload(self) -> str:
        return self.fields.get("payload", "")


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "backslashreplace")


def _as_uuid(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None


@dataclass(frozen=True, slots=True)
class Place:
    """Where a page begins: above or below an entry, or at a moment; nowhere: at the end."""

    below: str = ""
    above: str = ""


@dataclass(frozen=True, slots=True)
class PageOfStream:
    """Some entries, the newest first, and where the search for more goes on."""

    entries: list[EntryTold]
    looked_at: int
    older: str
    """The id to look below next; empty: the stream's beginning is reached."""
    newer: str
    """The id to look above; empty: nothing was shown."""


def entries_of(
    stream: str,
    *,
    tenant_id: UUID | None,
    event_type: str = "",
    place: Place | None = None,
    browser: StreamBrowser | None = None,
) -> PageOfStream:
    """A page of a stream: of one tenant, or of all when none is named. Raises BusUnavailable.

    It looks through a bounded number of entries, whatever is searched for: with little to show
    it says up to where it came.
    """
    browser, place = browser or StreamBrowser(), place or Place()

    def is_meant(entry: EntryTold) -> bool:
        theirs = tenant_id is None or entry.tenant_id == tenant_id
        return theirs and event_type in ("", entry.event_type)

    if place.above:
        return _upward(browser, stream, place.above, is_meant)
    return _downward(browser, stream, place.below, is_meant)


Meant = Callable[[EntryTold], bool]


def _downward(browser: StreamBrowser, stream: str, below: str, is_meant: Meant) -> PageOfStream:
    found: list[EntryTold] = []
    looked_at, last = 0, ""
    for entry in _walk(lambda start: browser.older(stream, start or "+", _CHUNK), below):
        looked_at, last = looked_at + 1, entry.entry_id
        found += [entry] if is_meant(entry) else []
        if len(found) == PAGE or looked_at == LOOKED_AT:
            break
    else:
        last = ""
    return PageOfStream(found, looked_at, last, found[0].entry_id if found else below)


def _upward(browser: StreamBrowser, stream: str, above: str, is_meant: Meant) -> PageOfStream:
    found: list[EntryTold] = []
    looked_at, last = 0, above
    for entry in _walk(lambda start: browser.newer(stream, start or "-", _CHUNK), above):
        looked_at, last = looked_at + 1, entry.entry_id
        found += [entry] if is_meant(entry) else []
        if len(found) == PAGE or looked_at == LOOKED_AT:
            break
    older = found[0].entry_id if found else above
    return PageOfStream(found[::-1], looked_at, older, last)


def _walk(read: Callable[[str], Sequence[Entry]], after: str) -> Iterator[EntryTold]:
    """Entry by entry, read in chunks, beginning after this id."""
    start = f"({after}" if after else ""
    while chunk := read(start):
        yield from map(EntryTold.of, chunk)
        start = f"({chunk[-1].entry_id}"


def entry_of(
    stream: str, entry_id: str, *, tenant_id: UUID | None, browser: StreamBrowser | None = None
) -> EntryTold | None:
    """One entry; None when there is none, or when it is another tenant's. Raises BusUnavailable."""
    found = (browser or StreamBrowser()).older(stream, entry_id, 1)
    told = [EntryTold.of(each) for each in found if each.entry_id == entry_id]
    theirs = [each for each in told if tenant_id is None or each.tenant_id == tenant_id]
    return theirs[0] if theirs else None


def entry_of_event(
    stream: str, event_id: UUID, *, tenant_id: UUID | None, browser: StreamBrowser | None = None
) -> EntryTold | None:
    """The entry of an event: by its row in the outbox; once that is gone, from when it was made."""
    browser = browser or StreamBrowser()
    rows = OutboxEvent.objects.filter(event_id=event_id, stream=stream).values_list("entry_id")
    (entry_id,) = rows.first() or ("",)
    if entry_id:
        return entry_of(stream, entry_id, tenant_id=tenant_id, browser=browser)
    return _made_about(browser, stream, event_id, tenant_id)


def _made_about(
    browser: StreamBrowser, stream: str, event_id: UUID, tenant_id: UUID | None
) -> EntryTold | None:
    if event_id.version != 7:
        return None
    # Two clocks are never quite the same.
    begin = first_id_at(made_at(event_id) - timedelta(seconds=1))
    for looked_at, entry in enumerate(_walk(lambda s: browser.newer(stream, s, _CHUNK), begin)):
        if entry.event_id == event_id and tenant_id in (None, entry.tenant_id):
            return entry
        if looked_at >= LOOKED_AT:
            return None
    return None


@dataclass(frozen=True, slots=True)
class Reading:
    """How a group stands to one entry."""

    group: str
    outcome: str
    """As its inbox says; empty: it is not done with it."""
    at: datetime | None
    holding: Holding | None
    is_read: bool
    """Whether the group has been given it at all."""


def readings_of(entry: EntryTold, *, browser: StreamBrowser | None = None) -> list[Reading]:
    """How each group of the stream stands to this entry. Raises BusUnavailable."""
    browser = browser or StreamBrowser()
    (seen,) = browser.look([entry.stream])
    held = browser.holding(entry.stream, entry.entry_id, [group.group for group in seen.groups])
    inbox = InboxEntry.objects.filter(event_id=entry.event_id) if entry.event_id else ()
    done = {row.group: row for row in inbox}
    return [
        _reading(group, entry, held.get(group.group), done.get(group.group))
        for group in sorted(seen.groups, key=lambda each: each.group)
    ]


def _reading(
    group: GroupSeen, entry: EntryTold, holding: Holding | None, done: InboxEntry | None
) -> Reading:
    return Reading(
        group.group, str(done.get_outcome_display()) if done else "",
        done.processed_at if done else None, holding,
        _order(entry.entry_id) <= _order(group.last_delivered_id),
    )  # fmt: skip


def _order(entry_id: str) -> tuple[int, int]:
    millisecond, _, number = entry_id.partition("-")
    return int(millisecond), int(number or 0)
