"""The servers of a run: embedded ones, or those the environment names."""

from axiom import embedded, startup
from axiom.embedded.state import one_at_a_time

from .wanted import Wanted


class Servers:
    """PostgreSQL and Valkey, each embedded unless its URL is given."""

    def __init__(self, wanted: Wanted) -> None:
        self.wanted = wanted
        postgres, valkey = embedded.servers(wanted.directory)
        given = ((wanted.database_url, postgres), (wanted.redis_url, valkey))
        self.embedded: list[embedded.Server] = [server for url, server in given if not url]

    @property
    def names(self) -> str:
        return " and ".join(server.name for server in self.embedded) or "Your servers"

    def start(self) -> dict[str, str]:
        """Start what is embedded, reach what is given, and say where both are."""
        with one_at_a_time(self.wanted.directory):
            for server in self.embedded:
                server.start()
        here = embedded.read_urls(self.wanted.directory)
        database = self.wanted.database_url or here.database
        redis = self.wanted.redis_url or here.redis
        startup.check_database_answers(database)
        startup.check_redis_answers(redis)
        return {"DATABASE_URL": database, "REDIS_URL": redis}

    def fallen(self) -> str:
        """The names of embedded servers that do not run any more."""
        return " and ".join(server.name for server in self.embedded if server.process() is None)

    def stop(self) -> None:
        """Stop what is embedded, unless `embedded start` said to keep it."""
        if embedded.kept_by_hand(self.wanted.directory).exists():
            return
        with one_at_a_time(self.wanted.directory):
            for server in reversed(self.embedded):
                server.stop()
