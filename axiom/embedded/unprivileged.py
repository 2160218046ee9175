"""PostgreSQL refuses to run as root, so as root it runs as `nobody`."""

import os
import pwd
import stat
from pathlib import Path

ACCOUNT = "nobody"


def is_root() -> bool:
    return os.geteuid() == 0


def popen_user() -> dict[str, object]:
    """Arguments that make subprocess drop root; none when we are not root."""
    if not is_root():
        return {}
    account = pwd.getpwnam(ACCOUNT)
    return {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []}


def hand_over(directory: Path) -> None:
    """Give a directory to the unprivileged account and let it walk there."""
    if not is_root():
        return
    account = pwd.getpwnam(ACCOUNT)
    os.chown(directory, account.pw_uid, account.pw_gid)
    let_walk_to(directory)


def let_walk_to(path: Path) -> None:
    """Allow everybody to pass through (not to list) the parents of a path."""
    if not is_root():
        return
    for parent in path.resolve().parents:
        mode = parent.stat().st_mode
        if not mode & stat.S_IXOTH:
            parent.chmod(mode | stat.S_IXOTH)
