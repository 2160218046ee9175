"""Where a database is and how to come in."""

from dataclasses import dataclass, field
from pathlib import Path

from django.conf import settings

from apps.metadata import credentials
from apps.metadata.errors import FileOutside
from apps.metadata.models import DataSource


@dataclass(frozen=True, slots=True)
class Address:
    """What it takes to connect. The password is never part of a text about it."""

    engine: str
    database: str
    host: str = ""
    port: int | None = None
    username: str = ""
    password: str = field(default="", repr=False)
    ssl_mode: str = ""
    schemas: tuple[str, ...] = ()

    @classmethod
    def of(cls, datasource: DataSource) -> "Address":
        return cls(
            datasource.engine, datasource.database, datasource.host, datasource.port,
            datasource.username, credentials.unseal(datasource.sealed_password),
            datasource.ssl_mode, tuple(datasource.schemas),
        )  # fmt: skip

    def without_secret(self, text: object) -> str:
        """The first line of what a driver says, without the password, should it be in there."""
        line = next(iter(str(text).strip().splitlines()), "")
        return (line.replace(self.password, "***") if self.password else line)[:300]

    @property
    def file(self) -> Path:
        """The file of SQLite. Others than those in our directory are nobody's business."""
        home = Path(settings.METADATA_FILES_DIR).resolve()
        path = (home / self.database).resolve()
        if not path.is_relative_to(home):
            raise FileOutside
        return path
