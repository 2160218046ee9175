"""Every other engine, by SQLAlchemy's Inspector: a few calls for each schema."""

import contextlib
from collections.abc import Iterator
from typing import Any

import orjson
import sqlalchemy as sa
from django.conf import settings
from sqlalchemy import exc
from sqlalchemy.engine.reflection import ObjectKind

from apps.metadata.errors import (
    SourceDropped,
    SourceFailed,
    SourceRefused,
    SourceTooSlow,
    SourceUnreachable,
)
from apps.metadata.introspection.address import Address
from apps.metadata.introspection.progress import Progress, Watcher, unwatched
from apps.metadata.models import Engine
from apps.metadata.structure import BASE_TABLE, Extraction, Reading

_SYSTEM = {"information_schema", "mysql", "performance_schema", "sys", "temp"}
_DENIED = {1044, 1045, 1142, 1143, 1227}
"""What MySQL and MariaDB answer to who may not."""


def read(address: Address, watcher: Watcher = unwatched) -> Extraction:
    """Every table, view and column of the database."""
    watcher(Progress("connecting"))
    with _inspected(address) as inspector:
        seen = inspector.get_schema_names()
        wanted = [name for name in seen if _is_wanted(name, address)]
        readings: list[Reading] = []
        for place, schema in enumerate(wanted, 1):
            readings += _tables_of(inspector, schema)
            watcher(Progress("reading", place, len(wanted)))
        missing = tuple(sorted(set(address.schemas) - set(seen)))
        return Extraction(address.engine, tuple(readings), missing_schemas=missing)


def try_connection(address: Address) -> str:
    """Which engine, and its version."""
    with _inspected(address) as inspector:
        version = inspector.dialect.server_version_info or ()
        return f"{inspector.dialect.name} {'.'.join(map(str, version))}"


def _is_wanted(schema: str, address: Address) -> bool:
    return schema in address.schemas if address.schemas else schema.lower() not in _SYSTEM


def _tables_of(inspector: Any, schema: str) -> list[Reading]:
    every = {"schema": schema, "kind": ObjectKind.ANY}
    keys = inspector.get_multi_pk_constraint(**every)
    links = _links(inspector, every)
    indexes, comments = inspector.get_multi_indexes(**every), _comments(inspector, every)
    definitions = {
        (schema, name): inspector.get_view_definition(name, schema) or ""
        for name in inspector.get_view_names(schema)
    }
    return [
        Reading(
            schema=schema,
            name=key[1],
            kind="VIEW" if key in definitions else BASE_TABLE,
            columns=_columns(inspector, columns),
            keys=_keys(keys.get(key) or {}, links.get(key) or [], schema),
            indexes=_indexes(indexes.get(key) or []),
            comment=(comments.get(key) or {}).get("text") or "",
            definition=definitions.get(key, ""),
        )
        for key, columns in sorted(inspector.get_multi_columns(**every).items())
    ]


def _links(inspector: Any, every: dict[str, Any]) -> dict[Any, list[Any]]:
    """Foreign keys of every table; of SQLite with what it does to them, which the others tell."""
    found: dict[Any, list[Any]] = inspector.get_multi_foreign_keys(**every)
    if inspector.dialect.name == Engine.SQLITE:
        for (schema, table), links in found.items():
            actions = _actions(inspector, schema, table) if links else {}
            for link in links:
                first = link["constrained_columns"][0], link["referred_table"]
                link["options"] = actions.get(first, {})
    return found


def _actions(inspector: Any, schema: str, table: str) -> dict[tuple[str, str], dict[str, str]]:
    """What SQLAlchemy finds of these only where a key is written below the columns."""
    quote = inspector.dialect.identifier_preparer.quote_identifier
    pragma = f"PRAGMA {quote(schema)}.foreign_key_list({quote(table)})"
    return {
        (row[3], row[2]): {
            name: action
            for name, action in (("onupdate", row[5]), ("ondelete", row[6]))
            if action != "NO ACTION"
        }
        for row in inspector.bind.exec_driver_sql(pragma)
    }


def _comments(inspector: Any, every: dict[str, Any]) -> Any:
    if not inspector.dialect.supports_comments:
        return {}
    return inspector.get_multi_table_comment(**every)


def _columns(inspector: Any, columns: list[Any]) -> str:
    return _text(
        [None, each["name"], _type(inspector, each["type"]), bool(each["nullable"]),
         each.get("default"), each.get("comment")]
        for each in columns
    )  # fmt: skip


def _type(inspector: Any, kind: Any) -> str:
    try:
        return str(kind.compile(inspector.dialect))
    except exc.CompileError:  # A column without a type, which SQLite allows.
        return ""


def _keys(primary: dict[str, Any], links: list[Any], schema: str) -> str:
    columns = primary.get("constrained_columns") or []
    found: list[Any] = [["p", columns]] if columns else []
    for each in sorted(links, key=_name_of):
        options = each.get("options") or {}
        found.append(
            ["f", each["constrained_columns"], _name_of(each), each["referred_schema"] or schema,
             each["referred_table"], each["referred_columns"], options.get("onupdate", ""),
             options.get("ondelete", "")]
        )  # fmt: skip
    return _text(found)


def _name_of(link: Any) -> str:
    """SQLite's foreign keys have no name unless somebody gave them one."""
    return link.get("name") or f"{'_'.join(link['constrained_columns'])}_fkey"


def _indexes(indexes: list[Any]) -> str:
    return _text(
        [each["name"], each.get("expressions") or each["column_names"], bool(each["unique"]),
         "", ""]
        for each in sorted(indexes, key=lambda each: each["name"] or "")
    )  # fmt: skip


def _text(rows: Any) -> str:
    return orjson.dumps(list(rows), default=str).decode()


@contextlib.contextmanager
def _inspected(address: Address) -> Iterator[Any]:
    engine = sa.create_engine(
        _url(address), poolclass=sa.NullPool, connect_args=_arguments(address)
    )
    try:
        with _telling(address), engine.connect() as connection:
            yield sa.inspect(connection)
    finally:
        engine.dispose()


def _url(address: Address) -> sa.URL:
    if address.engine == Engine.SQLITE:
        # As a URI: otherwise a file's name could carry settings of its own.
        query = {"mode": "ro", "uri": "true"}
        return sa.URL.create("sqlite", database=address.file.as_uri(), query=query)
    return sa.URL.create(
        f"{address.engine}+pymysql", address.username, address.password,
        address.host or "localhost", address.port or 3306, address.database,
    )  # fmt: skip


def _arguments(address: Address) -> dict[str, Any]:
    if address.engine == Engine.SQLITE:
        return {"timeout": settings.METADATA_CONNECT_SECONDS}
    seconds = settings.METADATA_STATEMENT_SECONDS
    tls: dict[str, Any] = {"ssl": {}} if address.ssl_mode in {"require", "verify-full"} else {}
    return {
        "connect_timeout": int(settings.METADATA_CONNECT_SECONDS), "read_timeout": seconds,
        "write_timeout": seconds, **tls,
    }  # fmt: skip


@contextlib.contextmanager
def _telling(address: Address) -> Iterator[None]:
    try:
        yield
    except exc.DBAPIError as error:
        kind = _kind_of(error)
        said = address.without_secret(error.orig)
        raise kind(f"{kind.sentence()} {said}") from None
    except (OSError, ValueError) as error:  # A host that is no name of a host, for one.
        raise SourceUnreachable(
            f"{SourceUnreachable.sentence()} {address.without_secret(error)}"
        ) from None
    except exc.SQLAlchemyError as error:
        raise SourceFailed(f"{SourceFailed.sentence()} {address.without_secret(error)}") from None


def _kind_of(error: exc.DBAPIError) -> type[SourceFailed]:
    number = next(iter(getattr(error.orig, "args", ())), None)
    if number in _DENIED:
        return SourceRefused
    if "timed out" in str(error.orig) and number == 2013:
        return SourceTooSlow
    if error.connection_invalidated or number == 2013:
        return SourceDropped
    unreachable = number == 2003 or "unable to open" in str(error.orig)
    return SourceUnreachable if unreachable else SourceFailed
