"""Price tables: the bundled `prices.yaml`, and a user's own over it.

A price belongs to a whole name. A name that no table has is unknown, however near it is to another: a newer model is
never priced as an older one. In each table a whole name goes before a beginning that ends in `*`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from vivant.core.errors import DataError, UsageError
from vivant.core.paths import config_root
from vivant.core.yaml_files import load_yaml, read_resource, write_yaml
from vivant.models.model_table import PictureTokens

_DATE = re.compile(r"[-@](20\d\d-\d\d-\d\d|20\d{6})$")
_FORM = "a price file looks like `models: {openai/gpt-5: {input: 1.25, output: 10}}`, for a million tokens"
_HEAD = "Prices for a million tokens, over those that come with Vivant: `vivant models prices`."
_LITELLM_PROVIDERS = {
    "openai": "openai",
    "anthropic": "anthropic",
    "gemini": "gemini",
    "xai": "xai",
    "mistral": "mistral",
    "groq": "groq",
    "dashscope": "dashscope",
    "openrouter": "openrouter",
    "together_ai": "together",
    "fireworks_ai": "fireworks",
}
"""Providers of litellm's table and their names here."""


class PriceFacts(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """What a million tokens of a model cost."""

    input: float
    output: float
    as_of: str = ""
    source: str = ""
    note: str = ""
    picture: PictureTokens | None = None
    batch: float | None = None


class PriceTable(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """Prices by the names of models."""

    models: Mapping[str, PriceFacts]
    as_of: str = ""
    source: str = ""
    currency: str = "USD"
    batch: Mapping[str, float] = {}
    """By provider, the share of a price that is charged in batches."""

    def find(self, name: str) -> str | None:
        """The entry for a model: its whole name, without its date, or the longest beginning that ends in `*`."""
        for whole in (name, _DATE.sub("", name)):
            if whole in self.models:
                return whole
        starts = [key for key in self.models if key.endswith("*") and name.startswith(key[:-1])]
        return max(starts, key=len, default=None)


class PriceSource(Struct, frozen=True):
    """A table and where it comes from."""

    origin: str
    """`bundled`, or a path."""
    table: PriceTable


@cache
def load_bundled_prices() -> PriceTable:
    """Read the table that comes with the package."""
    return read_resource("vivant.models", "prices.yaml", PriceTable)


def user_price_file() -> Path:
    """The user's own table. May not exist."""
    return config_root() / "prices.yaml"


def list_price_sources(file: str | None = None) -> list[PriceSource]:
    """All tables that count, the first first: `file`, $VIVANT_PRICES, the user's own, the bundled one."""
    paths = [Path(named).expanduser() for named in (file, os.environ.get("VIVANT_PRICES")) if named]
    if user_price_file().exists():
        paths.append(user_price_file())
    sources = [PriceSource(str(path), read_price_file(path)) for path in dict.fromkeys(paths)]
    return [*sources, PriceSource("bundled", load_bundled_prices())]


def read_price_file(path: Path) -> PriceTable:
    """Read a table in the form of `prices.yaml`, or litellm's `model_prices_and_context_window.json`."""
    try:
        if path.suffix == ".json":
            content = _load_json(path)
            if isinstance(content, dict) and "models" not in content:
                return _read_litellm(path, content)
        else:
            content = load_yaml(path)
        try:
            return msgspec.convert(content, PriceTable)
        except msgspec.ValidationError as error:
            raise DataError(f"{path}: {str(error).replace('`$.', '`')}") from None
    except DataError as error:
        raise UsageError(f"{error}; {_FORM}") from error


def _load_json(path: Path) -> Any:
    try:
        return msgspec.json.decode(path.read_bytes())
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}") from None
    except msgspec.DecodeError as error:
        raise DataError(f"{path} is not JSON: {error}") from None


def _read_litellm(path: Path, content: Mapping[str, Any]) -> PriceTable:
    models: dict[str, PriceFacts] = {}
    for key, facts in content.items():
        if not isinstance(facts, dict) or facts.get("mode") not in ("chat", "responses"):
            continue
        provider = facts.get("litellm_provider")
        sent, written = (facts.get(f"{kind}_cost_per_token") for kind in ("input", "output"))
        if not isinstance(sent, int | float) or not isinstance(written, int | float):
            continue
        if provider in _LITELLM_PROVIDERS and (sent or written):  # 0 is unknown, or free for a while
            name = f"{_LITELLM_PROVIDERS[provider]}/{key.removeprefix(f'{provider}/')}"
            share = _batch_share(facts.get("input_cost_per_token_batches"), sent)
            models[name] = PriceFacts(_for_a_million(sent), _for_a_million(written), batch=share)
    if not models:
        raise DataError(f"{path} holds no prices")
    seen = datetime.fromtimestamp(path.stat().st_mtime, UTC)
    return PriceTable(models=models, as_of=f"{seen:%Y-%m}", source="list")


def _for_a_million(cost: float) -> float:
    return round(cost * 1_000_000, 6)


def _batch_share(batch: Any, cost: Any) -> float | None:
    return round(batch / cost, 4) if isinstance(batch, int | float) and cost else None


def list_lookup_names(name: str, server: str) -> tuple[str, ...]:
    """Under which names a model's price may stand, the best first.

    A model behind OpenAI's protocol is first looked for under the server's own name: `xai/grok-4` for `openai/grok-4`
    at api.x.ai. The bundled price of OpenAI's models counts at OpenAI, at Azure and at servers that are not known.
    """
    from vivant.models.model_table import find_server

    backend, _, model = name.partition("/")
    if backend != "openai" or not server:
        return (name,)
    facts = find_server(server)
    return (name,) if facts.name in ("generic", "openai", "azure") else (f"{facts.name}/{model}", name)


def find_price_entry(names: Sequence[str], sources: Iterable[PriceSource]) -> tuple[PriceSource, str] | None:
    """The first table that has one of the names, and the entry's name. In the bundled one only the best name counts."""
    for source in sources:
        for name in names[:1] if source.origin == "bundled" else names:
            entry = source.table.find(name)
            if entry is not None:
                return source, entry
    return None


class PriceUpdate(Struct):
    """What became of a user's own table."""

    added: list[str] = []
    """Names of models."""
    changed: list[str] = []
    unchanged: int = 0


def update_user_prices(file: Path) -> PriceUpdate:
    """Take the prices of a file over into the user's own table. Names that only the user's table has stay."""
    new = read_price_file(file)
    path = user_price_file()
    old = read_price_file(path) if path.exists() else PriceTable(models={}, currency=new.currency)
    if old.models and old.currency != new.currency:
        raise UsageError(
            f"{file} is in {new.currency} and {path} in {old.currency}; one table has one currency"
        )
    result = PriceUpdate()
    models = dict(old.models)
    for name, facts in new.models.items():
        dated = msgspec.structs.replace(
            facts, as_of=facts.as_of or new.as_of, source=facts.source or new.source
        )
        if name not in models:
            result.added.append(name)
        elif models[name] == dated:
            result.unchanged += 1
        else:
            result.changed.append(name)
        models[name] = dated
    merged = msgspec.structs.replace(
        old, models=dict(sorted(models.items())), batch={**old.batch, **new.batch}
    )
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_yaml(path, msgspec.to_builtins(merged), _HEAD)
    except OSError as error:
        raise UsageError(f"Cannot write {path}: {error.strerror}") from error
    return result
