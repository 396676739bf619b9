"""Training: from a recipe to a model, resumable at any moment with the same losses as if nothing had happened."""

from __future__ import annotations

import logging
import math
import shutil
import signal
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, nullcontext
from pathlib import Path
from typing import Any, Literal

import msgspec
import torch
from msgspec import Struct

from vivant.core.errors import UsageError, VivantError
from vivant.core.files import remove, write_atomic
from vivant.core.paths import cache_root
from vivant.core.progress import log_progress
from vivant.core.randomness import derive_seed
from vivant.train.accelerator import (
    gather_optimizer_state,
    gather_weights,
    make_accelerator,
    restore_optimizer_state,
    restore_weights,
    select_trainable,
)
from vivant.train.checkpoints import (
    CheckpointError,
    TrainingState,
    list_checkpoints,
    load_state,
    save_model,
    save_state,
)
from vivant.train.components import TrainingComponents, load_components
from vivant.train.data.dataloader import Batch, BatchSampler, DataLoader, TrainingPosition
from vivant.train.data.frame_loader import FrameLoader
from vivant.train.data.sources import Example
from vivant.train.evaluation import evaluate_checkpoint
from vivant.train.metrics import MetricsWriter
from vivant.train.settings import Recipe

RECIPE_FILE = "recipe.json"

logger = logging.getLogger("vivant")


class TrainingError(VivantError):
    """A training cannot continue."""


class TrainingResult(Struct, frozen=True, kw_only=True):
    """What a training wrote."""

    model: Path
    """The weights of the last step."""
    best: Path | None
    """Those that did best on the held-out slice, where there is one."""
    steps: int
    accuracy: float | None
    finished: bool


def train(recipe: Recipe, base: Path = Path(), *, resume: bool = False) -> TrainingResult:
    """Train, or continue a training. Messages go to the logger `vivant`.

    Args:
        recipe: the model, its data and how it learns.
        base: the folder that the paths of the recipe's data are relative to.
        resume: continue from the last checkpoint in the recipe's `out`.
    """
    accelerator = make_accelerator(recipe)
    out = Path(recipe.out).expanduser()
    _prepare_together(out, recipe, accelerator, resume=resume)
    components = load_components(recipe, base, out, accelerator)
    data = recipe.data
    with closing(
        FrameLoader(
            components.processor, data.frames, cache_root(), workers=data.workers, megabytes=data.memory
        )
    ) as frame_loader:
        return Trainer(recipe, base, out, accelerator, components, frame_loader).run(resume)


def _prepare_together(out: Path, recipe: Recipe, accelerator: Any, *, resume: bool) -> None:
    """Let the main process look at the folder and write to it; every process raises what it raised."""
    from accelerate.utils import broadcast_object_list

    outcome: list[VivantError | None] = [None]
    if accelerator.is_main_process:
        try:
            _prepare_output(out, recipe, resume=resume)
        except VivantError as error:
            outcome = [error]
    broadcast_object_list(outcome)
    if outcome[0] is not None:
        raise outcome[0]


def _prepare_output(out: Path, recipe: Recipe, *, resume: bool) -> None:
    """Refuse a folder that holds something else; write what this training is."""
    file = out / RECIPE_FILE
    if file.is_file():
        before = msgspec.json.decode(file.read_bytes())
        if before.get("fingerprint") != recipe.fingerprint():
            now = msgspec.json.decode(msgspec.json.encode(recipe))
            differences = _format_differences(before.get("recipe", {}), now)
            raise CheckpointError(
                f"{out} holds a training with another recipe ({differences}); choose another out, or the recipe "
                "it began with"
            )
        if not resume and list_checkpoints(out):
            raise UsageError(
                f"{out} holds a training already; --resume goes on with it, or choose another out"
            )
    elif out.exists() and any(out.iterdir()):
        raise UsageError(f"{out} is not empty and holds no training; choose another out")
    elif resume:
        raise UsageError(f"There is no training in {out} to resume")
    if not file.is_file():
        out.mkdir(parents=True, exist_ok=True)
        content = {"fingerprint": recipe.fingerprint(), "recipe": msgspec.to_builtins(recipe)}
        write_atomic(file, msgspec.json.format(msgspec.json.encode(content)))


def _format_differences(before: Any, now: Any, at: str = "") -> str:
    """The first few settings that are not the same, by name."""
    if isinstance(before, dict) and isinstance(now, dict):
        names = [name for name in {**before, **now} if before.get(name) != now.get(name)]
        return "; ".join(
            _format_differences(before.get(n), now.get(n), f"{at}.{n}" if at else n) for n in names[:3]
        )
    return f"{at}: {before} then, {now} now"


class Trainer:
    """One training at work."""

    def __init__(
        self,
        recipe: Recipe,
        base: Path,
        out: Path,
        accelerator: Any,
        components: TrainingComponents,
        frame_loader: FrameLoader,
    ) -> None:
        self.recipe, self.base, self.out = recipe, base, out
        self.accelerator, self.frame_loader = accelerator, frame_loader
        self.tokenizer, self.base_model = components.processor.tokenizer, components.model
        if recipe.train.gradient_checkpointing:
            self.base_model.language_model.gradient_checkpointing_enable({"use_reentrant": False})
        if recipe.train.fsdp:
            self.model = accelerator.prepare(self.base_model)
            self.optimizer = accelerator.prepare(make_optimizer(self.model, recipe))
        else:
            self.model, self.optimizer = accelerator.prepare(
                self.base_model, make_optimizer(self.base_model, recipe)
            )
        self.examples = self._select_examples(components.examples)
        train = recipe.train
        self.sampler = BatchSampler(
            self.examples,
            components.processor,
            seed=recipe.seed,
            steps=train.steps,
            batch_tokens=train.batch_tokens,
            row_tokens=train.row_tokens,
            per_video=train.per_video,
            processes=accelerator.num_processes,
            packed=train.packing,
        )
        self.best: float | None = None
        self.best_step = -1
        self._stop = False

    def _select_examples(self, examples: Sequence[Example]) -> list[Example]:
        """The examples whose media can be decoded."""
        is_main = self.accelerator.is_main_process
        with self.accelerator.main_process_first():
            progress = log_progress() if is_main else None
            usable, errors = self.frame_loader.select_usable(examples, self.recipe.data.max_failed, progress)
        if errors and is_main:
            for error in errors[:5]:
                logger.warning("Left out: %s", error)
            lost = len(examples) - len(usable)
            logger.warning("%d videos cannot be used; %d examples are left out.", len(errors), lost)
        return usable

    # ── the loop ──

    def run(self, resume: bool) -> TrainingResult:
        """Take all remaining steps."""
        start = self._load_checkpoint() if resume else TrainingPosition()
        metrics = None
        if self.accelerator.is_main_process:
            metrics = MetricsWriter(self.out, start.step, self.recipe.log_every)
        train = self.recipe.train
        last_step = train.steps
        dataloader = DataLoader(
            self.sampler,
            self.frame_loader,
            start,
            last_step=last_step,
            pad_token_id=self.tokenizer.pad_token_id,
            rank=self.accelerator.process_index,
            world_size=self.accelerator.num_processes,
            micro_rows=train.micro_rows,
            answers_alike=train.answers_alike,
        )
        position = start
        self.model.train()
        waited = 0.0
        try:
            with _interruptible(self):
                for batch in dataloader:
                    started = time.perf_counter()
                    row = self.train_step(batch)
                    wait = dataloader.waited - waited
                    seconds = time.perf_counter() - started + wait
                    if metrics is not None:
                        metrics.write_step({**row, "seconds": round(seconds, 4), "waited": round(wait, 4)})
                    waited = dataloader.waited
                    done = batch.plan.position
                    position = TrainingPosition(done.step + 1, done.epoch, done.index + 1)
                    self._after_step(position, metrics, last_step)
                    if self._stop:
                        break
            self._check_row_tokens()
            if position.step >= last_step or self._stop:
                self._save_checkpoint(position)
            return self._finish(position, metrics, last_step)
        finally:
            if metrics is not None:
                metrics.close()

    def _after_step(self, position: TrainingPosition, metrics: MetricsWriter | None, last_step: int) -> None:
        if position.step >= last_step:
            return
        evaluation = self.recipe.evaluation
        if evaluation and evaluation.every and position.step % evaluation.every == 0:
            self._evaluate(position, metrics)
        if position.step % self.recipe.checkpoint_every == 0:
            self._check_row_tokens()
            self._save_checkpoint(position)

    def _check_row_tokens(self) -> None:
        lost, max_failed = len(self.sampler.too_long), self.recipe.data.max_failed
        if lost > max_failed * len(self.examples):
            raise UsageError(
                f"{lost} of {len(self.examples)} examples are longer than train.row_tokens "
                f"({self.recipe.train.row_tokens}), more than the share of {max_failed:g} that data.max_failed allows; "
                f"one of them: {min(self.sampler.too_long)}"
            )

    def train_step(self, batch: Batch) -> dict[str, Any]:
        """One update. The loss is a mean over tokens of answers, or over answers, however many processes share them."""
        accelerator, plan = self.accelerator, batch.plan
        step = plan.position.step
        rank, world_size = accelerator.process_index, accelerator.num_processes
        torch.manual_seed(derive_seed(self.recipe.seed, "step", str(step), str(rank)))
        total_loss = 0.0
        items = plan.answer_count if self.recipe.train.answers_alike else plan.answer_tokens
        last_micro_step = len(batch.micro_batches) - 1
        for micro_step, micro_batch in enumerate(batch.micro_batches):
            with accelerator.no_sync(self.model) if micro_step < last_micro_step else nullcontext():
                inputs = {
                    name: value.to(accelerator.device) if isinstance(value, torch.Tensor) else value
                    for name, value in micro_batch.items()
                }
                loss = self.model(**inputs, num_items_in_batch=items).loss
                total_loss += float(loss.detach())
                accelerator.backward(loss * world_size)
        if world_size > 1:
            losses = torch.tensor([total_loss], device=accelerator.device)
            total_loss = float(accelerator.reduce(losses, "sum")[0])
        grad_norm = accelerator.clip_grad_norm_(self.model.parameters(), self.recipe.train.clip)
        grad_norm = float(grad_norm.full_tensor() if hasattr(grad_norm, "full_tensor") else grad_norm)
        scaled = self.recipe.train.precision == "fp16"  # its scaler skips steps whose gradients overflow
        if not math.isfinite(total_loss) or not (math.isfinite(grad_norm) or scaled):
            raise self._make_nonfinite_error(batch, "gradient" if math.isfinite(total_loss) else "loss")
        learning_rate = self.compute_learning_rate(step)
        for group in self.optimizer.param_groups:
            group["lr"] = learning_rate
        self.optimizer.step()
        self.optimizer.zero_grad()
        return {
            "step": step,
            "epoch": plan.position.epoch,
            "loss": total_loss,
            "learning_rate": learning_rate,
            "gradient_norm": grad_norm,
            "tokens": sum(example.length for row in plan.rows for example in row),
            "answer_tokens": plan.answer_tokens,
        }

    def compute_learning_rate(self, step: int) -> float:
        """A linear warm-up, then a cosine that ends at `floor`."""
        train = self.recipe.train
        if step < train.warm_up:
            return train.learning_rate * (step + 1) / train.warm_up
        share = (step - train.warm_up) / max(1, train.steps - train.warm_up)
        cosine = 0.5 * (1 + math.cos(math.pi * min(1.0, share)))
        return train.learning_rate * (train.floor + (1 - train.floor) * cosine)

    def _make_nonfinite_error(self, batch: Batch, what: str) -> TrainingError:
        saved = list_checkpoints(self.out)
        remedy = f"the last good checkpoint is {saved[-1]}" if saved else "there is no checkpoint yet"
        position, names = batch.plan.position, batch.plan.sample_names
        return TrainingError(
            f"The {what} of step {position.step} (epoch {position.epoch}) is not a finite number; "
            f"{remedy}. The step held {len(names)} samples, {', '.join(names[:3])} …; try a lower train.learning_rate"
        )

    # ── checkpoints and evaluation ──

    def _save_checkpoint(self, position: TrainingPosition) -> None:
        folder = self.out / "checkpoints" / f"step-{position.step:08d}"
        weights = gather_weights(self.model)
        optimizer_state = gather_optimizer_state(self.model, self.optimizer.optimizer)
        if self.accelerator.is_main_process:
            state = TrainingState(
                position=position,
                fingerprint=self.recipe.fingerprint(),
                best=self.best,
                best_step=self.best_step,
            )
            save_state(folder, state, select_trainable(weights, self.base_model), optimizer_state)
            for old in list_checkpoints(self.out)[: -self.recipe.keep]:
                shutil.rmtree(old)
        self.accelerator.wait_for_everyone()

    def _load_checkpoint(self) -> TrainingPosition:
        saved = list_checkpoints(self.out)
        if self.accelerator.is_main_process:  # what a killed training was writing
            for folder in (self.out, self.out / "checkpoints"):
                for path in folder.glob(".*.tmp"):
                    remove(path)
        if not saved:
            self._log(f"{self.out} has no checkpoint yet: beginning anew.")
            return TrainingPosition()
        state, weights, optimizer_state = load_state(saved[-1])
        if state.fingerprint != self.recipe.fingerprint():
            raise CheckpointError(f"{saved[-1]} is a checkpoint of another recipe")
        restore_weights(self.model, weights)
        restore_optimizer_state(self.model, self.optimizer.optimizer, optimizer_state)
        self.best, self.best_step = state.best, state.best_step
        self._log(f"Going on from {saved[-1]}.")
        return state.position

    def _save_model(self, folder: Path) -> None:
        weights = gather_weights(self.model)
        if self.accelerator.is_main_process:
            settings = self.base_model.settings
            complete = not (settings.vision.name and settings.language.name)
            lora: Literal["merged", "apart"] = "merged" if complete else "apart"
            save_model(folder, self.base_model, self.tokenizer, state=weights, lora=lora, complete=complete)
        self.accelerator.wait_for_everyone()

    def _evaluate(self, position: TrainingPosition, metrics: MetricsWriter | None) -> None:
        self._save_model(self.out / "last")
        if metrics is not None and self.recipe.evaluation is not None:
            row = evaluate_checkpoint(self.recipe, self.base, self.out, position.step)
            metrics.write_evaluation(row)
            if self.best is None or row["accuracy"] > self.best:
                self.best, self.best_step = row["accuracy"], position.step
                remove(self.out / "best")
                shutil.copytree(self.out / "last", self.out / "best")
        self.accelerator.wait_for_everyone()
        self.model.train()

    def _finish(
        self, position: TrainingPosition, metrics: MetricsWriter | None, last_step: int
    ) -> TrainingResult:
        finished = position.step >= last_step
        if finished and self.recipe.evaluation is not None:
            self._evaluate(position, metrics)
        else:
            self._save_model(self.out / "last")
        best = self.out / "best"
        return TrainingResult(
            model=self.out / "last",
            best=best if best.is_dir() else None,
            steps=position.step,
            accuracy=self.best,
            finished=finished,
        )

    def stop(self) -> None:
        """Finish the current step, save a checkpoint, end."""
        self._log("Stopping after this step; --resume goes on from it.")
        self._stop = True

    def _log(self, message: str) -> None:
        if self.accelerator.is_main_process:
            logger.info("%s", message)


def make_optimizer(model: Any, recipe: Recipe) -> Any:
    """AdamW over what learns; vectors (norms, biases, gates) do not decay."""
    train = recipe.train
    trainable = [weight for weight in model.parameters() if weight.requires_grad]
    if not trainable:
        raise UsageError("model: every part is frozen, so there is nothing to train")
    groups = [
        {"params": [w for w in trainable if w.dim() > 1], "weight_decay": train.weight_decay},
        {"params": [w for w in trainable if w.dim() <= 1], "weight_decay": 0.0},
    ]
    return torch.optim.AdamW([g for g in groups if g["params"]], lr=train.learning_rate, betas=train.betas)


@contextmanager
def _interruptible(trainer: Trainer) -> Iterator[None]:
    """The first Ctrl-C or request to end finishes the step; the second is obeyed at once."""

    def handle(number: int, _: Any) -> None:
        signal.signal(number, before[number])
        trainer.stop()

    try:
        before = {int(number): signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
        for number in before:
            signal.signal(number, handle)
    except ValueError:  # not the main thread: the host program owns the signals
        yield
        return
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
