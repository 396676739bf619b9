"""Any Vivant backend as an lmms-eval model: `lmms-eval --model vivant --model_args model=openai/NAME --tasks …`.

lmms-eval finds this module by the entry point `vivant` of the group `lmms_eval.models`.
"""

from __future__ import annotations

import asyncio
from typing import Any

from lmms_eval.api.instance import GenerationResult, TokenCounts
from lmms_eval.api.model import lmms
from lmms_eval.models.registry_v2 import ModelManifest

from vivant.bridges.backend_client import BackendClient
from vivant.bridges.lmms_media import MediaFolder
from vivant.core.errors import UsageError
from vivant.core.types import Decoding, Image, Message, Part, Reply

_PATH = "vivant.bridges.lmms_model.VivantModel"


def list_manifests() -> list[ModelManifest]:
    """What lmms-eval registers."""
    return [ModelManifest(model_id="vivant", chat_class_path=_PATH)]


class VivantModel(lmms):  # type: ignore[misc]
    """Sends lmms-eval's conversations to a backend, many at a time."""

    is_simple = False

    def __init__(
        self,
        model: str = "",
        base_url: str | None = None,
        concurrency: int | str = 16,
        batch_size: int | str = 1,  # noqa: ARG002 (lmms-eval passes it to every model)
        **options: Any,
    ) -> None:
        """Create the backend; nothing is sent.

        Args:
            model: The model as `vivant run --model` takes it, e.g. `openai/NAME`.
            base_url: The server's address, where the backend takes one.
            concurrency: How many requests are under way at once.
            batch_size: Without effect: the backend decides.
            options: Frames of videos (`frames`, `fps`, `max_frames`, `longest_side`); others are model options.
        """
        super().__init__()
        self._concurrency = int(concurrency)
        ignored = ("device", "max_batch_size")
        values = {name: value for name, value in options.items() if name not in ignored and value is not None}
        for name in ("frames", "max_frames", "longest_side"):
            if name in values:
                values[name] = int(values[name])
        self._client = BackendClient(model, base_url, **values)

    def generate_until(self, requests: list[Any]) -> list[GenerationResult]:
        """Answer all requests; a failure ends the evaluation, and is never an answer."""
        return asyncio.run(self._answer(requests))

    async def _answer(self, requests: list[Any]) -> list[GenerationResult]:
        places = asyncio.Semaphore(self._concurrency)

        async def answer(request: Any) -> GenerationResult:
            async with places:
                _, doc_to_messages, options, doc_id, task, split = request.args
                doc = self.task_dict[task][split][doc_id]
                messages = [self._read(message) for message in doc_to_messages(doc)]
                reply = await self._client.ask(messages, _read_decoding(options))
                return _make_result(reply, f"{task}, row {doc_id}")

        try:
            return list(await asyncio.gather(*map(answer, requests)))
        finally:
            await self._client.close()

    def _read(self, message: Any) -> Message:
        reader = _ClientMedia(self._client)
        return reader.read_messages([message])[0]

    def loglikelihood(self, requests: list[Any]) -> list[tuple[float, bool]]:  # noqa: ARG002
        """Not offered."""
        raise UsageError("Vivant's backends generate text; choose a task of the type generate_until")

    def generate_until_multi_round(self, requests: list[Any]) -> list[str]:  # noqa: ARG002
        """Not offered."""
        raise UsageError("Vivant's backends answer once; choose a task of the type generate_until")


class _ClientMedia(MediaFolder):
    """Media in memory go to the client's folder, files stay where they are."""

    def __init__(self, client: BackendClient) -> None:
        self._client = client

    def read_visual(self, visual: Any) -> Part:
        from PIL import Image as Pillow

        if isinstance(visual, Pillow.Image):
            return Image(self._client.store_picture(visual))
        return super().read_visual(visual)

    def _name_file(self, path: str) -> str:
        return self._client.locate(path)

    def _write(self, data: bytes, ending: str) -> str:
        return self._client.store_media(data, ending)


def _read_decoding(options: dict[str, Any]) -> Decoding:
    """A task's generation settings. lmms-eval's own API models leave `until` out, and so does this one."""
    temperature = options.get("temperature")
    return Decoding(
        max_tokens=options.get("max_new_tokens"),
        temperature=0.0 if temperature is None or options.get("do_sample") is False else float(temperature),
        top_p=options.get("top_p") if temperature else None,
    )


def _make_result(reply: Reply, where: str) -> GenerationResult:
    if reply.status in ("error", "refused", "too_long"):
        raise RuntimeError(f"{where}: {reply.status}: {reply.error}")
    counts = TokenCounts(
        input_tokens=reply.tokens_in, output_tokens=reply.tokens_out, reasoning_tokens=reply.tokens_thinking
    )
    return GenerationResult(text=reply.text, token_counts=counts)
