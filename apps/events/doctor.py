"""What the doctor looks at in the backbone: streams, their readers, and who is at work."""

from axiom.doctor import Finding, check, fail, ok, warn

from . import bus, heartbeats
from .bus import StreamState
from .groups import GROUPS
from .handlers import active_groups
from .keys import Stream
from .models import DeadLetter
from .selectors.levels import outbox_levels, silent_workers

LAG_TO_WORRY_ABOUT = 100
PENDING_TO_WORRY_ABOUT = 50
WAIT_TO_WORRY_ABOUT = 10


@check(
    "streams",
    fix="Start the relay, which makes them: python manage.py runworker relay",
    needs="redis",
)
def streams() -> Finding:
    states = _states()
    missing = [stream for stream in Stream if stream not in states]
    if missing:
        return fail(f"not there: {', '.join(missing)}")
    return ok(f"{len(states)}, {sum(state.length for state in states.values())} entries")


@check("groups", fix="See that their workers run: python manage.py runworker --list", needs="redis")
def groups() -> Finding:
    expected = {(stream, name) for name in active_groups() for stream in GROUPS[name].streams}
    found = {
        (state.stream, group.group): group for state in _states().values() for group in state.groups
    }
    if missing := sorted(f"{name} on {stream}" for stream, name in expected - found.keys()):
        return fail(f"not there: {', '.join(missing)}")
    late = [
        f"{name} on {stream} (lag {group.lag}, pending {group.pending})"
        for (stream, name), group in sorted(found.items())
        if name in active_groups()
        and (group.lag > LAG_TO_WORRY_ABOUT or group.pending > PENDING_TO_WORRY_ABOUT)
    ]
    return warn(f"behind: {', '.join(late)}") if late else ok(f"{len(expected)}, none behind")


@check("outbox", fix="See that the relay runs and Redis answers.", needs="database")
def outbox() -> Finding:
    levels = outbox_levels()
    waiting = sum(level.pending + level.processing for level in levels)
    oldest = max(level.oldest_pending_seconds for level in levels)
    if oldest > WAIT_TO_WORRY_ABOUT:
        return warn(f"{waiting} wait to be sent, the oldest for {oldest:.0f} s")
    return ok(f"{waiting} wait to be sent")


@check("workers", fix="Start them: `make run`, or python manage.py runworker all", needs="redis")
def workers() -> Finding:
    if missing := silent_workers():
        return fail(f"no heartbeat of {', '.join(missing)}")
    beating = heartbeats.alive()
    count = len({worker for each in beating for worker in each.workers})
    return ok(f"{len(beating)} process{'es' if len(beating) > 1 else ''}, {count} workers")


@check(
    "dead letters",
    fix="Look at them in the console: send again, edit, or discard.",
    needs="database",
)
def dead_letters() -> Finding:
    count = DeadLetter.objects.filter(status=DeadLetter.Status.OPEN).count()
    return warn(f"{count} open") if count else ok("none open")


def _states() -> dict[str, StreamState]:
    line = bus.connect()
    states = {stream: line.state(stream) for stream in Stream}
    return {stream: state for stream, state in states.items() if state}
