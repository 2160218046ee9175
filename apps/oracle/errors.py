"""What people are told when a query is refused."""

from axiom.errors import AxiomError


class QueryRefused(AxiomError):
    """This is not one SELECT statement that can be read."""

    code, status = "query_refused", 400
