"""What oracle knows: tables and columns by what people call them, and queries asked before."""

from dataclasses import dataclass
from typing import Any

from django.db import connection
from django.db.models import QuerySet

from apps.metadata import selectors as metadata
from apps.oracle import vectors
from apps.oracle.embedding import embedder, grams
from apps.oracle.models import CachedQuery
from axiom.tenancy import current_tenant_id

LONGEST_QUESTION = 1_000
_FOUND = "datasource_name, schema_name, table_name, column_name, dtype, description"
_AMONG = """
FROM oracle_indexentry
WHERE tenant_id = %(tenant)s AND is_offered
  AND (%(source)s::text IS NULL OR datasource_name = %(source)s)
  AND (%(columns)s::boolean IS NULL OR (column_name <> '') = %(columns)s)
"""
# Sorted by what is selected: vectors are compared once. `<#>` is the negative of the product.
_BY_VECTOR = f"""
SELECT {_FOUND}, -distance FROM (
    SELECT {_FOUND}, id, embedding <#> %(vector)s::sparsevec AS distance {_AMONG}
      AND embedder = %(embedder)s AND embedding IS NOT NULL
    ORDER BY distance, id LIMIT %(limit)s
) AS nearest ORDER BY distance, id
"""
_BY_WORDS = f"""
SELECT {_FOUND}, ts_rank(words, %(words)s::tsquery, 1) AS score {_AMONG}
  AND words @@ %(words)s::tsquery
ORDER BY score DESC, id LIMIT %(limit)s
"""


@dataclass(frozen=True, slots=True)
class Found:
    """A table or a column that a search found; the nearer, the higher its score."""

    datasource_name: str
    schema_name: str
    table_name: str
    column_name: str
    dtype: str
    description: str
    score: float


def search(
    question: str,
    *,
    datasource_name: str | None = None,
    columns: bool | None = None,
    limit: int = 20,
) -> list[Found]:
    """The tables and columns nearest to a question, nearest first; only such as are near at all."""
    asked = " ".join([question[:LONGEST_QUESTION], *_synonyms(question, datasource_name)])
    given: dict[str, Any] = {
        "tenant": current_tenant_id(), "source": datasource_name, "columns": columns,
        "limit": limit,
    }  # fmt: skip
    statement = _asking_vectors(asked, given) if vectors.are_here() else _asking_words(asked, given)
    with connection.cursor() as cursor:
        cursor.execute(statement, given)
        return [Found(*row) for row in cursor.fetchall() if row[-1] > 0]


def _asking_vectors(asked: str, given: dict[str, Any]) -> str:
    (vector,) = embedder().embed([asked])
    literal = vectors.literal(vector, embedder().dimensions)
    given |= {"vector": literal, "embedder": embedder().name}
    return _BY_VECTOR


def _asking_words(asked: str, given: dict[str, Any]) -> str:
    # Quoted: pieces of words carry marks that mean something in a tsquery.
    given["words"] = " | ".join(f"'{gram}'" for gram in sorted(grams([asked])))
    return _BY_WORDS


def _synonyms(question: str, datasource_name: str | None) -> list[str]:
    """What the glossary calls the same as something in the question."""
    asked, found = question.casefold(), []
    for term in metadata.glossary(datasource_name or None):
        words = (term.term, *term.synonyms)
        if any(word.casefold() in asked for word in words):
            found += [word for word in words if word.casefold() not in asked]
    return list(dict.fromkeys(found))[:20]


def queries() -> QuerySet[CachedQuery]:
    return CachedQuery.objects.all()
