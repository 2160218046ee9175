"""A version that goes, by whatever way, takes its file with it."""

from typing import Any

from django.db.models.signals import post_delete
from django.dispatch import receiver

from apps.documents import services
from apps.documents.models import DocumentVersion


@receiver(post_delete, sender=DocumentVersion)
def remove_its_file(instance: DocumentVersion, **_: Any) -> None:
    if instance.storage_key:
        services.remove_file_after_commit(instance.storage_key)
