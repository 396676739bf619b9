"""What a run would send and may cost, as a table. `vivant plan` and `vivant.plan` are this."""

from __future__ import annotations

from vivant.core.table import Table
from vivant.engine.budget import Price
from vivant.engine.estimate import TaskEstimate, estimate_plan
from vivant.engine.options import RunOptions
from vivant.engine.prices import costs_money, find_price
from vivant.engine.run_planning import PlannedRun
from vivant.runs.directory import RunDir
from vivant.runs.log import read_log


def build_plan_table(prepared: PlannedRun, options: RunOptions) -> Table:
    """Requests, media, tokens and money of what is left to ask, a line per task; its notes say what they rest on.

    Args:
        prepared: The plan with its model.
        options: Those of the run.
    """
    done = _list_done(prepared)
    price = find_price(prepared.model, options.prices)
    parts = estimate_plan(prepared.plan, prepared.model, price, done)
    notes = (*prepared.plan.notes, *_list_notes(prepared, parts, price, len(done), options))
    return _build(prepared, parts, price, options.batch, notes)


def _list_done(prepared: PlannedRun) -> frozenset[str]:
    """What the run directory holds already."""
    directory = RunDir(prepared.out)
    if not directory.exists() or directory.manifest().fingerprint != prepared.plan.settings.fingerprint():
        return frozenset()
    return frozenset(r.key for r in read_log(directory.log_file) if r.reply.status != "error")


def _build(
    prepared: PlannedRun, parts: list[TaskEstimate], price: Price | None, batch: bool, notes: tuple[str, ...]
) -> Table:
    total = TaskEstimate(task="in all")
    for part in parts:
        for field in TaskEstimate.__struct_fields__[1:]:
            setattr(total, field, getattr(total, field) + getattr(part, field))
    rows = [*parts, total] if len(parts) > 1 else parts
    currency = price.currency if price is not None else "USD"
    return Table(
        title=f"{prepared.model.name}, style {prepared.plan.settings.style}",
        columns=(
            "task",
            "requests",
            "pictures",
            "videos",
            "frames",
            "sounds",
            "tokens in, about",
            "tokens out, at most",
            f"{currency}, about",
        ),
        body=tuple(
            (
                part.task,
                part.requests,
                part.pictures,
                part.videos,
                part.frames,
                part.sounds,
                part.tokens_in,
                part.tokens_out,
                "–" if (cost := part.cost(price, batch=batch)) is None else f"{cost:.2f}",
            )
            for part in rows
        ),
        notes=notes,
    )


def _list_notes(
    prepared: PlannedRun, parts: list[TaskEstimate], price: Price | None, done: int, options: RunOptions
) -> list[str]:
    notes: list[str] = []
    requests = sum(part.requests for part in parts)
    tokens = sum(part.tokens_in + part.tokens_out for part in parts)
    if done:
        notes.append(f"{done} of {prepared.plan.size} samples are done and not counted")
    if price is not None:
        notes.append(
            f"{price.currency} {price.input:g} in and {price.output:g} out for a million tokens, as of "
            f"{price.as_of or 'an unknown date'}; prices change, --prices FILE puts yours in their place"
        )
        if price.note:
            notes.append(f"this price holds {price.note}" if price.note.startswith("until") else price.note)
        if options.batch and price.batch != 1:
            notes.append(f"a batch costs {price.batch:.0%} of that, and is counted so")
    elif costs_money(prepared.model, price):
        notes.append(
            f"no price is known for {prepared.model.name}; --prices FILE gives one, `vivant models prices` shows all"
        )
    thoughts = sum(part.tokens_thinking for part in parts)
    if thoughts:
        notes.append(
            f"tokens out hold room for {thoughts:,} tokens of thoughts; models mostly take far less of it "
            "(--thinking-tokens, --effort)"
        )
    minutes = max(
        requests / options.rpm if options.rpm else 0.0, tokens / options.tpm if options.tpm else 0.0
    )
    if minutes >= 1:
        notes.append(f"--rpm and --tpm make this last about {minutes:.0f} minutes, or somewhat less")
    cost = sum(part.cost(price, batch=options.batch) or 0.0 for part in parts)
    if options.confirm_above is not None and cost > options.confirm_above:
        notes.append(f"this may pass --confirm-above {options.confirm_above:g}; the run would ask")
    if options.budget_cost is not None and cost > options.budget_cost:
        notes.append(f"this may pass --budget-cost {options.budget_cost:g}; the run would stop before")
    if options.budget_tokens is not None and tokens > options.budget_tokens:
        notes.append(f"this may pass --budget-tokens {options.budget_tokens:,}; the run would stop before")
    return notes
