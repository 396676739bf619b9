"""Models that this machine offers already: OpenAI-compatible servers on usual ports, checkpoints in the hub's cache.

Nothing is loaded and nothing is sent but `GET /v1/models` to this machine itself.
"""

from __future__ import annotations

import json
import os
import re
import urllib.request
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from msgspec import Struct

PORTS: Mapping[int, str] = {
    8000: "vLLM",
    8080: "llama.cpp",
    11434: "Ollama",
    1234: "LM Studio",
    30000: "SGLang",
}
_PATIENCE = 0.5
_MOST_BYTES = 10 * 2**30
"""Weights of a small model: more take long to load for a first try."""
_SEES = re.compile(
    r"vl\b|vl[-_:.\d]|vision|llava|pixtral|internvl|minicpm-?v|moondream|gemma-?[34]|smolvlm|paligemma|molmo|mllama",
    re.I,
)


class FoundModel(Struct, frozen=True):
    """A model that can be named in the next command."""

    where: str
    """For people: "vLLM on port 8000"."""
    arguments: tuple[str, ...]
    """What `vivant run` needs to ask it."""


def find_local_models(ports: Mapping[int, str] = PORTS) -> list[FoundModel]:
    """Models on servers of this machine first, then small ones in the hub's cache."""
    with ThreadPoolExecutor(len(ports)) as pool:
        models = list(pool.map(lambda item: _ask_server(*item), ports.items()))
    return [model for model in models if model is not None] + _find_cached_models()


def _ask_server(port: int, usual: str) -> FoundModel | None:
    base = f"http://127.0.0.1:{port}/v1"
    # A proxy that the environment names must not be asked for this machine.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(f"{base}/models", timeout=_PATIENCE) as answer:
            content = json.loads(answer.read(1 << 20))
        names = [str(entry["id"]) for entry in content["data"]]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    # Servers list models for text alone too; a name that says it sees goes first.
    name = next((name for name in names if _SEES.search(name)), names[0] if names else "")
    if not name:
        return None
    return FoundModel(f"a server on port {port} (usually {usual})", ("openai/" + name, "--base-url", base))


def _find_cached_models() -> list[FoundModel]:
    if find_spec("torch") is None or find_spec("transformers") is None:
        return []
    hub = os.environ.get("HF_HUB_CACHE") or f"{os.environ.get('HF_HOME') or '~/.cache/huggingface'}/hub"
    models = []
    for config in sorted(Path(hub).expanduser().glob("models--*/snapshots/*/config.json")):
        weights = list(config.parent.glob("*.safetensors"))
        size = sum(file.stat().st_size for file in weights)
        if not weights or size > _MOST_BYTES or not _takes_pictures(config):
            continue
        name = config.parents[2].name.removeprefix("models--").replace("--", "/")
        models.append(FoundModel("in the hub's cache", (f"transformers/{name}",)))
    return models


def _takes_pictures(config: Path) -> bool:
    try:
        values: Any = json.loads(config.read_bytes())
    except (OSError, ValueError):
        return False
    # CLIP and its like have towers for pictures too, but write nothing.
    architectures = values.get("architectures") or [] if isinstance(values, dict) else []
    return "vision_config" in values and any("Generation" in str(name) for name in architectures)
