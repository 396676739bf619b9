"""What a model's tokens cost: a dated table that comes along, and the user's own over it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import urlsplit

from vivant.core.errors import DataError, UsageError
from vivant.core.yaml_files import read_yaml
from vivant.engine.budget import Price
from vivant.models.base import Model
from vivant.models.model_table import PriceTable, load_model_table


def find_price(model: Model, file: str | None = None) -> Price | None:
    """Find what the model's provider charges; None where that is not known. A server of one's own charges nothing."""
    return find_price_by_name(model.name, model.server, file)


def find_price_by_name(name: str, server: str, file: str | None = None) -> Price | None:
    """Find the price of a model that is known by its name and where it answered."""
    bundled = load_model_table().prices
    user_file = file or os.environ.get("VIVANT_PRICES")
    if user_file and (price := _find(name, _read(Path(user_file).expanduser()), bundled.batch)) is not None:
        return price
    return None if _local(server) else _find(name, bundled, {})


def _read(path: Path) -> PriceTable:
    try:
        return read_yaml(path, PriceTable)
    except DataError as error:
        raise UsageError(
            f"{error} (a price file holds `models: {{NAME: {{input: …, output: …}}}}` for a million tokens)"
        ) from error


def _find(name: str, table: PriceTable, batch: Mapping[str, float]) -> Price | None:
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
