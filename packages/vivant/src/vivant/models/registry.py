"""Which backends there are. backends.yaml holds dotted paths: nothing is imported to be listed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from msgspec import Struct

from vivant.core.errors import UsageError, VivantError, unknown_name_error
from vivant.core.yaml_files import read_yaml
from vivant.hooks import (
    MODELS,
    PRODUCT_MODELS,
    describe_error,
    hook_error,
    list_hooks,
    load_hook,
    missing_product_error,
)
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
    code_version: str = ""
    """The package that it comes from and its version; empty for Vivant's own."""
    baseline: bool = False
    """A rule that stands in for a model: tables show it as a line to compare with, not as a contestant."""


@cache
def _list_builtin() -> tuple[Backend, ...]:
    return read_yaml(Path(__file__).with_name("backends.yaml"), tuple[Backend, ...])


def list_backends() -> dict[str, Backend]:
    """All backends by name: the built-in ones and those of installed packages."""
    by_name = {backend.name: backend for backend in _list_builtin()}
    for name, hook in list_hooks(MODELS).items():
        by_name.setdefault(
            name,
            Backend(
                name=name,
                form=f"{name}/NAME",
                summary=f"from the package {hook.dist.name}",
                needs=f"see {hook.dist.name}",
                factory=hook.value,
                code_version=f"{hook.dist.name} {hook.dist.version}",
            ),
        )
    return by_name


def is_baseline(model: str) -> bool:
    """Whether a model's name, as tables show it, is that of a baseline: `random`, `echo/TEXT`."""
    name = model.partition("/")[0].casefold()
    return any(backend.baseline and backend.name == name for backend in _list_builtin())


def create(spec: str, options: ModelOptions | None = None) -> Model:
    """Create the model that `spec` names: `openai/gpt-4o-mini`, `random`, `./my_model.py:MyModel`."""
    options = options or ModelOptions()
    if ".py:" in spec or spec.endswith(".py"):
        from vivant.models.custom import load_model_file

        return _check_thinking(load_model_file(spec, options), options)
    backend, _, name = spec.partition("/")
    # What others installed takes long to list, and built-in backends come first anyway.
    builtin = {each.name: each for each in _list_builtin()}
    backends = builtin if backend in builtin else list_backends()
    if backend not in backends and backend in PRODUCT_MODELS:
        raise missing_product_error(PRODUCT_MODELS[backend])
    if backend not in backends:
        raise _unknown_model_error(spec, backend, backends)
    if backend in builtin:
        model = _load_factory(builtin[backend])(name, options)
    else:
        model = _create_by_hook(backend, name, options)
    model.code_version = backends[backend].code_version
    return _check_thinking(model, options)


def _check_thinking(model: Model, options: ModelOptions) -> Model:
    """The model, unless the user says how to think to one that was not told: nothing is ignored."""
    if options.thinking.is_set and model.thinking is None:
        raise UsageError(f"{model.name} does not think; leave out {options.thinking.flag}")
    return model


def _unknown_model_error(spec: str, backend: str, backends: Mapping[str, Backend]) -> UsageError:
    """What the user may have meant: a model that the table of models knows, a checkpoint, or a slip of the pen."""
    from vivant.models.model_table import find_api

    api = find_api(spec)
    if api is not None:
        return UsageError(
            f"A model is written backend/name: did you mean '{api}/{spec}'? See `vivant models`"
        )
    if "/" in spec and not get_close_matches(backend, backends, n=1, cutoff=0.75):
        return UsageError(
            f"Unknown backend '{backend}'. For a checkpoint write 'transformers/{spec}'; for a model on a server, "
            f"'openai/{spec}' with --base-url. See `vivant models`"
        )
    hint = "" if "/" in spec else "(a model on a server is written backend/name, e.g. openai/gpt-4o-mini)"
    return unknown_name_error("model", backend, backends, hint)


def _load_factory(backend: Backend) -> Factory:
    module, _, attribute = backend.factory.partition(":")
    try:
        factory: Factory = getattr(import_module(module), attribute)
    except ImportError as error:
        raise UsageError(
            f"The backend '{backend.name}' cannot be loaded from {backend.factory}: {error}"
        ) from error
    return factory


def _create_by_hook(backend: str, name: str, options: ModelOptions) -> Model:
    """Create the model of an installed package, whose mistakes are errors of one line."""
    target: Any = load_hook(MODELS, backend)
    if not callable(target):
        raise hook_error(MODELS, backend, "is not a function or a class")
    try:
        if isinstance(target, type):
            from vivant.models.custom import adapt_class

            model: Any = adapt_class(target, name or backend, options)
        else:
            model = target(name, options)
    except VivantError:
        raise
    except Exception as error:
        raise hook_error(MODELS, backend, f"failed: {describe_error(error)}") from error
    if not isinstance(model, Model):
        raise hook_error(MODELS, backend, f"returned {type(model).__name__}, not a Model")
    return model
