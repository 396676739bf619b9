"""`vivant models`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument

from vivant.cli import options as o
from vivant.cli.help import CommandApp
from vivant.cli.output import print_table, say
from vivant.cli.parsing import parse_model_options
from vivant.core.table import Table
from vivant.models.registry import list_backends

if TYPE_CHECKING:
    from vivant.core.types import Reply
    from vivant.models.base import Model
    from vivant.models.check import ModelCheck

app = CommandApp(invoke_without_command=True)


@app.callback()
def models(ctx: typer.Context) -> None:
    """All backends: how each is written after --model, what it needs, and whether that is there."""
    if ctx.invoked_subcommand is None:
        from vivant.models.check import check_readiness

        body = [(b.form, b.summary, b.needs, check_readiness(b)) for b in list_backends().values()]
        own = "your own model; `vivant models new my_model.py` writes one"
        body.append(("./file.py:Class", own, "nothing", "yes"))
        print_table(
            Table(title="Models", columns=("--model", "what it is", "needs", "ready"), body=tuple(body))
        )
        say("Whether one answers: vivant models check NAME")


@app.command()
def check(
    name: Annotated[str, Argument(metavar="MODEL", help="As after --model.")],
    base_url: o.BaseUrl = None,
    model_option: o.ModelOption = None,
    timeout: o.Timeout = 120.0,
    trust_remote_code: o.TrustRemoteCode = False,
) -> None:
    """Send one tiny request with a picture: what came back, in which time, for how many tokens.

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
    if checked.reply.status not in ("ok", "truncated"):
        raise typer.Exit(1)


def _table(model: Model, checked: ModelCheck) -> Table:
    reply, takes = checked.reply, model.capabilities
    media = [kind for kind, taken in (("images", takes.images), ("sound", takes.audio)) if taken]
    limits = _limits(model)
    body = [
        ("verdict", checked.verdict),
        ("reply", reply.text.strip()[:200] or "(empty)"),
        (
            "seconds",
            f"{checked.seconds:.2f}" + (f", ready after {checked.loaded:.1f}" if checked.loaded > 1 else ""),
        ),
        (
            "tokens in, out",
            f"{_format_tokens(reply.tokens_in)}, {_format_tokens(reply.tokens_out)}{_cost(model, reply)}",
        ),
        ("names itself", reply.model or "(not said)"),
        ("is sent", ", ".join(["text", *media])),
        ("weighs options (--answer-by loglik)", "yes" if model.has_loglikelihood else "no"),
        ("limits kept", limits or "none known"),
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
def new(path: Annotated[Path, Argument(metavar="FILE.py")]) -> None:
    """Write a working example of a model of your own."""
    from vivant.models.custom import write_example

    write_example(path)
    say(f"Written. Try it: vivant run mime --data mini --model ./{path}:MyModel --limit 20")
