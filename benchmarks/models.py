"""What a business transaction and a handler of the benchmarks write."""

from django.db import models
from django.db.models.functions import Now

from apps.events.ids import uuid7


class Claim(models.Model):
    """A row of everyday business: a key, two references, an amount, a date."""

    id = models.UUIDField(primary_key=True, default=uuid7)
    tenant_id = models.UUIDField(db_index=True)
    case_id = models.UUIDField(db_index=True)
    creditor = models.TextField()
    amount = models.DecimalField(max_digits=14, decimal_places=2)
    currency = models.CharField(max_length=3)
    filed_on = models.DateField()
    status = models.TextField(default="filed")
    note = models.TextField(blank=True)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "bench_claim"

    def __str__(self) -> str:
        return f"{self.creditor}: {self.amount} {self.currency}"


class Effect(models.Model):
    """What a handler leaves behind for one event."""

    event_id = models.UUIDField()
    number = models.IntegerField()

    class Meta:
        db_table = "bench_effect"

    def __str__(self) -> str:
        return f"{self.number} of {self.event_id}"
