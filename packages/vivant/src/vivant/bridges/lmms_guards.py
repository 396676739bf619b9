"""Guards around lmms-eval's code: no network, no chatter, no judge without a key, seeded chance."""

from __future__ import annotations

import os
import random
import re
import socket
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

from vivant.bridges.lmms_index import PACKAGE
from vivant.core.errors import DataError, unknown_name_error

_RANDOM = ("choice", "choices", "randint", "random", "randrange", "sample", "shuffle", "uniform")
_JUDGE_KEYS = (
    "OPENAI_API_KEY",
    "AZURE_API_KEY",
    "AZURE_OPENAI_API_KEY",
    "ANTHROPIC_API_KEY",
    "GOOGLE_API_KEY",
)
VARIABLE = re.compile(r"[A-Z][A-Z0-9_]{2,}")
"""What the names of environment variables look like."""


@contextmanager
def known_columns(where: str, columns: Sequence[str]) -> Iterator[None]:
    """A column that a task asks for and the data do not have is one line with the nearest one."""
    try:
        yield
    except KeyError as error:
        name = str(error.args[0]) if error.args else ""
        if not columns or name in columns or VARIABLE.fullmatch(name):
            raise
        raise DataError(f"{where}: {unknown_name_error('column', name, columns)}") from error


@contextmanager
def offline(*, allowed: bool) -> Iterator[None]:
    """Keep the hub's client and `datasets` from the network, unless the user allows it."""
    if allowed:
        yield
        return
    for name in ("HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE"):
        os.environ.setdefault(name, "1")
    import datasets
    from huggingface_hub import constants

    before = constants.HF_HUB_OFFLINE, datasets.config.HF_HUB_OFFLINE
    constants.HF_HUB_OFFLINE = datasets.config.HF_HUB_OFFLINE = True
    try:
        yield
    finally:
        constants.HF_HUB_OFFLINE, datasets.config.HF_HUB_OFFLINE = before


@contextmanager
def quiet() -> Iterator[None]:
    """Tasks print tables and progress while they work; standard output is for results."""
    import datasets
    from loguru import logger as loguru

    datasets.disable_progress_bars()
    loguru.disable("lmms_eval")
    loguru.disable("utils")
    with redirect_stdout(StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


class JudgeNeededError(BaseException):
    """A task's scoring asks a model on a server. No ordinary exception: tasks catch those and score on."""


@contextmanager
def without_judge() -> Iterator[None]:
    """End scoring that goes to the network without a key: a task would wait, retry, and count a failure as wrong."""
    if any(os.environ.get(name) for name in _JUDGE_KEYS):
        yield
        return
    before = socket.getaddrinfo

    def refuse(*_: Any, **__: Any) -> Any:
        raise JudgeNeededError("it asks a judge of its own; set OPENAI_API_KEY, then score the run again")

    socket.getaddrinfo = refuse
    try:
        yield
    finally:
        socket.getaddrinfo = before


@contextmanager
def counted_random(seed: int, folder: Path) -> Iterator[list[str]]:
    """Seed what draws by chance, and list each draw of lmms-eval's code and of the code in a task's folder."""
    import numpy as np

    used: list[str] = []
    generator = random.Random(seed)
    before = {name: getattr(random, name) for name in _RANDOM}
    state = np.random.get_state()

    def counted(name: str) -> Callable[..., Any]:
        function = getattr(generator, name)

        def draw(*arguments: Any, **options: Any) -> Any:
            file = sys._getframe(1).f_code.co_filename
            if PACKAGE in file or file.startswith(
                str(folder)
            ):  # others draw too: a client that spreads its retries
                used.append(name)
            return function(*arguments, **options)

        return draw

    np.random.seed(seed % 2**32)
    try:
        for name in _RANDOM:
            setattr(random, name, counted(name))
        yield used
    finally:
        for name, function in before.items():
            setattr(random, name, function)
        np.random.set_state(state)
