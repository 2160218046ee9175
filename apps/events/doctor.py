"""What the doctor looks at in the backbone: streams, their readers, and who is at work."""

from axiom.doctor import Finding, check, fail, ok, warn

from . import bus, heartbeats
from .bus import StreamState
from .groups import GROUPS, RELAY
from .handlers import active_groups
from .keys import Stream
from .models import DeadLetter

LAG_TO_WORRY_ABOUT = 100
PENDING_TO_WORRY_ABOUT = 50


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


@check("workers", fix="Start them: `make run`, or python manage.py runworker all", needs="redis")
def workers() -> Finding:
    needed = {RELAY} | {GROUPS[name].worker for name in active_groups()}
    beating = heartbeats.alive()
    missing = sorted(needed - {worker for each in beating for worker in each.workers})
    if missing:
        return fail(f"no heartbeat of {', '.join(missing)}")
    return ok(f"{len(beating)} process{'es' if len(beating) > 1 else ''}, {len(needed)} workers")


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
