"""`vivant models`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from vivant.cli import options as o
from vivant.cli.help import CommandApp
from vivant.cli.output import print_message, print_table
from vivant.cli.parsing import parse_model_options
from vivant.core.table import Table
from vivant.models.registry import list_backends

if TYPE_CHECKING:
    from vivant.core.types import Reply
    from vivant.models.base import Model
    from vivant.models.check import ModelCheck
    from vivant.models.price_table import PriceSource, PriceUpdate

app = CommandApp(invoke_without_command=True)


@app.callback()
def models(ctx: typer.Context) -> None:
    """All backends: how each is written after --model, what it needs, and whether that is there.

    Examples:

        vivant models

        vivant models check openai/gpt-4o-mini
    """
    if ctx.invoked_subcommand is None:
        from vivant.models.check import check_readiness

        body = [(b.form, b.summary, b.needs, check_readiness(b)) for b in list_backends().values()]
        own = "your own model; `vivant models new my_model.py` writes one"
        body.append(("./file.py:Class", own, "nothing", "yes"))
        print_table(
            Table(title="Models", columns=("--model", "what it is", "needs", "ready"), body=tuple(body))
        )
        print_message("Whether one answers: vivant models check NAME")


@app.command()
def check(
    name: Annotated[str, Argument(metavar="MODEL", help="As after --model.")],
    base_url: o.BaseUrl = None,
    model_option: o.ModelOption = None,
    timeout: o.Timeout = 120.0,
    trust_remote_code: o.TrustRemoteCode = False,
) -> None:
    """Send tiny requests, of text alone, with a picture, and for likelihoods where offered: what came back, in which
    time, for how many tokens.

    Examples:

        vivant models check openai/gpt-4o-mini

        vivant models check openai/my-model --base-url http://localhost:8000/v1
    """
    import asyncio

    from vivant.models.base import ModelOptions
    from vivant.models.check import check_model as ask
    from vivant.models.registry import create

    values = parse_model_options(model_option, trust_remote_code)
    model = create(name, ModelOptions(base_url=base_url, timeout=timeout, values=values))
    checked = asyncio.run(ask(model))
    print_table(_table(model, checked))
    if not checked.passed:
        raise typer.Exit(1)


def _table(model: Model, checked: ModelCheck) -> Table:
    takes = model.capabilities
    media = [kind for kind, taken in (("images", takes.images), ("sound", takes.audio)) if taken]
    body = [("text alone", checked.text.verdict)]
    if checked.picture is not None:
        body.append(("with a picture", checked.picture.verdict))
    body.append(("weighs options (--answer-by loglik)", checked.likelihood_verdict))
    trial = checked.picture or checked.text
    reply = trial.reply
    ready = f", ready after {checked.loaded:.1f}" if checked.loaded > 1 else ""
    tokens = f"{_format_tokens(reply.tokens_in)}, {_format_tokens(reply.tokens_out)}{_cost(model, reply)}"
    body += [
        ("reply", reply.text.strip()[:200] or "(empty)"),
        ("seconds", f"{trial.seconds:.2f}{ready}"),
        ("tokens in, out", tokens),
        ("names itself", reply.model or "(not said)"),
        ("is sent", ", ".join(["text", *media])),
        ("limits kept", _limits(model) or "none known"),
    ]
    return Table(title=model.name, columns=("", "what came back"), body=tuple(body))


def _format_tokens(tokens: int | None) -> str:
    return "not said" if tokens is None else str(tokens)


def _cost(model: Model, reply: Reply) -> str:
    from vivant.engine.prices import find_price
    from vivant.engine.tokens import TokenUsage

    price = find_price(model)
    if price is None or reply.tokens_in is None:
        return ""
    return f" ({price.cost(TokenUsage(reply.tokens_in, reply.tokens_out or 0)):.6f} {price.currency})"


def _limits(model: Model) -> str:
    import msgspec

    if model.limits is None:
        return ""
    limits = msgspec.to_builtins(model.limits)
    limits.pop("picture", None)
    return ", ".join(
        f"{name} {', '.join(value) if isinstance(value, list | tuple) else format(value, ',')}"
        for name, value in limits.items()
    )


@app.command()
def prices(
    names: Annotated[
        list[str] | None, Argument(metavar="NAME…", help="Only models whose names hold one of these.")
    ] = None,
    update: Annotated[
        Path | None,
        Option(
            "--update",
            metavar="FILE",
            help="Take the prices of this file over into your own table: a YAML file as for --prices, or litellm's "
            "model_prices_and_context_window.json.",
        ),
    ] = None,
) -> None:
    """What a million tokens of a model cost: the dated table that comes along, with your own prices over it.

    vivant models prices gpt-5 claude
    vivant models prices --update my-prices.yaml
    """
    from vivant.models.price_table import list_price_sources, update_user_prices, user_price_file

    if update is not None:
        _report_update(update_user_prices(update))
        if not names:
            return
    sources = list_price_sources()
    table = _price_table(sources, wanted=lambda name: not names or any(part in name for part in names))
    if table.body:
        print_table(table)
    for name in names or []:
        if not any(name in str(row[0]) for row in table.body):
            print_message(
                f"No price is known for {name}; --prices FILE or `vivant models prices --update FILE` gives one"
            )
    if names and not table.body:
        raise typer.Exit(1)
    own = [source.origin for source in sources if source.origin != "bundled"]
    print_message(
        f"Your own prices: {', '.join(own)}"
        if own
        else f"Your own prices go over these: {user_price_file()}, $VIVANT_PRICES or --prices FILE"
    )


def _report_update(result: PriceUpdate) -> None:
    """Print what an update added or changed, and how many prices are as before."""
    from vivant.models.price_table import list_price_sources, user_price_file

    changes = {*result.added, *result.changed}
    if changes:
        own = [source for source in list_price_sources() if source.origin == str(user_price_file())]
        print_table(_price_table(own, wanted=changes.__contains__))
    counts = ((len(result.added), "added"), (len(result.changed), "changed"), (result.unchanged, "as before"))
    parts = [f"{count} {what}" for count, what in counts if count]
    if parts:
        number, _, rest = parts[0].partition(" ")
        parts[0] = f"{number} {'price' if number == '1' else 'prices'} {rest}"
    print_message(f"{user_price_file()}: {', '.join(parts) or 'the file holds no prices'}")


def _price_table(sources: Sequence[PriceSource], wanted: Callable[[str], bool]) -> Table:
    """All wanted prices that count, one row per name; the first table that has a name counts."""
    from vivant.engine.prices import make_price

    rows: dict[str, tuple[str, ...]] = {}
    notes = [
        "provider: seen on the provider's page; list: in a public price list",
        "prices change: compare with the provider's page",
    ]
    for source in sources:
        for name, facts in source.table.models.items():
            if name in rows or not wanted(name):
                continue
            price = make_price(source, name)
            where = facts.source or source.table.source or "list"
            rows[name] = (
                name,
                f"{price.input:g}",
                f"{price.output:g}",
                price.as_of or "?",
                where if source.origin == "bundled" else "yours",
            )
            if facts.note:
                notes.append(f"{name}: {facts.note}")
    shares = {name: share for source in reversed(sources) for name, share in source.table.batch.items()}
    if shares:
        notes.append(
            "--batch costs " + ", ".join(f"{share:.0%} with {name}" for name, share in shares.items())
        )
    currencies = dict.fromkeys(source.table.currency for source in sources)
    return Table(
        title=f"Prices for a million tokens, {' or '.join(currencies)}",
        columns=("model", "in", "out", "as of", "from"),
        body=tuple(rows.values()),
        notes=tuple(notes),
    )


@app.command()
def new(path: Annotated[Path, Argument(metavar="FILE.py", help="The file to write.")]) -> None:
    """Write a working example of a model of your own.

    Example:

        vivant models new my_model.py
    """
    from vivant.models.custom import write_example

    write_example(path)
    print_message(f"Written. Try it: vivant run mime --data mini --model ./{path}:MyModel --limit 20")
