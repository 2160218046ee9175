"""What people are told when a cube is refused."""

from axiom.errors import AxiomError


class SchemaRefused(AxiomError):
    """This Mondrian schema cannot be imported."""

    code, status = "mondrian_schema_refused", 400
