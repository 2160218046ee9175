"""Collects every translatable string and keeps locale/ko whole, without GNU gettext.

`python -m axiom.translation update` adds what is new, drops what is gone and compiles;
`python -m axiom.translation check` says what is missing. polib is a development requirement.
"""

import ast
import gettext
import importlib.util
import re
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import polib
from django.utils.translation.template import templatize

from axiom.errors import first_sentence

ROOT = Path(__file__).resolve().parent.parent
CATALOG = ROOT / "locale" / "ko" / "LC_MESSAGES" / "django.po"
OUR_FOLDERS = ("apps", "axiom", "templates")
# Packages whose words people read here but which bring no Korean ("ko") of their own.
BORROWED_PACKAGES = (
    "unfold",
    "rest_framework",
    "rest_framework_simplejwt",
    "django_filters",
    "axes",
)
# Django says these in Korean too, but not well.
SAID_BETTER = ("Save and add another", "Save and continue editing", "History")
# Tools, examples and features we do not switch on: nobody here ever reads these.
UNSEEN = re.compile(
    r"unfold/contrib/(?!filters)|unfold_crispy|rest_framework/(authtoken|templates|schemas|versioning)"
    r"|django_filters/(rest_framework|templates)|axes/(checks|conf)|/migrations/|/management/|/locale/|/tests?/"
)

# Function name -> positions of (context, singular, plural) among its arguments.
CALLS: dict[str, tuple[int | None, int, int | None]] = {
    "_": (None, 0, None),
    "gettext": (None, 0, None),
    "gettext_lazy": (None, 0, None),
    "gettext_noop": (None, 0, None),
    "noop": (None, 0, None),
    "ngettext": (None, 0, 1),
    "ngettext_lazy": (None, 0, 1),
    "pgettext": (0, 1, None),
    "pgettext_lazy": (0, 1, None),
    "npgettext": (0, 1, 2),
    "npgettext_lazy": (0, 1, 2),
}
_TEXT = r"""u?(?:'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*")"""
_TEMPLATE_CALL = re.compile(rf"(?<!\w)({'|'.join(CALLS)})\(({_TEXT}(?:,\s*{_TEXT})*)[,)]")
_PLACEHOLDER = re.compile(r"%\(\w+\)[a-z]|%[sd]|\{[\w.]*(?:![rsa])?(?::[^}]*)?\}")


# What went wrong and what happened are told by docstrings.
FAMILIES_THAT_SPEAK = ("AxiomError", "Event")


class Message(NamedTuple):
    text: str
    plural: str = ""
    context: str = ""


def messages_in_python(source: str) -> Iterator[Message]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call):
            name = getattr(node.func, "id", getattr(node.func, "attr", ""))
            texts = [_constant(argument) for argument in node.args]
            yield from _message(name, texts)


def messages_in_template(source: str) -> Iterator[Message]:
    for name, arguments in _TEMPLATE_CALL.findall(templatize(source)):
        texts = [ast.literal_eval(text) for text in re.findall(_TEXT, arguments)]
        yield from _message(name, texts)


def _message(name: str, texts: list[str]) -> Iterator[Message]:
    context, singular, plural = CALLS.get(name, (None, 99, None))
    if singular < len(texts) and texts[singular]:
        yield Message(
            texts[singular],
            texts[plural] if plural is not None else "",
            texts[context] if context is not None else "",
        )


def _constant(node: ast.expr) -> str:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def sentences(sources: Iterable[str], family: str) -> Iterator[Message]:
    """The docstrings of a class and all its descendants: they are what people are told."""
    classes = [
        node
        for source in sources
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.ClassDef)
    ]
    names, before = {family}, 0
    while len(names) > before:
        before = len(names)
        names |= {node.name for node in classes if names & set(map(_last_name, node.bases))}
    for node in classes:
        if node.name in names and (words := ast.get_docstring(node)):
            yield Message(first_sentence(words))


def _last_name(node: ast.expr) -> str:
    return ast.unparse(node).rpartition(".")[2]


def files(folder: Path) -> tuple[list[Path], list[Path]]:
    """The Python files and the templates below a folder that speak to people."""
    seen = [path for path in sorted(folder.rglob("*")) if not UNSEEN.search(path.as_posix())]
    python = [path for path in seen if path.suffix == ".py"]
    return python, [path for path in seen if path.suffix in {".html", ".txt"}]


def collect(folders: Iterable[Path]) -> dict[Message, None]:
    """Every message of these folders, once each, in the order of the files."""
    found: dict[Message, None] = {}
    for folder in folders:
        python, templates = files(folder)
        sources = [path.read_text() for path in python]
        for source in sources:
            found |= dict.fromkeys(messages_in_python(source))
        for path in templates:
            found |= dict.fromkeys(messages_in_template(path.read_text()))
        for family in FAMILIES_THAT_SPEAK:
            found |= dict.fromkeys(sentences(sources, family))
    return found


@cache
def django_in_korean() -> gettext.NullTranslations:
    """What Django itself already says in Korean."""
    catalogs = [
        gettext.GNUTranslations(path.open("rb"))
        for part in ("conf", "contrib/admin", "contrib/auth", "contrib/contenttypes")
        for path in (_package("django") / part).glob("locale/ko/LC_MESSAGES/django.mo")
    ]
    for catalog in catalogs[1:]:
        catalogs[0].add_fallback(catalog)
    return catalogs[0]


def django_knows(message: Message) -> bool:
    key = f"{message.context}\x04{message.text}" if message.context else message.text
    return django_in_korean().gettext(key) != key and not message.plural


def _package(name: str) -> Path:
    spec = importlib.util.find_spec(name)
    assert spec
    assert spec.origin
    return Path(spec.origin).parent


def wanted() -> dict[Message, None]:
    """All the catalog has to hold: our own words, and borrowed ones without Korean."""
    ours = collect(ROOT / folder for folder in OUR_FOLDERS)
    borrowed = collect(_package(name) for name in BORROWED_PACKAGES)
    better = {Message(text): None for text in SAID_BETTER}
    return ours | better | {each: None for each in borrowed if not django_knows(each)}


def problems(catalog: polib.POFile, messages: Iterable[Message]) -> list[str]:
    """One line for everything that would show English, or break, in Korean."""
    known = {_key(entry): entry for entry in catalog if not entry.obsolete}
    needed = dict.fromkeys(messages)
    missing = [f"missing: {message.text!r}" for message in needed if message not in known]
    unused = [f"unused: {message.text!r}" for message in known if message not in needed]
    broken = [text for entry in known.values() for text in _faults(entry)]
    return missing + unused + broken


def _faults(entry: polib.POEntry) -> Iterator[str]:
    if entry.fuzzy:
        yield f"fuzzy: {entry.msgid!r}"
    said = list(entry.msgstr_plural.values()) if entry.msgid_plural else [entry.msgstr]
    if not said or not all(said):
        yield f"untranslated: {entry.msgid!r}"
    source = entry.msgid_plural or entry.msgid
    if any(text and placeholders(text) != placeholders(source) for text in said):
        yield f"placeholders differ: {entry.msgid!r}"


def placeholders(text: str) -> list[str]:
    return sorted(_PLACEHOLDER.findall(text.replace("%%", "")))


def stale(catalog: polib.POFile) -> bool:
    """True when the compiled catalog beside it says something else."""
    compiled = CATALOG.with_suffix(".mo")
    return not compiled.exists() or compiled.read_bytes() != catalog.to_binary()


def _key(entry: polib.POEntry) -> Message:
    return Message(entry.msgid, entry.msgid_plural, entry.msgctxt or "")


def update(catalog: polib.POFile, messages: Iterable[Message]) -> None:
    """Add what is new, drop what nobody says any more; translations in between stay."""
    known = {_key(entry): entry for entry in catalog}
    catalog[:] = [known.get(message) or _entry(message) for message in sorted(set(messages))]


def _entry(message: Message) -> polib.POEntry:
    plural = {"msgid_plural": message.plural, "msgstr_plural": {0: ""}} if message.plural else {}
    flags = ["python-format"] if "%(" in message.text else []
    return polib.POEntry(msgid=message.text, msgctxt=message.context or None, flags=flags, **plural)


def main(action: str = "check") -> int:
    catalog = polib.pofile(str(CATALOG), wrapwidth=99)
    messages = wanted()
    if action == "update":
        update(catalog, messages)
        catalog.save()
        catalog.save_as_mofile(str(CATALOG.with_suffix(".mo")))
    found = problems(catalog, messages)
    found += ["stale: run `make messages`"] if stale(catalog) else []
    sys.stdout.writelines(f"{line}\n" for line in found)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
