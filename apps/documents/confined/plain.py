"""Reads plain text. Nothing in it can do harm, so this runs outside of the child, too."""

import zipfile

from apps.documents.confined.refusal import Refused

_ENCODINGS = ("utf-8-sig", "cp949")
_ALLOWED = set("\t\n\r\f")


def inspect(path: str) -> int:
    """One page, if it is a text at all."""
    if zipfile.is_zipfile(path):
        raise Refused("ambiguous")
    text_of(path)
    return 1


def text_of(path: str) -> str:
    """The text, in UTF-8 or as Korean Windows writes it."""
    with open(path, "rb") as file:
        content = file.read()
    for encoding in _ENCODINGS:
        try:
            text = content.decode(encoding)
        except UnicodeDecodeError:
            continue
        if any(ord(sign) < 32 and sign not in _ALLOWED for sign in text):
            break
        return text
    raise Refused("broken")
