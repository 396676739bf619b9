"""What a model's tokens cost: a dated table that comes along, and the user's own over it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib.resources import files
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import urlsplit

import msgspec
import yaml
from msgspec import Struct

from vivant.core.errors import UsageError
from vivant.engine.budget import Price
from vivant.models.base import Model
from vivant.models.capabilities import PictureTokens


class _Entry(Struct, frozen=True, forbid_unknown_fields=True):
    input: float
    output: float
    as_of: str = ""
    picture: PictureTokens | None = None
    batch: float | None = None


class _Table(Struct, frozen=True, forbid_unknown_fields=True):
    models: Mapping[str, _Entry]
    as_of: str = ""
    currency: str = "USD"
    batch: Mapping[str, float] = {}
    """By provider, the share of a price that is asked in batches."""


def price_of(model: Model, file: str | None = None) -> Price | None:
    """What the model's provider asks; None where it is not known. A server of one's own asks nothing."""
    return price_named(model.name, model.server, file)


def price_named(name: str, server: str, file: str | None = None) -> Price | None:
    """`price_of` a model that is known by its name and where it answered."""
    content = files("vivant.engine").joinpath("prices.yaml").read_bytes()
    bundled = msgspec.convert(yaml.safe_load(content), _Table)
    own = file or os.environ.get("VIVANT_PRICES")
    if own and (price := _find(name, _read(Path(own).expanduser()), bundled.batch)) is not None:
        return price
    return None if _local(server) else _find(name, bundled, {})


def _read(path: Path) -> _Table:
    try:
        return msgspec.convert(yaml.safe_load(path.read_bytes()), _Table)
    except OSError as error:
        raise UsageError(f"Cannot read the prices {path}: {error.strerror}") from error
    except (yaml.YAMLError, msgspec.ValidationError) as error:
        line = " ".join(str(error).split())
        raise UsageError(
            f"{path} should hold `models: {{NAME: {{input: …, output: …}}}}` for a million tokens: {line}"
        ) from error


def _find(name: str, table: _Table, batch: Mapping[str, float]) -> Price | None:
    """By the longest name that the model's begins with, up to a hyphen, a colon or its end. `batch` has providers'
    shares that the table does not give."""
    fitting = [
        key for key in table.models if name == key or name.startswith((f"{key}-", f"{key}:", f"{key}@"))
    ]
    if not fitting:
        return None
    entry = table.models[max(fitting, key=len)]
    provider = name.partition("/")[0]
    share = table.batch.get(provider, batch.get(provider, 1.0)) if entry.batch is None else entry.batch
    return Price(
        input=entry.input,
        output=entry.output,
        as_of=entry.as_of or table.as_of,
        currency=table.currency,
        picture=entry.picture,
        batch=share,
    )


def _local(server: str) -> bool:
    """Whether an address is on this machine or in a private network."""
    host = urlsplit(server).hostname or ""
    if host in ("", "localhost") or "." not in host:
        return host != ""
    try:
        return ip_address(host).is_private
    except ValueError:
        return False
