"""Training: from a recipe to a model, resumable at any moment with the same losses as if nothing had happened."""

from __future__ import annotations

import math
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any, Literal

import msgspec
import torch
from msgspec import Struct

from vivant.core.errors import UsageError, VivantError
from vivant.core.paths import cache_root
from vivant.core.randomness import derive_seed
from vivant.train.accelerator import (
    learnt,
    make_accelerator,
    optimizer_of,
    put_optimizer,
    put_weights,
    weights_of,
)
from vivant.train.checkpoints import (
    CheckpointError,
    State,
    checkpoints,
    load_state,
    save_model,
    save_state,
)
from vivant.train.data.frames import FrameBank
from vivant.train.data.stream import Batch, Loader, Place, Stream
from vivant.train.evaluation import look
from vivant.train.metrics import Metrics
from vivant.train.settings import Recipe
from vivant.train.setup import Ready, set_up

RECIPE = "recipe.json"
Say = Callable[[str], None]


class TrainingError(VivantError):
    """A training cannot go on."""


class Outcome(Struct, frozen=True, kw_only=True):
    """What a training left."""

    model: Path
    """The weights of the last step."""
    best: Path | None
    """Those that did best on the held-out slice, where there is one."""
    steps: int
    accuracy: float | None
    finished: bool


def train(recipe: Recipe, base: Path = Path(), *, resume: bool = False, say: Say | None = None) -> Outcome:
    """Train, or go on with a training. `base` is the folder that the paths of the recipe's data are relative to."""
    accelerator = make_accelerator(recipe)
    speak: Say = say if say is not None and accelerator.is_main_process else lambda _: None
    out = Path(recipe.out).expanduser()
    _claim(out, recipe, resume=resume, main=accelerator.is_main_process)
    ready = set_up(recipe, base, out, speak, accelerator)
    with FrameBank(
        ready.processor,
        recipe.data.frames,
        cache_root(),
        workers=recipe.data.workers,
        megabytes=recipe.data.memory,
    ) as bank:
        return Trainer(recipe, base, out, accelerator, ready, bank, speak).run(resume)


def _claim(out: Path, recipe: Recipe, *, resume: bool, main: bool) -> None:
    """Refuse a folder that holds something else; write what this training is."""
    file = out / RECIPE
    if file.is_file():
        before = msgspec.json.decode(file.read_bytes())
        if before.get("fingerprint") != recipe.fingerprint():
            told = _differences(before.get("recipe", {}), msgspec.json.decode(msgspec.json.encode(recipe)))
            raise CheckpointError(
                f"{out} holds a training with another recipe ({told}); choose another out, or the recipe it began with"
            )
        if not resume and checkpoints(out):
            raise UsageError(
                f"{out} holds a training already; --resume goes on with it, or choose another out"
            )
    elif out.exists() and any(out.iterdir()):
        raise UsageError(f"{out} is not empty and holds no training; choose another out")
    elif resume:
        raise UsageError(f"There is no training in {out} to resume")
    if main and not file.is_file():
        out.mkdir(parents=True, exist_ok=True)
        said = {"fingerprint": recipe.fingerprint(), "recipe": msgspec.to_builtins(recipe)}
        aside = file.with_suffix(".writing")
        aside.write_bytes(msgspec.json.format(msgspec.json.encode(said)))
        aside.replace(file)


def _differences(before: Any, now: Any, at: str = "") -> str:
    """The first few settings that are not the same, by name."""
    if isinstance(before, dict) and isinstance(now, dict):
        names = [name for name in {**before, **now} if before.get(name) != now.get(name)]
        return "; ".join(_differences(before.get(n), now.get(n), f"{at}.{n}" if at else n) for n in names[:3])
    return f"{at}: {before} then, {now} now"


class Trainer:
    """One training at work."""

    def __init__(
        self, recipe: Recipe, base: Path, out: Path, accelerator: Any, ready: Ready, bank: FrameBank, say: Say
    ) -> None:
        self.recipe, self.base, self.out, self.say = recipe, base, out, say
        self.accelerator, self.bank = accelerator, bank
        self.words, self.plain = ready.processor.words, ready.model
        if recipe.train.gradient_checkpointing:
            self.plain.language_model.gradient_checkpointing_enable({"use_reentrant": False})
        if recipe.train.fsdp:
            self.model = accelerator.prepare(self.plain)
            self.optimizer = accelerator.prepare(make_optimizer(self.model, recipe))
        else:
            self.model, self.optimizer = accelerator.prepare(self.plain, make_optimizer(self.plain, recipe))
        self.examples = self._usable(ready)
        train = recipe.train
        self.stream = Stream(
            self.examples,
            ready.processor,
            seed=recipe.seed,
            steps=train.steps,
            batch_tokens=train.batch_tokens,
            row_tokens=train.row_tokens,
            per_video=train.per_video,
            shares=accelerator.num_processes,
            packed=train.packing,
        )
        self.best: float | None = None
        self.best_step = -1
        self._stop = False

    def _usable(self, ready: Ready) -> list[Any]:
        from vivant.core.progress import log_progress

        most = self.recipe.data.max_failed
        with self.accelerator.main_process_first():
            told = log_progress() if self.accelerator.is_main_process else None
            kept, failed = self.bank.usable(ready.examples, most, told)
        for line in failed[:5]:
            self.say(f"Left out: {line}")
        if failed:
            self.say(
                f"{len(failed)} videos cannot be used; {len(ready.examples) - len(kept)} examples are left out."
            )
        return kept

    # ── going on ──

    def run(self, resume: bool) -> Outcome:
        """All steps that are left."""
        start = self._resumed() if resume else Place()
        metrics = None
        if self.accelerator.is_main_process:
            metrics = Metrics(self.out, start.step, self.recipe.log_every, self.say)
        last = self.recipe.train.steps
        train = self.recipe.train
        loader = Loader(
            self.stream,
            self.bank,
            start,
            last=last,
            pad=self.words.pad_token_id,
            rank=self.accelerator.process_index,
            world=self.accelerator.num_processes,
            micro_rows=train.micro_rows,
            alike=train.answers_alike,
        )
        place = start
        self.model.train()
        waited = 0.0
        try:
            with _interruptible(self):
                for batch in loader:
                    began = time.perf_counter()
                    row = self._step(batch)
                    seconds = time.perf_counter() - began + loader.waited - waited
                    if metrics is not None:
                        metrics.step(
                            {**row, "seconds": round(seconds, 4), "waited": round(loader.waited - waited, 4)}
                        )
                    waited = loader.waited
                    place = Place(
                        batch.step.place.step + 1, batch.step.place.epoch, batch.step.place.index + 1
                    )
                    self._after(place, metrics, last)
                    if self._stop:
                        break
            self._refuse_short()
            if place.step >= last or self._stop:
                self._keep(place)
            return self._end(place, metrics, last)
        finally:
            if metrics is not None:
                metrics.close()

    def _after(self, place: Place, metrics: Metrics | None, last: int) -> None:
        look_at = self.recipe.evaluation
        if look_at and look_at.every and place.step % look_at.every == 0 and place.step < last:
            self._look(place, metrics)
        if place.step % self.recipe.checkpoint_every == 0 and place.step < last:
            self._refuse_short()
            self._keep(place)

    def _refuse_short(self) -> None:
        lost, most = len(self.stream.too_long), self.recipe.data.max_failed
        if lost > most * len(self.examples):
            raise UsageError(
                f"{lost} of {len(self.examples)} examples are longer than train.row_tokens "
                f"({self.recipe.train.row_tokens}), more than the share of {most:g} that data.max_failed allows; "
                f"one of them: {min(self.stream.too_long)}"
            )

    def _step(self, batch: Batch) -> dict[str, Any]:
        """One update. The loss is a mean over tokens of answers, or over answers, however many processes share them."""
        accelerator, number = self.accelerator, batch.step.place.step
        rank, world = accelerator.process_index, accelerator.num_processes
        torch.manual_seed(derive_seed(self.recipe.seed, "step", str(number), str(rank)))
        total = 0.0
        items = batch.step.answers if self.recipe.train.answers_alike else batch.step.answer_tokens
        for place, part in enumerate(batch.parts):
            held = place < len(batch.parts) - 1
            with accelerator.no_sync(self.model) if held else nullcontext():
                moved = {
                    n: v.to(accelerator.device) if isinstance(v, torch.Tensor) else v for n, v in part.items()
                }
                loss = self.model(**moved, num_items_in_batch=items).loss
                total += float(loss.detach())
                accelerator.backward(loss * world)
        if world > 1:
            told = torch.tensor([total], device=accelerator.device)
            total = float(accelerator.reduce(told, "sum")[0])
        norm = accelerator.clip_grad_norm_(self.model.parameters(), self.recipe.train.clip)
        norm = float(norm.full_tensor() if hasattr(norm, "full_tensor") else norm)
        scaled = self.recipe.train.precision == "fp16"  # its scaler skips steps whose gradients overflow
        if not math.isfinite(total) or not (math.isfinite(norm) or scaled):
            raise self._broken(batch, "loss" if not math.isfinite(total) else "gradient")
        rate = self._rate(number)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        self.optimizer.step()
        self.optimizer.zero_grad()
        tokens = sum(asked.length for row in batch.step.rows for asked in row)
        return {
            "step": number,
            "epoch": batch.step.place.epoch,
            "loss": total,
            "learning_rate": rate,
            "gradient_norm": norm,
            "tokens": tokens,
            "answer_tokens": batch.step.answer_tokens,
        }

    def _rate(self, step: int) -> float:
        train = self.recipe.train
        if step < train.warm_up:
            return train.learning_rate * (step + 1) / train.warm_up
        share = (step - train.warm_up) / max(1, train.steps - train.warm_up)
        wave = 0.5 * (1 + math.cos(math.pi * min(1.0, share)))
        return train.learning_rate * (train.floor + (1 - train.floor) * wave)

    def _broken(self, batch: Batch, what: str) -> TrainingError:
        there = checkpoints(self.out)
        kept = f"the last good checkpoint is {there[-1]}" if there else "there is no checkpoint yet"
        names = batch.step.names
        return TrainingError(
            f"The {what} of step {batch.step.place.step} (epoch {batch.step.place.epoch}) is not a finite number; "
            f"{kept}. The step held {len(names)} samples, {', '.join(names[:3])} …; try a lower train.learning_rate"
        )

    # ── what is kept ──

    def _keep(self, place: Place) -> None:
        folder = self.out / "checkpoints" / f"step-{place.step:08d}"
        weights, tensors = weights_of(self.model), optimizer_of(self.model, self.optimizer.optimizer)
        if self.accelerator.is_main_process:
            state = State(
                place=place,
                fingerprint=self.recipe.fingerprint(),
                best=self.best,
                best_step=self.best_step,
            )
            save_state(folder, state, learnt(weights, self.plain), tensors)
            for old in checkpoints(self.out)[: -self.recipe.keep]:
                shutil.rmtree(old)
        self.accelerator.wait_for_everyone()

    def _resumed(self) -> Place:
        there = checkpoints(self.out)
        if not there:
            self.say(f"{self.out} has no checkpoint yet: beginning anew.")
            return Place()
        state, weights, tensors = load_state(there[-1])
        if state.fingerprint != self.recipe.fingerprint():
            raise CheckpointError(f"{there[-1]} is a checkpoint of another recipe")
        put_weights(self.model, weights)
        put_optimizer(self.model, self.optimizer.optimizer, tensors)
        self.best, self.best_step = state.best, state.best_step
        self.say(f"Going on from {there[-1]}.")
        return state.place

    def _write(self, folder: Path) -> None:
        weights = weights_of(self.model)
        if self.accelerator.is_main_process:
            whole = not (self.plain.settings.vision.name and self.plain.settings.language.name)
            lora: Literal["merged", "apart"] = "merged" if whole else "apart"
            save_model(folder, self.plain, self.words, state=weights, lora=lora, whole=whole)
        self.accelerator.wait_for_everyone()

    def _look(self, place: Place, metrics: Metrics | None) -> None:
        self._write(self.out / "last")
        if metrics is not None and self.recipe.evaluation is not None:
            row = look(self.recipe, self.base, self.out, place.step)
            metrics.look(row)
            if self.best is None or row["accuracy"] > self.best:
                self.best, self.best_step = row["accuracy"], place.step
                shutil.rmtree(self.out / "best", ignore_errors=True)
                shutil.copytree(self.out / "last", self.out / "best")
        self.accelerator.wait_for_everyone()
        self.model.train()

    def _end(self, place: Place, metrics: Metrics | None, last: int) -> Outcome:
        finished = place.step >= last
        if finished and self.recipe.evaluation is not None:
            self._look(place, metrics)
        else:
            self._write(self.out / "last")
        best = self.out / "best"
        return Outcome(
            model=self.out / "last",
            best=best if best.is_dir() else None,
            steps=place.step,
            accuracy=self.best,
            finished=finished,
        )

    def stop(self) -> None:
        """Finish the step under way, keep it, end."""
        self.say("Stopping after this step; --resume goes on from it.")
        self._stop = True


def make_optimizer(model: Any, recipe: Recipe) -> Any:
    """AdamW over what learns; vectors (norms, biases, gates) do not decay."""
    train = recipe.train
    learning = [weight for weight in model.parameters() if weight.requires_grad]
    if not learning:
        raise UsageError("model: every part is frozen, so there is nothing to train")
    groups = [
        {"params": [w for w in learning if w.dim() > 1], "weight_decay": train.weight_decay},
        {"params": [w for w in learning if w.dim() <= 1], "weight_decay": 0.0},
    ]
    return torch.optim.AdamW([g for g in groups if g["params"]], lr=train.learning_rate, betas=train.betas)


@contextmanager
def _interruptible(trainer: Trainer) -> Iterator[None]:
    """The first Ctrl-C or request to end finishes the step; the second is obeyed at once."""

    def asked(number: int, _: Any) -> None:
        signal.signal(number, before[number])
        trainer.stop()

    try:
        before = {int(number): signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
        for number in before:
            signal.signal(number, asked)
    except ValueError:  # not the main thread: the host program owns the signals
        yield
        return
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
