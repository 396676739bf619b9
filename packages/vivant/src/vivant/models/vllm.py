"""vLLM: a server of one's own for the run, started and stopped with it, or one that is running already."""

from __future__ import annotations

import asyncio
import shlex
import socket
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from shutil import which
from typing import Any

import msgspec

from vivant.core.errors import UsageError
from vivant.core.types import Reply, Request
from vivant.models.base import Model, ModelError, ModelOptions, TransientError, parse_bool, parse_positive
from vivant.models.local_model import hash_checkpoint
from vivant.models.model_table import find_server
from vivant.models.openai import OpenAI
from vivant.models.server_errors import RequestRefusedError

_SERVER_OPTIONS = {"executable": "vllm", "args": "", "start_timeout": 1800, "trust_remote_code": False}


class VLLMModel(OpenAI):
    """With an address, it is talked to as any server; without, it is started on loopback first."""

    def __init__(self, model: str, options: ModelOptions) -> None:
        server_options = {
            **_SERVER_OPTIONS,
            **{name: value for name, value in options.values.items() if name in _SERVER_OPTIONS},
        }
        model_values = {name: value for name, value in options.values.items() if name not in _SERVER_OPTIONS}
        facts = find_server("", "vllm")
        self._is_running_already = options.base_url is not None
        self.is_local = not self._is_running_already
        if not self._is_running_already:
            facts = msgspec.structs.replace(facts, key="")  # nobody's key goes to a server of our own
            program = which(str(server_options["executable"]))
            if program is None:
                raise UsageError(
                    f"No program '{server_options['executable']}' here: pip install 'vivant[vllm]', name it with "
                    "--model-option executable=PATH, or give the address of a running server with --base-url"
                )
            self._command = [program, "serve", model, "--host", "127.0.0.1"]
            if parse_bool("trust_remote_code", server_options["trust_remote_code"]):
                self._command.append("--trust-remote-code")
            self._command += shlex.split(str(server_options["args"]))
        address = options.base_url or "http://127.0.0.1/v1"
        super().__init__(
            model, msgspec.structs.replace(options, base_url=address, values=model_values), facts=facts
        )
        self.name = f"vllm/{model}"
        self._args = str(server_options["args"])
        self._digest = "" if self._is_running_already else hash_checkpoint(model)
        self._start_timeout = parse_positive("start_timeout", server_options["start_timeout"])
        self._process: asyncio.subprocess.Process | None = None
        self._log: Path | None = None

    @property
    def identity(self) -> Mapping[str, Any]:
        stated = {"args": self._args, "checkpoint": self._digest}
        return {**super().identity, **{name: value for name, value in stated.items() if value}}

    @property
    def server(self) -> str:
        # The port is another each time; what answers is not.
        return super().server if self._is_running_already else "vllm, started for the run"

    async def open(self) -> None:
        if not self._is_running_already:
            await self._start()
        await super().open()
        if not self._is_running_already:
            try:
                await self._wait_until_ready()
                await self.check_version()
            except BaseException:
                await self.close()
                raise

    async def _start(self) -> None:
        port = find_free_port()
        with tempfile.NamedTemporaryFile(prefix="vivant-vllm-", suffix=".log", delete=False) as log:
            self._log = Path(log.name)
            self._process = await asyncio.create_subprocess_exec(
                *(
                    sys.executable,
                    "-P",
                    "-m",
                    "vivant.models.supervised_process",
                    *self._command,
                    "--port",
                    str(port),
                ),
                stdin=asyncio.subprocess.PIPE,
                stdout=log,
                stderr=log,
                start_new_session=True,  # Ctrl-C is for the run, which then stops the server
            )
        self.client.base_url = f"http://127.0.0.1:{port}/v1"

    async def _wait_until_ready(self) -> None:
        """Wait until the model is loaded."""
        assert self._process is not None
        until = time.monotonic() + self._start_timeout
        while time.monotonic() < until:
            if self._process.returncode is not None:
                raise ModelError(f"{self.name}: the server ended while starting: {self._last_log_line()}")
            try:
                await self.client.call("GET", "//health")
                return
            except (TransientError, ModelError, RequestRefusedError):
                await asyncio.sleep(0.25)
        raise ModelError(
            f"{self.name}: the server is not ready after {self._start_timeout} s; see {self._log}"
        )

    async def ask(self, request: Request) -> Reply:
        try:
            return await super().ask(request)
        except TransientError:
            if self._process is not None and self._process.returncode is not None:
                raise ModelError(f"{self.name}: the server died: {self._last_log_line()}") from None
            raise

    def _last_log_line(self) -> str:
        assert self._log is not None
        lines = self._log.read_text("utf-8", "replace").splitlines()
        last = next((line.strip() for line in reversed(lines) if line.strip()), "it said nothing")
        return f"{last[:200]} (all of it: {self._log})"

    async def close(self) -> None:
        await super().close()
        if self._process is None:
            return
        died = self._process.returncode is not None
        if self._process.stdin is not None:
            self._process.stdin.close()
        await self._process.wait()
        if self._log is not None and not died:
            self._log.unlink(missing_ok=True)
        self._process = None


def find_free_port() -> int:
    """A port on loopback that nobody uses."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def create(name: str, options: ModelOptions) -> Model:
    """`--model vllm/ID`, with `--base-url` to attach."""
    if not name:
        raise UsageError("Name the model: vllm/ID, e.g. vllm/Qwen/Qwen2.5-VL-7B-Instruct")
    return VLLMModel(name, options)
