"""Reads XML that anybody may have written: no entities, no network, no depth, no size."""

from typing import Any
from xml.parsers import expat

from django.utils.translation import gettext as _
from lxml import etree

from apps.processes.errors import BpmnTooLarge, InvalidBpmn

LARGEST = 1_000_000
DEEPEST = 40
MOST_ELEMENTS = 20_000


def read(text: str) -> Any:
    """The tree of an XML text. Whatever is dangerous is refused before a tree is built."""
    data = text.encode("utf-8", errors="surrogatepass")
    if len(data) > LARGEST:
        raise BpmnTooLarge
    _look_through(data)
    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False,
        remove_comments=True, remove_pis=True, encoding="utf-8",
    )  # fmt: skip
    try:
        return etree.fromstring(data, parser)
    except (etree.XMLSyntaxError, ValueError) as error:
        raise InvalidBpmn(_not_xml(error)) from None


def _look_through(data: bytes) -> None:
    """One pass that keeps nothing, so that a hostile text costs no more than its length."""
    scout = _Scout()
    parser = expat.ParserCreate("utf-8")
    parser.StartElementHandler = scout.enter
    parser.EndElementHandler = scout.leave
    # Without a document type there are no entities: neither bombs nor files of this machine.
    parser.StartDoctypeDeclHandler = scout.refuse_doctype
    try:
        parser.Parse(data, True)
    except expat.ExpatError as error:
        raise InvalidBpmn(_not_xml(error)) from None


def _not_xml(error: Exception) -> str:
    return _("This is not well-formed XML: %(reason)s.") % {"reason": error}


class _Scout:
    def __init__(self) -> None:
        self.depth = self.elements = 0

    def enter(self, name: str, attributes: dict[str, str]) -> None:
        self.depth += 1
        self.elements += 1
        if self.depth > DEEPEST or self.elements > MOST_ELEMENTS:
            raise BpmnTooLarge

    def leave(self, name: str) -> None:
        self.depth -= 1

    def refuse_doctype(self, *declaration: Any) -> None:
        raise InvalidBpmn(_("A document type (DOCTYPE) is not allowed here."))
