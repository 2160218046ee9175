"""Files leave as attachments: no browser shows them, none guesses what they are."""

from collections.abc import AsyncIterator
from typing import Any

from asgiref.sync import sync_to_async
from django.http import FileResponse

from apps.documents import storage
from apps.documents.errors import NoFileYet
from apps.documents.models import DocumentVersion


class Attachment(FileResponse):
    """A file on its way out, piece by piece, also under ASGI."""

    async def __aiter__(self) -> AsyncIterator[Any]:
        # Django would read a synchronous iterator into memory as a whole.
        pieces: Any = iter(self.streaming_content)  # type: ignore[arg-type]
        take = sync_to_async(lambda: next(pieces, None), thread_sensitive=False)
        while (piece := await take()) is not None:
            yield piece


def attachment_of(version: DocumentVersion) -> Attachment:
    """The file of a version; with nosniff and a policy that lets nothing in it run."""
    if not version.storage_key:
        raise NoFileYet
    answer = Attachment(
        storage.opened(version.storage_key),
        as_attachment=True,
        filename=version.file_name,
        content_type=version.content_type,
    )
    answer["X-Content-Type-Options"] = "nosniff"
    answer["Content-Security-Policy"] = "default-src 'none'; sandbox"
    answer["ETag"] = f'"{version.sha256}"'
    return answer
