"""Looks into DOCX files, which are archives of XML."""

import zipfile
from typing import Any
from xml.parsers import expat

from apps.documents.confined.refusal import Refused

MOST_PARTS = 5_000
LARGEST_WHOLE = 200 * 1024 * 1024
WORST_RATIO = 200
_W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main "
_BREAKS = {f"{_W}p": "\n", f"{_W}br": "\n", f"{_W}tab": "\t", f"{_W}tc": "\t"}
_LONGEST = 2_000_000


def inspect(path: str) -> int:
    """One: how many pages it has is decided by whoever prints it."""
    with open(path, "rb") as file:
        if file.read(4) != b"PK\3\4":
            raise Refused("ambiguous")
    try:
        with zipfile.ZipFile(path) as archive:
            _inspect_parts(archive.infolist())
            _parse(archive, _ignore)
    except (zipfile.BadZipFile, KeyError, expat.ExpatError, NotImplementedError, EOFError):
        raise Refused("broken") from None
    return 1


def _inspect_parts(parts: list[zipfile.ZipInfo]) -> None:
    names = [part.filename for part in parts]
    packed = sum(part.compress_size for part in parts)
    whole = sum(part.file_size for part in parts)
    if len(parts) > MOST_PARTS or whole > LARGEST_WHOLE or whole > WORST_RATIO * max(packed, 4096):
        raise Refused("bomb")
    if any(part.flag_bits & 1 for part in parts):
        raise Refused("encrypted")
    if any(name.startswith("/") or ".." in name.split("/") for name in names):
        raise Refused("broken")
    if any("vbaproject" in name.lower() for name in names):
        raise Refused("macros")
    if not {"[Content_Types].xml", "word/document.xml"} <= set(names):
        raise Refused("broken")


def text_of(path: str) -> str:
    """The words of the body, in reading order."""
    found: list[str] = []
    with zipfile.ZipFile(path) as archive:
        _parse(archive, found.append)
    return "".join(found).strip()


def _parse(archive: zipfile.ZipFile, say: Any) -> None:
    parser = expat.ParserCreate(namespace_separator=" ")
    reader = _Reader(say)
    parser.StartElementHandler, parser.EndElementHandler = reader.start, reader.end
    parser.CharacterDataHandler = reader.characters
    parser.StartDoctypeDeclHandler = reader.doctype
    with archive.open("word/document.xml") as body:
        parser.ParseFile(body)


class _Reader:
    def __init__(self, say: Any) -> None:
        self.say, self.in_text, self.length = say, False, 0

    def start(self, name: str, _attributes: Any) -> None:
        self.in_text = name == f"{_W}t"

    def end(self, name: str) -> None:
        self.in_text = False
        if name in _BREAKS:
            self.say(_BREAKS[name])

    def characters(self, text: str) -> None:
        if self.in_text and self.length < _LONGEST:
            self.length += len(text)
            self.say(text)

    def doctype(self, *_: Any) -> None:
        # Word writes none, and entities are what bombs and leaks are made of.
        raise Refused("bomb")


def _ignore(_text: str) -> None:
    """Inspecting parses it all and keeps nothing."""
