"""Which backends there are. A frozen manifest of dotted paths: nothing is imported to be listed."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any

from msgspec import Struct

from vivant.core.errors import UsageError, unknown_name_error
from vivant.models.base import Model, ModelOptions

Factory = Callable[[str, ModelOptions], Model]
"""(what stands after the backend's name, options) → model."""


ONNX_SETTINGS = "vivant-onnx.json"
"""The file by which a folder with an exported MIMIC-Chat is known."""


class Backend(Struct, frozen=True, kw_only=True):
    """One line of `vivant models`."""

    name: str
    form: str
    """How a user writes it."""
    summary: str
    factory: str
    """`module:function`."""
    needs: str = "nothing"
    key: str = ""
    """The environment variable that holds its key."""
    keyless: str = ""
    """How far it gets without its key: "only with --base-url"."""
    modules: tuple[str, ...] = ()
    """What must be installed."""
    extra: str = ""
    """The extra that installs it."""
    program: str = ""
    """What it starts."""
    weights: str = ""
    """The folder of `mini/` that its weights lie in."""


_BUILTIN = (
    Backend(
        name="openai",
        form="openai/NAME",
        summary="any OpenAI-compatible server (--base-url); images, video as frames or as video_url",
        factory="vivant.models.openai:create",
        needs="a server; OPENAI_API_KEY where it asks for one",
        key="OPENAI_API_KEY",
        keyless="only with --base-url",
    ),
    Backend(
        name="gemini",
        form="gemini/NAME",
        summary="Google's API: images, sound, videos as frames or as files (--native-video)",
        factory="vivant.models.gemini:create",
        needs="GEMINI_API_KEY",
        key="GEMINI_API_KEY",
    ),
    Backend(
        name="anthropic",
        form="anthropic/NAME",
        summary="Anthropic's API: several hundred images a request, videos as frames",
        factory="vivant.models.anthropic:create",
        needs="ANTHROPIC_API_KEY",
        key="ANTHROPIC_API_KEY",
    ),
    Backend(
        name="transformers",
        form="transformers/ID or FOLDER",
        summary="checkpoints on this machine, in batches, one worker per accelerator",
        factory="vivant.models.transformers:create",
        needs="torch, transformers",
        modules=("torch", "transformers"),
        extra="transformers",
    ),
    Backend(
        name="internvl-chat",
        form="internvl-chat/ID or FOLDER",
        summary="InternVL2 and its like, by code of their own (--trust-remote-code)",
        factory="vivant.models.internvl_chat:create",
        needs="torch, transformers",
        modules=("torch", "transformers"),
        extra="transformers",
    ),
    Backend(
        name="mimic-chat",
        form="mimic-chat/FOLDER",
        summary="a MIMIC-Chat of your own, as `vivant train mimic-chat` writes it",
        factory="vivant.train.torch_backend:create",
        needs="torch, transformers, peft",
        modules=("torch", "transformers", "peft"),
        extra="train",
    ),
    Backend(
        name="vivant",
        form="vivant/tiny",
        summary="the small MIMIC-Chat that comes with the package: it looks at pixels, on any machine",
        factory="vivant.train.onnx_backend:create_bundled",
        needs="its weights, where the package brings them",
        weights="tiny",
    ),
    Backend(
        name="onnx",
        form="onnx/FOLDER",
        summary="a MIMIC-Chat of your own without torch, as `vivant train export` writes it",
        factory="vivant.train.onnx_backend:create",
        needs="the exported folder",
    ),
    Backend(
        name="vllm",
        form="vllm/ID",
        summary="a vLLM server, started for the run, or a running one (--base-url)",
        factory="vivant.models.vllm:create",
        needs="the program vllm, or a server",
        program="vllm",
    ),
    Backend(
        name="random",
        form="random",
        summary="an option by chance, from the sample's own seed",
        factory="vivant.models.baselines:create_random",
    ),
    Backend(
        name="first",
        form="first",
        summary="always the first option",
        factory="vivant.models.baselines:create_first",
    ),
    Backend(
        name="longest",
        form="longest",
        summary="always the longest option",
        factory="vivant.models.baselines:create_longest",
    ),
    Backend(
        name="blind",
        form="blind",
        summary="the option nearest in meaning to the question: what text alone gives away",
        factory="vivant.models.baselines:create_blind",
        needs="the MiniLM sentence model",
    ),
    Backend(
        name="human",
        form="human",
        summary="people's answers, where the benchmark's data hold them",
        factory="vivant.runs.human:create",
        needs="data with human answers",
    ),
    Backend(
        name="heuristic",
        form="heuristic",
        summary="a judge by rule of thumb, for trying the path, never for results",
        factory="vivant.models.heuristic:create",
    ),
    Backend(
        name="replay",
        form="replay/RUN or FILE",
        summary="the answers of an earlier run; or replies by id from JSON or JSON lines of {id, response}",
        factory="vivant.runs.replay:create",
        needs="the run or the file",
    ),
    Backend(
        name="scripted",
        form="scripted/FILE",
        summary="replies by rule from a file, failures included, for trying things out",
        factory="vivant.models.scripted:create",
        needs="a file of rules",
    ),
    Backend(
        name="echo",
        form="echo/TEXT",
        summary="always the same text, for trying things out",
        factory="vivant.models.baselines:create_echo",
    ),
)


def list_backends() -> dict[str, Backend]:
    """All backends by name: the built-in ones and those of installed packages."""
    by_name = {backend.name: backend for backend in _BUILTIN}
    for point in entry_points(group="vivant.models"):
        by_name.setdefault(
            point.name,
            Backend(
                name=point.name,
                form=f"{point.name}/NAME",
                summary=f"from the package {point.dist.name if point.dist else '?'}",
                factory=point.value,
            ),
        )
    return by_name


def create(spec: str, options: ModelOptions | None = None) -> Model:
    """Create the model that `spec` names: `openai/gpt-4o-mini`, `random`, `./my_model.py:MyModel`."""
    options = options or ModelOptions()
    if ".py:" in spec or spec.endswith(".py"):
        from vivant.models.custom import load_model_file

        return load_model_file(spec, options)
    backend, _, name = spec.partition("/")
    backends = list_backends()
    if backend not in backends:
        hint = "" if "/" in spec else "(a model on a server is written backend/name, e.g. openai/gpt-4o-mini)"
        raise unknown_name_error("model", backend, backends, hint)
    path = backends[backend].factory
    model = _load_factory(path, backend)(name, options)
    if not isinstance(model, Model):
        kind = type(model).__name__
        raise UsageError(f"The backend '{backend}' returned a {kind} in place of a Model: {path}")
    return model


def _load_factory(path: str, backend: str) -> Factory:
    module, _, attribute = path.partition(":")
    try:
        target: Any = getattr(import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise UsageError(f"The backend '{backend}' cannot be loaded from {path}: {error}") from error
    if isinstance(target, type):
        from vivant.models.custom import adapt_class

        return lambda name, options: adapt_class(target, name or backend, options)
    if not callable(target):
        raise UsageError(f"The backend '{backend}' is no function or class: {path}")
    factory: Factory = target
    return factory
