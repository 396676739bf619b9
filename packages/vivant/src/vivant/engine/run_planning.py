"""Plan a run: read the data, create the model, decide the run directory. Sends nothing, writes nothing."""

from __future__ import annotations

import re
from collections.abc import Container, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from vivant.benchmarks import registry
from vivant.benchmarks.recipes import find_recipe
from vivant.benchmarks.registry import Selection
from vivant.benchmarks.validation import load_samples
from vivant.core.errors import UsageError
from vivant.core.garbage import collect_garbage_rarely
from vivant.core.types import Decoding
from vivant.engine.options import RunOptions
from vivant.engine.plan import Plan, make_plan
from vivant.models.base import Model, identify_model
from vivant.models.registry import create
from vivant.runs.recipe_differences import list_recipe_notes
from vivant.runs.settings import RunSettings


class PlannedRun(Struct, frozen=True):
    """A plan with its model, before anything is sent."""

    plan: Plan
    model: Model
    out: Path


@collect_garbage_rarely()
def plan_run(options: RunOptions, *, needs_key: bool = True) -> PlannedRun:
    """Read data, create the model, decide the run directory. Sends nothing, writes nothing.

    Args:
        options: what the user says about the run.
        needs_key: whether a missing key is an error: not where nothing will be sent.
    """
    if not options.selectors:
        raise UsageError("Name at least one benchmark, e.g. mime, or a file of your own questions")
    if not options.model:
        raise UsageError("Name a model with --model (see `vivant models`), or a --recipe that names one")
    options = _share_trust(options)
    model = create_model(options, needs_key=needs_key)
    if options.audio and not model.capabilities.audio:
        raise UsageError(f"{model.name} takes no sound; leave out --audio")
    task_options = registry.parse_task_options(options.selectors, options.task_options)
    selections = registry.select(options.selectors, options.data, task_options.variant)
    subset = None
    if options.subset:
        from vivant.runs.subset import read_subset

        subset = read_subset(Path(options.subset).expanduser())
        selections = _keep_tasks(selections, subset.tasks, options.subset)
    limits = {**options.limits, **task_options.limits}
    style = options.style or _default_style(selections)
    tokenizer = model.tokenizer() if "max_context_len" in limits else None
    if options.image_model:
        described = _illustrated_style(selections)
        style = options.style or described

    def settings_for(data: Mapping[str, str]) -> RunSettings:
        return RunSettings(
            tasks=tuple(data),
            model={**identify_model(model), **_request_changes(options, cut=tokenizer is not None)},
            style=style,
            data=data,
            limits=limits,
            variant=task_options.variant,
            subset=subset.fingerprint() if subset is not None else "",
            **options.to_settings() | {"decoding": _sent_decoding(model, options.decoding_settings)},
        )

    plan = make_plan(selections, settings_for, tokenizer, options.prompts, subset)
    if options.recipe:
        recipe = find_recipe(plan.tasks[0].benchmark.name, options.recipe)
        planned = {task.task: len(task.chosen) for task in plan.tasks}
        notes = list_recipe_notes(recipe, plan.settings, planned)
        plan = msgspec.structs.replace(plan, notes=(*plan.notes, *notes))
    out = (
        Path(options.out) if options.out else _default_folder(default_run_name(plan, model.name, selections))
    )
    return PlannedRun(plan, model, out)


def check_questions(options: RunOptions) -> None:
    """Read all that a run would ask, before its model is there. Raises what `plan_run` would say about it."""
    for selection in select_questions(options):
        for task in selection.tasks:
            load_samples(selection.benchmark, selection.root, task)


def select_questions(options: RunOptions) -> list[Selection]:
    """The benchmarks and tasks that the options name, with their task options; nothing is read."""
    options = _share_trust(options)
    task_options = registry.parse_task_options(options.selectors, options.task_options)
    return registry.select(options.selectors, options.data, task_options.variant)


def _keep_tasks(selections: Sequence[Selection], tasks: Container[str], path: str) -> list[Selection]:
    """The selections with the tasks that a subset has alone."""
    kept = [
        msgspec.structs.replace(selection, tasks=own)
        for selection in selections
        if (own := tuple(task for task in selection.tasks if task in tasks))
    ]
    if not kept:
        named = ", ".join(task for selection in selections for task in selection.tasks)
        raise UsageError(f"--subset {path} has none of the tasks {named}; it was made for others")
    return kept


_TRUST = "trust-remote-code"
_TRUSTING_BACKENDS = ("transformers", "internvl-chat", "vllm", "sglang")


def _share_trust(options: RunOptions) -> RunOptions:
    """`--trust-remote-code` also for benchmarks that run code; then a backend that runs none need not know of it."""
    if not options.trust_remote_code or not registry.has_task_option(options.selectors, _TRUST):
        return options
    trusting = (options.model or "").partition("/")[0] in _TRUSTING_BACKENDS
    return msgspec.structs.replace(
        options, task_options={**options.task_options, _TRUST: True}, trust_remote_code=trusting
    )


def _default_folder(name: str) -> Path:
    """The run's folder in `runs`; one that an earlier version began under another name is found by its digest."""
    folder = Path("runs") / name
    if not folder.exists():
        same = sorted(Path("runs").glob(f"*-{name.rpartition('-')[2]}/manifest.json"))
        folder = next((file.parent for file in same if not file.parent.name.startswith("sweep-")), folder)
    return folder


def _request_changes(options: RunOptions, *, cut: bool) -> dict[str, Any]:
    """What changes the requests to a model besides its own settings; empty as a rule."""
    changes: dict[str, Any] = {"audio": True} if options.audio else {}
    if options.on_too_large != "shrink":
        changes["on_too_large"] = options.on_too_large
    if cut:
        changes["cut_by"] = "its tokenizer"
    return changes


def create_model(options: RunOptions, *, needs_key: bool = True) -> Model:
    """The model that the options name, with all that goes around it. With Ray, every node makes its own."""
    model = create(options.model, msgspec.structs.replace(options.backend_options, needs_key=needs_key))
    _check_decoding(model, options)
    if options.answer_by == "loglik":
        from vivant.models.likelihood import LikelihoodModel

        model = LikelihoodModel(model)
    if options.image_model:
        from vivant.models.image_generation.base import create_image_generator
        from vivant.models.image_generation.illustrated import IllustratedModel

        model = IllustratedModel(
            model, create_image_generator(options.image_model, options.image_backend_options)
        )
    return model


def _check_decoding(model: Model, options: RunOptions) -> None:
    """Raise where the user sets what the model cannot be told: it would be recorded and not be so. A recipe's settings
    are its row's, and stay."""
    wanted, defaults = options.decoding_settings, Decoding()
    for name in model.untold:
        if getattr(wanted, name) not in (getattr(defaults, name), None) and not options.recipe:
            remedy = "--temperature" if name == "temperature" else f"{name} among the decoding settings"
            raise UsageError(f"{model.name} takes no {name.replace('_', ' ')}; leave out {remedy}")
    if model.exclusive and all(getattr(wanted, name) is not None for name in model.exclusive):
        names = " and ".join(name.replace("_", " ") for name in model.exclusive)
        raise UsageError(
            f"{model.name} does not take {names} together; --temperature server leaves the temperature out"
        )


def _sent_decoding(model: Model, decoding: Decoding) -> Decoding:
    """The settings without those that the model is not told: what is recorded was sent."""
    return msgspec.structs.replace(
        decoding, **{name: () if name == "stop" else None for name in model.untold}
    )


def _default_style(selections: Sequence[Selection]) -> str:
    """The first benchmark's first style. A run has one style, so that every benchmark in it must have this one."""
    first, *others = [selection.benchmark for selection in selections]
    style = first.styles[0]
    for other in others:
        if style not in other.styles:
            raise UsageError(
                f"{other.name} has no style '{style}', in which {first.name} is asked by default; run {other.name} by "
                f"itself, or name a style that both have with --style ({other.name}: {', '.join(other.styles)})"
            )
    return style


def _illustrated_style(selections: Sequence[Selection]) -> str:
    """The style in which a model describes pictures."""
    for selection in selections:
        if not selection.benchmark.illustrated_style:
            raise UsageError(f"--image-model: answers to {selection.benchmark.name} hold no pictures")
    return selections[0].benchmark.illustrated_style


def default_run_name(plan: Plan, model: str, selections: Sequence[Selection]) -> str:
    """`mime-openai-gpt-4o-mini-cot-blind-16frames-1a2b3c4d`: a name per settings, so that the same command resumes.

    What is not as by default is part of it, so that a list of runs says how they differ.
    """
    names = "+".join(
        dict.fromkeys(
            s.benchmark.name if s.benchmark.tasks else s.tasks[0].partition("/")[2] for s in selections
        )
    )
    words = (re.sub(r"(?<=\d) | (?=\d)", "", word) for word in plan.settings.list_distinctions())
    text = "-".join((f"{names}-{model}-{plan.settings.style}"[:60], *words))
    slug = re.sub(r"[^A-Za-z0-9.+_-]+", "-", text).strip("-")[:100]
    return f"{slug}-{_fingerprint_without_room(plan.settings)[:8]}"


def _fingerprint_without_room(settings: RunSettings) -> str:
    """The same for more room for thoughts, so that the same command with more of it resumes the run."""
    thinking = {key: value for key, value in settings.model.get("thinking", {}).items() if key != "room"}
    model = {key: value for key, value in settings.model.items() if key != "thinking"}
    return msgspec.structs.replace(
        settings, model={**model, **({"thinking": thinking} if thinking else {})}
    ).fingerprint()
