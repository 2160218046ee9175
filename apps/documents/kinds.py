"""Which files are documents, and how they are told apart: by their content, not by their name."""

import unicodedata
from dataclasses import dataclass
from pathlib import Path, PurePath

import puremagic

from apps.documents.errors import ContentMismatch, EmptyDocument, UnsupportedType

LONGEST_NAME = 200


@dataclass(frozen=True)
class Kind:
    """A kind of file that we take in."""

    name: str
    content_type: str
    extensions: tuple[str, ...]


KINDS = {
    kind.name: kind
    for kind in (
        Kind("pdf", "application/pdf", (".pdf",)),
        Kind(
            "docx",
            "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
            (".docx",),
        ),
        Kind("png", "image/png", (".png",)),
        Kind("jpeg", "image/jpeg", (".jpg", ".jpeg")),
        Kind("tiff", "image/tiff", (".tif", ".tiff")),
        Kind("txt", "text/plain", (".txt",)),
    )
}
CONTENT_TYPES = [kind.content_type for kind in KINDS.values()]
_BY_EXTENSION = {extension: kind for kind in KINDS.values() for extension in kind.extensions}
_BY_CONTENT_TYPE = {kind.content_type: kind for kind in KINDS.values()}
# puremagic gives a tenth for each byte that agrees; fewer than four may be chance in a text.
_NO_CHANCE = 0.4


def kind_of_type(content_type: str) -> Kind:
    return _BY_CONTENT_TYPE[content_type]


def identify(path: Path, file_name: str) -> Kind:
    """The kind of a file; refused when it is none of ours, or not the one its name says."""
    claimed = _BY_EXTENSION.get(PurePath(file_name).suffix.lower())
    if claimed is None:
        raise UnsupportedType
    if not path.stat().st_size:
        raise EmptyDocument
    found = _content_types(path, _NO_CHANCE if claimed.name == "txt" else 0)
    fits = not found if claimed.name == "txt" else claimed.content_type in found
    if not fits:
        raise ContentMismatch(found=sorted(found)[:3], expected=claimed.content_type)
    return claimed


def _content_types(path: Path, at_least: float) -> set[str]:
    """What the first and last bytes say. The name is kept from it: it would believe it."""
    with path.open("rb") as file:
        try:
            matches = puremagic.magic_stream(file)
        except puremagic.PureError:
            return set()
    surely = [match for match in matches if match.confidence >= at_least]
    return {match.mime_type for match in surely if match.mime_type not in {"", "text/plain"}}


def cleaned(file_name: str) -> str:
    """A file's name without its path, without signs that hide or turn it, composed and short."""
    name = unicodedata.normalize("NFC", file_name).replace("\\", "/").rsplit("/", 1)[-1]
    name = "".join(sign for sign in name if unicodedata.category(sign)[0] != "C").strip(" .")
    stem, suffix = PurePath(name).stem, PurePath(name).suffix[:10]
    return f"{stem[: LONGEST_NAME - len(suffix)]}{suffix}" or "document"
