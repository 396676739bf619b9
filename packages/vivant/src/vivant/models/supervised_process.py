"""Runs a command that must not outlive the process that started this one.

`python -m vivant.models.supervised_process CMD …` is how it is called.

Standard input tells whether the other process is alive: when it ends, because that process closed it or died, the
command and all its children are terminated, and killed where they do not end within `_GRACE` seconds.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from contextlib import suppress

_GRACE = 20.0


def main() -> None:
    """Exit with the command's own code; 127 where it cannot be started."""
    try:
        process = subprocess.Popen(sys.argv[1:], stdin=subprocess.DEVNULL, start_new_session=True)
    except OSError as error:
        print(f"{sys.argv[1]} cannot be started: {error.strerror}", file=sys.stderr)
        os._exit(127)
    threading.Thread(target=_watch_parent, args=(process,), daemon=True).start()
    code = process.wait()
    with suppress(ProcessLookupError):  # children that it left behind
        os.killpg(process.pid, signal.SIGKILL)
    os._exit(code if code >= 0 else 128 - code)


def _watch_parent(process: subprocess.Popen[bytes]) -> None:
    sys.stdin.buffer.read()
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGTERM)
    try:
        process.wait(_GRACE)
    except subprocess.TimeoutExpired:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


if __name__ == "__main__":
    main()
