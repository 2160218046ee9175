"""What people are told when the catalog, or a database it reads, does not allow what they want."""

from axiom.errors import AxiomError


class SourceFailed(AxiomError):
    """The database could not be read; nothing of the catalog was changed."""

    # Not 5xx: Axiom is well, it is the source's address or its server that is not.
    code, status = "source_failed", 409


class SourceUnreachable(SourceFailed):
    """The database does not answer: look at host, port and network."""

    code, status = "source_unreachable", 409


class SourceRefused(SourceFailed):
    """The database does not let this user in, or not see enough."""

    code, status = "source_refused", 409


class SourceTooSlow(SourceFailed):
    """The database took too long to answer."""

    code, status = "source_too_slow", 409


class SourceDropped(SourceFailed):
    """The connection to the database broke while it was read."""

    code, status = "source_dropped", 409


class ReadIncomplete(SourceFailed):
    """Not all tables could be read."""

    code, status = "read_incomplete", 409


class ExtractionStopped(AxiomError):
    """Somebody asked this extraction to stop."""

    code, status = "extraction_stopped", 409


class FileOutside(AxiomError):
    """SQLite files are read from the directory of METADATA_FILES_DIR only."""

    code, status = "file_outside", 400


class SecretUnreadable(AxiomError):
    """The stored password was sealed with a key that is gone: enter it again."""

    code, status = "secret_unreadable", 409


class PasswordNeeded(AxiomError):
    """Enter the password again: it is not sent to another server unasked."""

    code, status = "password_needed", 400


class AlreadyRunning(AxiomError):
    """This data source is being read already."""

    code, status = "already_running", 409


class SourceInactive(AxiomError):
    """This data source is not active."""

    code, status = "source_inactive", 409


class NotHeld(AxiomError):
    """Only a run that is held can be approved or rejected."""

    code, status = "run_not_held", 409


class NotOpen(AxiomError):
    """This run is over already."""

    code, status = "run_not_open", 409


class NoGenerator(AxiomError):
    """No generator of descriptions is configured: set METADATA_GENERATOR_URL."""

    code, status = "no_generator", 409


class GeneratorFailed(AxiomError):
    """The generator of descriptions did not answer as it should."""

    code, status = "generator_failed", 409


class NoSuchColumn(AxiomError):
    """There is no such table or column in this data source."""

    code, status = "no_such_column", 400


class SnapshotElsewhere(AxiomError):
    """These snapshots are of different data sources."""

    code, status = "snapshot_elsewhere", 400
