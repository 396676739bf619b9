"""Whether a checkpoint gave a model all of its weights. What the library only warns of is an error here."""

from __future__ import annotations

import fnmatch
from collections.abc import Collection, Mapping
from typing import Any

from vivant.models.base import ModelError

_HARMLESS = ("*.position_ids", "*rotary_emb.inv_freq", "*.inv_freq", "*.num_batches_tracked")
"""Buffers that older versions stored and newer ones compute."""


def require_all_weights(
    checkpoint: str, info: Mapping[str, Any], *, unused: Collection[str] = (), quantized: bool = False
) -> None:
    """Raise where weights are missing, left over or of another shape.

    Args:
        checkpoint: its name, for the message.
        info: what `from_pretrained(…, output_loading_info=True)` returns beside the model.
        unused: patterns of weights that the model is not meant to use, such as the other half of a checkpoint.
        quantized: quantized checkpoints store scales and zero points beside their weights.
    """
    allowed = (*_HARMLESS, *unused)
    missing = _list_others(info.get("missing_keys", ()), _HARMLESS)
    unexpected = [] if quantized else _list_others(info.get("unexpected_keys", ()), allowed)
    misshapen = sorted(str(each[0]) for each in info.get("mismatched_keys", ()))
    for names, what in (
        (missing, "lacks"),
        (misshapen, "has in another shape"),
        (unexpected, "has besides, which the model cannot use,"),
    ):
        if names:
            more = f" and {len(names) - 1} more" if len(names) > 1 else ""
            raise ModelError(
                f"{checkpoint} does not fit its own config: it {what} {names[0]}{more}. Is the download complete, "
                "and of this family?"
            )
    if info.get("error_msgs"):
        raise ModelError(
            f"{checkpoint} cannot be loaded: {' '.join(str(info['error_msgs'][0]).split())[:300]}"
        )


def _list_others(names: Collection[str], patterns: Collection[str]) -> list[str]:
    return sorted(
        name for name in map(str, names) if not any(fnmatch.fnmatchcase(name, each) for each in patterns)
    )
