"""Becomes a program that goes when its parent goes: leash.py PARENT PROGRAM [ARGUMENT ...]

A killed supervisor cannot stop its processes; Linux does it for it. Elsewhere the next start does.
"""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def main(parent: str, *command: str) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != int(parent):
        sys.exit("The supervisor is gone already.")
    os.execv(command[0], command)


if __name__ == "__main__":
    main(*sys.argv[1:])
