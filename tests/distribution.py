"""Which tests share a worker when several run at once."""

from xdist.scheduler import LoadScopeScheduling

# One installation or one pair of servers per file: another worker would have to start its own.
FILES_THAT_STAY_TOGETHER = ("tests/run/", "tests/faults/")


class Scheduling(LoadScopeScheduling):
    """Every test goes where there is time, except those whose file stays together.

    A scheduler of ours because pytest-xdist 3.8 overlooks `xdist_group` under pytest 9.2.
    """

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.split("::")[0]
        return file if file.startswith(FILES_THAT_STAY_TOGETHER) else nodeid
