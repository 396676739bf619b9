"""A study's server in a process of its own, which a test kills and starts again."""

from __future__ import annotations

import multiprocessing
import socket
import time
import urllib.request
from pathlib import Path
from typing import Any

from tests.support.study_web import TOKEN

_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(
    ["tests.support.study_process", "vivant_study.server.serve", "vivant_study.server.app", "uvicorn", "av"]
)


def run(folder: str, database: str | None, port: int, options: dict[str, Any]) -> None:
    """Serve until killed. The option `open_files` limits how many files the process may open."""
    from vivant_study.server.serve import serve

    open_files = options.pop("open_files", None)
    if open_files is not None:
        import resource

        resource.setrlimit(resource.RLIMIT_NOFILE, (open_files, open_files))
    serve(Path(folder), database=database, port=port, **options)


class StudyProcess:
    """The server of one study. Its address stays the same over all its lives."""

    def __init__(self, folder: Path, database: str | None = None, **options: Any) -> None:
        (folder / "admin.token").write_text(TOKEN)
        self._given = (str(folder), database)
        self._options = options
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = int(probe.getsockname()[1])
        self.address = f"http://127.0.0.1:{self.port}"
        self._process: Any = None

    def __enter__(self) -> StudyProcess:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def start(self) -> None:
        """Start, and wait until it answers."""
        self._process = _CONTEXT.Process(
            target=run, args=(*self._given, self.port, self._options), daemon=True
        )
        self._process.start()
        while True:
            try:
                with urllib.request.urlopen(f"{self.address}/static/icon.svg", timeout=600):
                    return
            except OSError:  # refused or reset
                if not self._process.is_alive():
                    raise
                time.sleep(0.05)

    def kill(self) -> None:
        """As `kill -9` does."""
        self._process.kill()
        self._process.join()

    @property
    def pid(self) -> int:
        """The process that serves."""
        return int(self._process.pid)
