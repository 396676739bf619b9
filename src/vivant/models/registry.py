"""Which backends there are. A frozen manifest of dotted paths: nothing is imported to be listed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any

from msgspec import Struct

from vivant.errors import UsageError, unknown
from vivant.models.base import Model, ModelOptions

Factory = Callable[[str, ModelOptions], Model]
"""(what stands after the backend's name, options) → model."""


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


_BUILTIN = (
    Backend(
        name="openai",
        form="openai/NAME",
        summary="any OpenAI-compatible server (--base-url); images, video as frames or as video_url",
        factory="vivant.models.openai:create",
        needs="a server; OPENAI_API_KEY where it asks for one",
        key="OPENAI_API_KEY",
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
        factory="vivant.models.human:create",
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
        form="replay/FILE",
        summary="replies from a file, looked up by id: JSON or JSON lines of {id, response}",
        factory="vivant.models.replay:create",
        needs="the file",
    ),
    Backend(
        name="echo",
        form="echo/TEXT",
        summary="always the same text, for trying things out",
        factory="vivant.models.baselines:create_echo",
    ),
)


def backends() -> dict[str, Backend]:
    """All backends by name: the built-in ones and those of installed packages."""
    found = {backend.name: backend for backend in _BUILTIN}
    for point in entry_points(group="vivant.models"):
        found.setdefault(
            point.name,
            Backend(
                name=point.name,
                form=f"{point.name}/NAME",
                summary=f"from the package {point.dist.name if point.dist else '?'}",
                factory=point.value,
            ),
        )
    return found


def create(spec: str, options: ModelOptions | None = None) -> Model:
    """The model that `spec` names: `openai/gpt-4o-mini`, `random`, `./my_model.py:MyModel`."""
    options = options or ModelOptions()
    if ".py:" in spec or spec.endswith(".py"):
        from vivant.models.custom import load_file

        return load_file(spec, options)
    name, _, rest = spec.partition("/")
    known = backends()
    if name not in known:
        hint = "" if "/" in spec else "(a model on a server is written backend/name, e.g. openai/gpt-4o-mini)"
        raise unknown("model", spec if "/" not in spec else name, known, hint)
    return _load(known[name].factory, name)(rest, options)


def _load(path: str, name: str) -> Factory:
    module, _, attribute = path.partition(":")
    try:
        target: Any = getattr(import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise UsageError(f"The backend '{name}' cannot be loaded from {path}: {error}") from error
    if isinstance(target, type):
        from vivant.models.custom import adapt

        return lambda rest, options: adapt(target, rest or name, options)
    factory: Factory = target
    return factory


def describe(spec: str) -> Mapping[str, str]:
    """What a model needs, for error messages."""
    backend = backends().get(spec.partition("/")[0])
    return {"needs": backend.needs if backend else ""}
