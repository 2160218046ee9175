"""What people are told when a query is refused."""

from axiom.errors import AxiomError


class QueryRefused(AxiomError):
    """This is not one SELECT statement that can be read."""

    code, status = "query_refused", 400


class IndexAway(AxiomError):
    """The embedder that the index was made with cannot be reached."""

    code, status = "embedder_unavailable", 503
