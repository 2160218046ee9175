"""What is shown of things that are held against the catalog, and of such a check."""

from typing import Any

from rest_framework import serializers

from axiom.references import Checked, Report, Status

CHECKED_FIELDS = ("status", "reason", "checked_at")
MOST_SHOWN = 100


class CheckedSerializer(serializers.ModelSerializer[Any]):
    """Base of the serializers of a `Checked`: status and reason are found, never given."""

    status = serializers.ChoiceField(choices=Status.choices, read_only=True)
    reason = serializers.CharField(
        read_only=True, help_text="What is wrong, in your language; empty when nothing is."
    )
    checked_at = serializers.DateTimeField(
        read_only=True, help_text="When it became what its status says."
    )


class SourceInput(serializers.Serializer[Any]):
    datasource_name = serializers.CharField(
        max_length=200, required=False, allow_blank=True, default="",
        help_text="Only this data source; left out, all of them.",
    )  # fmt: skip


class ChangedSerializer(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    name = serializers.CharField()
    status = serializers.ChoiceField(choices=Status.choices)
    reason = serializers.CharField(allow_blank=True)


class CheckReportSerializer(serializers.Serializer[Any]):
    """How many were looked at, and which were otherwise than was stored."""

    checked = serializers.IntegerField()
    broken = serializers.IntegerField(help_text="How many are invalid now and were not so before.")
    mended = serializers.IntegerField(help_text="How many are valid again.")
    changed = ChangedSerializer(many=True, help_text="The first hundred of them.")


def shown(report: Report) -> dict[str, Any]:
    return {
        "checked": report.checked,
        "broken": len(report.broken),
        "mended": len(report.mended),
        "changed": [_changed(row) for row in report.changed[:MOST_SHOWN]],
    }


def _changed(row: Checked) -> dict[str, Any]:
    return {"id": str(row.pk), "name": str(row), "status": row.status, "reason": row.reason}
