"""Any Vivant backend as an Inspect model: `inspect eval TASK --model vivant/openai/NAME`.

Inspect finds this module by the entry point `vivant` of the group `inspect_ai`.
"""

from __future__ import annotations

import base64
from typing import Any

from inspect_ai.model import (
    ChatCompletionChoice,
    ChatMessage,
    ChatMessageAssistant,
    Content,
    ContentReasoning,
    ContentText,
    GenerateConfig,
    ModelAPI,
    ModelOutput,
    ModelUsage,
    StopReason,
    modelapi,
)
from inspect_ai.tool import ToolChoice, ToolInfo

from vivant.bridges.backend_client import BackendClient
from vivant.core.errors import MediaError, UsageError
from vivant.core.types import Audio, Decoding, Image, Message, Part, Reply, Role, Text, Video

_STOPS: dict[str, StopReason] = {
    "ok": "stop",
    "truncated": "max_tokens",
    "refused": "content_filter",
    "too_long": "model_length",
}
_ROLES: dict[str, Role] = {"system": "system", "user": "user", "assistant": "assistant"}


@modelapi(name="vivant")  # type: ignore[untyped-decorator]
def vivant() -> type[ModelAPI]:
    """Register the backends of Vivant."""
    return VivantApi


class VivantApi(ModelAPI):  # type: ignore[misc]
    """Sends Inspect's conversations to a backend. Model arguments (`-M NAME=VALUE`) are the backend's options."""

    def __init__(
        self,
        model_name: str,
        base_url: str | None = None,
        api_key: str | None = None,
        config: GenerateConfig = GenerateConfig(),  # noqa: B008 (Inspect's own signature)
        **model_args: Any,
    ) -> None:
        super().__init__(model_name, base_url, api_key, [], config)
        if api_key is not None:
            raise UsageError("Vivant's backends take keys from the environment; leave out the key")
        spec = model_name.removeprefix("vivant/")
        self._client = BackendClient(spec, base_url, **model_args)

    async def generate(
        self,
        input: list[ChatMessage],  # noqa: A002 (Inspect's own signature)
        tools: list[ToolInfo],
        tool_choice: ToolChoice,  # noqa: ARG002
        config: GenerateConfig,
    ) -> ModelOutput:
        """Answer a conversation. Backends of Vivant take no tools, so a task that needs some is refused."""
        if tools:
            raise UsageError(
                f"{self.model_name}: Vivant's backends take no tools; this task needs {tools[0].name}"
            )
        messages = [Message(_role(message), self._read_content(message.content)) for message in input]
        decoding = Decoding(
            max_tokens=config.max_tokens,
            temperature=config.temperature,
            top_p=config.top_p,
            seed=config.seed,
            stop=tuple(config.stop_seqs or ()),
        )
        return _make_output(await self._client.ask(messages, decoding), self.model_name)

    async def aclose(self) -> None:
        """Release the backend."""
        await self._client.close()

    def connection_key(self) -> str:
        """Requests to one backend share a limit."""
        return f"vivant/{self.model_name}"

    def should_retry(self, ex: BaseException) -> bool:  # noqa: ARG002
        """Never: the client has retried already."""
        return False

    def _read_content(self, content: str | list[Content]) -> tuple[Part, ...]:
        if isinstance(content, str):
            return (Text(content),)
        parts: list[Part] = []
        for piece in content:
            if piece.type == "text":
                parts.append(Text(piece.text))
            elif piece.type == "image":
                parts.append(Image(self._locate(piece.image)))
            elif piece.type == "video":
                parts.append(Video(self._locate(piece.video)))
            elif piece.type == "audio":
                parts.append(Audio(self._locate(piece.audio)))
            elif piece.type != "reasoning":  # what the model thought in an earlier turn is not sent again
                raise UsageError(
                    f"{self.model_name}: Vivant's backends take no content of the type '{piece.type}'"
                )
        return tuple(parts)

    def _locate(self, address: str) -> str:
        """A data address as a file, a path as it is."""
        if address.startswith("data:"):
            head, _, data = address.partition(",")
            ending = head.removeprefix("data:").partition(";")[0].rpartition("/")[2] or "bin"
            return self._client.store_media(base64.b64decode(data), ending)
        if address.startswith(("http:", "https:")):
            raise MediaError(f"{address} is on another machine; download it first, or let the task embed it")
        return self._client.locate(address.removeprefix("file://"))


def _role(message: ChatMessage) -> Role:
    if message.role not in _ROLES:
        raise UsageError(f"Vivant's backends take no messages of the role '{message.role}'")
    return _ROLES[message.role]


def _make_output(reply: Reply, model: str) -> ModelOutput:
    """A reply in Inspect's form. A failure is raised, so that Inspect records an error and not an answer."""
    if reply.status == "error":
        raise RuntimeError(f"{model}: {reply.error}")
    content: str | list[Content] = reply.text
    if reply.thinking:
        content = [ContentReasoning(reasoning=reply.thinking), ContentText(text=reply.text)]
    usage = None
    if reply.tokens_in is not None or reply.tokens_out is not None:
        tokens = (reply.tokens_in or 0, reply.tokens_out or 0)
        usage = ModelUsage(
            input_tokens=tokens[0],
            output_tokens=tokens[1],
            total_tokens=sum(tokens),
            reasoning_tokens=reply.tokens_thinking,
        )
    message = ChatMessageAssistant(content=content, source="generate", model=model)
    choice = ChatCompletionChoice(message=message, stop_reason=_STOPS.get(reply.status, "unknown"))
    return ModelOutput(model=reply.model or model, choices=[choice], usage=usage)
