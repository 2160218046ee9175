"""Turns words into vectors. An embedder is a class; the setting ORACLE_EMBEDDER names it."""

import math
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import Protocol
from zlib import crc32

from django.conf import settings
from django.utils.module_loading import import_string

Vector = dict[int, float]
"""Weights by dimension, those that are not zero, together of length one."""


class Embedder(Protocol):
    """Makes vectors of texts; texts that mean the same get vectors that point the same way.

    `name` changes whenever the same text would get another vector: all is indexed anew then.
    """

    name: str
    dimensions: int

    def embed(self, texts: Sequence[str]) -> list[Vector]: ...


_WORD = re.compile(r"[^\W_]+")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_LETTERS_OR_DIGITS = re.compile(r"\d+|[^\W\d]+")


def words_of(text: str) -> Iterator[str]:
    """The words in a text or a name: `biz_procMetrics2` has four."""
    for word in _WORD.findall(unicodedata.normalize("NFKC", text)):
        for hump in _HUMP.split(word):
            yield from _LETTERS_OR_DIGITS.findall(hump.lower())


def grams_of(word: str) -> Iterator[str]:
    """The word, its pieces of three letters, of Korean ones and other syllables of two."""
    yield word
    size = 3 if word.isascii() else 2
    marked = f"^{word}$" if word.isascii() else word
    if len(marked) > size or not word.isascii():
        yield from (marked[at : at + size] for at in range(len(marked) - size + 1))
    if not word.isascii() and len(word) > 1:
        yield from word


class CharacterNGrams:
    """Vectors of the pieces that words are made of: needs no model, no network, no training.

    Finds names by parts and in spite of typing errors, in any language; what only means the
    same is found through the glossary's synonyms.
    """

    name = "character-n-grams-1"
    dimensions = 1 << 20

    def embed(self, texts: Sequence[str]) -> list[Vector]:
        return [self._vector(text) for text in texts]

    def _vector(self, text: str) -> Vector:
        found: Vector = {}
        for word in words_of(text):
            for at, weight in _weights(word):
                found[at] = found.get(at, 0.0) + weight
        length = math.sqrt(sum(weight * weight for weight in found.values())) or 1.0
        return {at: weight / length for at, weight in found.items()}


def _weights(word: str) -> list[tuple[int, float]]:
    """A long word has many pieces and weighs hardly more than a short one."""
    pieces = list(grams_of(word))
    each = 1 / math.sqrt(len(pieces))
    first, *others = [crc32(piece.encode()) % CharacterNGrams.dimensions for piece in pieces]
    return [(first, 1.0), *((at, each) for at in others)]


@cache
def embedder() -> Embedder:
    """The embedder that is configured."""
    found: Embedder = import_string(settings.ORACLE_EMBEDDER)()
    return found


def grams(texts: Iterable[str]) -> set[str]:
    """What a full-text index is asked for."""
    return {gram for text in texts for word in words_of(text) for gram in grams_of(word)}
