"""Joining a Ray cluster, or starting one on this machine."""

from __future__ import annotations

import logging
import os
import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from vivant.core.errors import UsageError

_CONNECT_SECONDS = 10.0


def connect(address: str | None) -> bool:
    """Join the cluster at an address (or `RAY_ADDRESS`), or start one here; whether that was for us to end."""
    import ray

    if ray.is_initialized():
        return False
    address = address or os.environ.get("RAY_ADDRESS")
    if address:
        _check_port_open(address)
    else:
        # One worker process is enough here, and Ray starts it when it is wanted; no news goes anywhere.
        os.environ.setdefault("RAY_prestart_worker_first_driver", "0")
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        with _keep_signal_handlers():
            ray.init(
                address=address or "local",  # without a word, Ray joins whatever cluster this machine has
                log_to_driver=False,
                logging_level=logging.ERROR,
                **({} if address else {"include_dashboard": False}),
            )
    except Exception as error:  # Ray raises plain ones too, when a node takes too long to start
        line = " ".join(str(error).split())[:200]
        if not address:
            raise UsageError(
                f"Ray does not start on this machine: {line}. Try again when the machine is less busy, or leave out "
                "--executor ray"
            ) from error
        hint = " (one that asks for a token needs the same RAY_AUTH_TOKEN here)"
        raise UsageError(f"No Ray cluster at '{address}': {line}{hint}") from error
    return True


def _check_port_open(address: str) -> None:
    """Ray itself would try for minutes where nobody answers."""
    host, colon, port = address.rpartition(":")
    if "/" in address or not colon or not port.isdecimal():
        return
    try:
        socket.create_connection((host.strip("[]"), int(port)), _CONNECT_SECONDS).close()
    except OSError as error:
        raise UsageError(f"No Ray cluster at '{address}': {error.strerror or error}") from error


@contextmanager
def _keep_signal_handlers() -> Iterator[None]:
    """Ray takes SIGTERM for itself when it starts; a run ends in its own way."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def environment_to_share() -> dict[str, str]:
    """What a node may need to know from this process's environment; its own settings win."""
    return {
        name: value
        for name, value in os.environ.items()
        if name.endswith("_API_KEY") or name.startswith("VIVANT_") or name in ("HF_TOKEN", "OPENAI_BASE_URL")
    }
