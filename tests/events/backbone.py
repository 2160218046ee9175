"""A backbone in the hands of a test: publish, carry, handle, step by step."""

from django.utils import timezone

from apps.events.consumer import Consumer
from apps.events.groups import GROUPS
from apps.events.models import DeadLetter, Retry

GROUP, ORDERED = "notification_group", "bpm_engine"


class Log(list):
    """A handler that remembers what it got, and does what it is told for some of it."""

    def __init__(self):
        super().__init__()
        self.trouble = {}

    def __call__(self, message):
        key = (message.aggregate_id, message.payload["number"])
        if key in self.trouble:
            raise self.trouble[key]
        self.append(key)


def worker(bus, name="w1", group=GROUP):
    return Consumer(GROUPS[group], bus, name)


def drain(relay):
    while relay.relay_batch():
        continue


def make_due():
    Retry.objects.update(due_at=timezone.now())


def open_letters():
    return DeadLetter.objects.filter(status="open").order_by("position", "id")
