"""What a model's tokens cost, by the price tables that count (`models/price_table.py`)."""

from __future__ import annotations

from ipaddress import ip_address
from urllib.parse import urlsplit

from vivant.engine.budget import Price
from vivant.models.base import Model
from vivant.models.price_table import (
    PriceSource,
    find_price_entry,
    list_lookup_names,
    list_price_sources,
    load_bundled_prices,
)


def find_price(model: Model, file: str | None = None) -> Price | None:
    """Find what the model's provider charges; None where that is not known. A server of one's own charges nothing."""
    return find_price_by_name(model.name, model.server, file)


def find_price_by_name(name: str, server: str, file: str | None = None) -> Price | None:
    """Find the price of a model that is known by its name and where it answered."""
    sources = list_price_sources(file)
    if is_own_server(server):
        sources = [source for source in sources if source.origin != "bundled"]
    entry = find_price_entry(list_lookup_names(name, server), sources)
    return None if entry is None else make_price(*entry)


def make_price(source: PriceSource, entry: str) -> Price:
    """A table's entry as a price."""
    table = source.table
    facts = table.models[entry]
    provider = entry.partition("/")[0]
    bundled = load_bundled_prices().batch.get(provider, 1.0)
    return Price(
        input=facts.input,
        output=facts.output,
        as_of=facts.as_of or table.as_of,
        currency=table.currency,
        picture=facts.picture,
        batch=table.batch.get(provider, bundled) if facts.batch is None else facts.batch,
        note=facts.note,
    )


def costs_money(model: Model, price: Price | None) -> bool:
    """Whether somebody charges for a model's replies, as far as can be seen: a price, or a server of others."""
    return price is not None or (bool(model.server) and not is_own_server(model.server))


def is_own_server(server: str) -> bool:
    """Whether an address is on this machine or in a private network."""
    host = urlsplit(server).hostname or ""
    if host in ("", "localhost") or "." not in host:
        return host != ""
    try:
        return ip_address(host).is_private
    except ValueError:
        return False
