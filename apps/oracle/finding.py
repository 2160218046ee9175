"""Tells who searches the catalog which tables and columns are meant."""

from collections.abc import Iterator

from apps.metadata.selectors import finding
from apps.oracle import selectors


@finding.by_meaning
def nearest(question: str, datasource_name: str | None, limit: int) -> Iterator[finding.Place]:
    for each in selectors.search(question, datasource_name=datasource_name, limit=limit):
        yield finding.Place(
            each.datasource_name, each.schema_name, each.table_name, each.column_name,
            each.dtype, each.description,
        )  # fmt: skip
