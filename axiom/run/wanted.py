"""What the environment asks of a run, checked before anything starts."""

from dataclasses import dataclass
from pathlib import Path

from axiom import startup


@dataclass(frozen=True)
class Wanted:
    """Where to run, and which servers to use; an empty URL means an embedded one."""

    directory: Path
    port: int
    database_url: str
    redis_url: str
    production: bool

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"


def read_environment() -> Wanted:
    env = startup.Environment()
    wanted = Wanted(
        directory=startup.make_directory(startup.directory(env)),
        port=startup.port(env),
        database_url=startup.given_database_url(env),
        redis_url=startup.given_redis_url(env),
        production=startup.boolean(env, "AXIOM_PRODUCTION", default=False),
    )
    # Made here, once, or missed here: the processes to come would each do so on their own.
    startup.secret_key(env, wanted.directory, wanted.production)
    return wanted
