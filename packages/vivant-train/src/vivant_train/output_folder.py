"""The folder that a training writes to: one training, one recipe."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from vivant.core.errors import UsageError, VivantError
from vivant.core.files import remove, write_atomic
from vivant_train.accelerator import raise_together
from vivant_train.checkpoints import CheckpointError, list_checkpoints, list_replaced, recover_folders
from vivant_train.evaluation import check_evaluation
from vivant_train.settings import Recipe

RECIPE_FILE = "recipe.json"
TOKENIZER_FOLDER = "tokenizer"
FORMAT = 2
"""Changes when the same recipe becomes another training."""


def prepare_together(out: Path, recipe: Recipe, base: Path, accelerator: Any, *, resume: bool) -> None:
    """Let the main process check folder and evaluation; every process raises what it raised."""
    failed: VivantError | None = None
    if accelerator.is_main_process:
        try:
            check_evaluation(recipe, base)
            _prepare_output(out, recipe, resume=resume)
        except VivantError as error:
            failed = error
        except OSError as error:
            failed = UsageError(f"{out} cannot be written: {error}")
    raise_together(failed, accelerator)


def _prepare_output(out: Path, recipe: Recipe, *, resume: bool) -> None:
    """Refuse a folder that holds something else; write what this training is."""
    file = out / RECIPE_FILE
    if file.is_file() and not resume and not _has_steps(out):
        # A training that ended before its first step, for instance for want of memory, has nothing to lose.
        remove(out / TOKENIZER_FOLDER)
        remove(file)
    elif file.is_file():
        before = msgspec.json.decode(file.read_bytes())
        if before.get("fingerprint") != recipe.fingerprint():
            _refuse_earlier_version(out, before, recipe)
            now = msgspec.json.decode(msgspec.json.encode(recipe))
            differences = _format_differences(before.get("recipe", {}), now)
            raise CheckpointError(
                f"{out} holds a training with another recipe ({differences}); choose another out, or the recipe "
                "it began with"
            )
        if resume:
            recover_folders(out)
        elif list_checkpoints(out) or list_replaced(out):
            raise UsageError(
                f"{out} holds a training already; --resume goes on with it, or choose another out"
            )
    elif out.exists() and any(out.iterdir()):
        raise UsageError(f"{out} is not empty and holds no training; choose another out")
    elif resume:
        raise UsageError(f"There is no training in {out} to resume")
    if not file.is_file():
        out.mkdir(parents=True, exist_ok=True)
        content = {
            "format": FORMAT,
            "fingerprint": recipe.fingerprint(),
            "recipe": msgspec.to_builtins(recipe),
        }
        write_atomic(file, msgspec.json.format(msgspec.json.encode(content)))


def _has_steps(out: Path) -> bool:
    """Whether a training in a folder took a step."""
    metrics = out / "metrics.csv"
    rows = metrics.read_bytes().count(b"\n") - 1 if metrics.is_file() else 0
    return rows > 0 or bool(list_checkpoints(out)) or (out / "last").exists()


def _refuse_earlier_version(out: Path, before: dict[str, Any], recipe: Recipe) -> None:
    """Where the same recipe is another training only because an earlier version began it, say that."""
    if before.get("format") == FORMAT:
        return
    try:
        same = msgspec.convert(before.get("recipe"), Recipe).fingerprint() == recipe.fingerprint()
    except msgspec.ValidationError:  # it has settings that there are no longer
        same = True
    if same:
        raise CheckpointError(
            f"{out} was begun by an earlier version of Vivant, which trained another way, and cannot be resumed; "
            f"finish it with that version, or choose another out and start from its weights (begin: {out / 'last'})"
        )


def _format_differences(before: Any, now: Any, at: str = "") -> str:
    """The first few settings that are not the same, by name."""
    if isinstance(before, dict) and isinstance(now, dict):
        names = [name for name in {**before, **now} if before.get(name) != now.get(name)]
        return "; ".join(
            _format_differences(before.get(n), now.get(n), f"{at}.{n}" if at else n) for n in names[:3]
        )
    return f"{at}: {before} then, {now} now"
