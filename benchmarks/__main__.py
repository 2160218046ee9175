"""`python -m benchmarks [name ...]`: one JSON line per figure."""

import argparse
from collections.abc import Iterator, Sequence

from . import servers
from .figure import BENCHES, Figure, Size


def main() -> None:
    arguments = _arguments()
    servers.start()
    try:
        figures = []
        for figure in run(arguments.names, Size(arguments.scale)):
            print(figure.line(), flush=True)
            figures.append(figure)
    finally:
        servers.stop()


def run(names: Sequence[str], size: Size) -> Iterator[Figure]:
    """Run these benchmarks, or all of them."""
    from . import relaying  # noqa: F401  (after Django is ready)

    for name in names or BENCHES:
        yield from BENCHES[name](size)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="name", help="which ones; all by default")
    parser.add_argument("--scale", type=float, default=1.0, help="how much of the full size to do")
    return parser.parse_args()


if __name__ == "__main__":
    main()
