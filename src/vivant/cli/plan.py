"""`vivant plan`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Option

from vivant.cli.help import CommandApp
from vivant.cli.output import print_table, say
from vivant.cli.run_options import with_run_options
from vivant.core.files import write_jsonl
from vivant.core.table import Table
from vivant.engine.budget import Price
from vivant.engine.estimate import TaskEstimate, estimate_plan
from vivant.engine.evaluation import PlannedRun, plan_run
from vivant.engine.options import RunOptions
from vivant.engine.prices import costs_money, find_price
from vivant.runs.directory import RunDir
from vivant.runs.log import read_log

app = CommandApp()


@app.command()
@with_run_options()
def plan(
    options: RunOptions,
    write: Annotated[
        str | None,
        Option("--write", metavar="FILE", help="Write every request as a JSON line: key, messages, options."),
    ] = None,
) -> None:
    """Show what `vivant run` with the same arguments would send, and what it may cost. Sends nothing, needs no key.

    Tokens are estimates: from the texts, and from the sizes of some of the pictures and videos. Replies are
    counted at their limit, so that a run costs less rather than more.
    """
    prepared = plan_run(options, needs_key=False)
    done = _done(prepared)
    price = find_price(prepared.model, options.prices)
    parts = estimate_plan(prepared.plan, prepared.model, price, done)
    print_table(_table(prepared, parts, price, options.batch))
    for note in (*prepared.plan.notes, *_notes(prepared, parts, price, len(done), options)):
        say(f"Note: {note}")
    say(f"Run directory: {prepared.out}")
    if write:
        write_jsonl(Path(write), prepared.plan.jobs())
        say(f"Requests written to {write}")


def _done(prepared: PlannedRun) -> frozenset[str]:
    """What the run directory holds already."""
    directory = RunDir(prepared.out)
    if not directory.exists() or directory.manifest().fingerprint != prepared.plan.settings.fingerprint():
        return frozenset()
    return frozenset(r.key for r in read_log(directory.log_file) if r.reply.status != "error")


def _table(prepared: PlannedRun, parts: list[TaskEstimate], price: Price | None, batch: bool) -> Table:
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
    )


def _notes(
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
