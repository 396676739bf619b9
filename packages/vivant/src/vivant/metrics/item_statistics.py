"""What runs say about the items of a benchmark: how hard each is, how well it tells runs apart, whether its key holds.

Columns are runs, rows are items. NaN or −1: the run has no answer to the item.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

Matrix = NDArray[np.float64]
Codes = NDArray[np.int16]
Column = NDArray[np.float64]
WRONG_KEYS = 0.02
"""The share of wrong keys to reckon with before any answer is seen."""
_SUREST = 0.98


def difficulty(values: Matrix) -> Column:
    """The mean value of each item over runs; NaN where none answered it."""
    known = np.isfinite(values)
    counts = known.sum(axis=1)
    return np.where(counts > 0, np.where(known, values, 0).sum(axis=1) / np.maximum(counts, 1), np.nan)


def discrimination(values: Matrix) -> Column:
    """The correlation of each item with the runs' scores on all other items; NaN where it cannot be told.

    Known as the corrected item-total correlation. It needs three runs that answered the item and do not all agree.
    """
    known = np.isfinite(values)
    filled = np.where(known, values, 0.0)
    others = known.sum(axis=0) - known
    rest = np.divide(filled.sum(axis=0) - filled, others, out=np.zeros_like(filled), where=others > 0)
    usable = known & (others > 0)
    count = usable.sum(axis=1)
    safe = np.maximum(count, 1)[:, None]
    a = np.where(usable, filled - np.where(usable, filled, 0).sum(axis=1, keepdims=True) / safe, 0)
    b = np.where(usable, rest - np.where(usable, rest, 0).sum(axis=1, keepdims=True) / safe, 0)
    product = np.sqrt((a * a).sum(axis=1) * (b * b).sum(axis=1))
    defined = (count >= 3) & (product > 1e-12)
    return np.where(defined, (a * b).sum(axis=1) / np.where(defined, product, 1.0), np.nan)


def disagreement(codes: Codes) -> Column:
    """The share of pairs of runs that chose different options; NaN with fewer than two answers."""
    runs = (codes >= 0).sum(axis=1)
    same = np.zeros(len(codes))
    for code in range(int(codes.max(initial=-1)) + 1):
        times = (codes == code).sum(axis=1)
        same += times * (times - 1)
    pairs = runs * (runs - 1)
    return np.where(pairs > 0, 1 - same / np.maximum(pairs, 1), np.nan)


class KeyCheck(Struct, frozen=True, eq=False):
    """How probable it is that an item's key is right, and what runs choose instead."""

    posterior: Column
    """Of the key; NaN with no answer."""
    rival: NDArray[np.intp]
    """The option, other than the key, that answers speak for most; −1 where nobody chose another."""
    rival_posterior: Column
    shared_errors: float
    """How far runs that err choose the same wrong option, beyond chance: 0 not at all, 1 always."""


def check_keys(
    codes: Codes, option_bits: NDArray[np.uint64], sizes: NDArray[np.int16], prior: float = WRONG_KEYS
) -> KeyCheck:
    """Weigh the runs' answers for and against each key. Option 0 is the key.

    A run that is right on a share a of the other items chooses the true option with probability a, any other with the
    rest in equal parts. Runs that err tend to err alike, so each answer counts less than a whole one: by the design
    effect of the errors that they share.

    Args:
        codes: the option that each run chose; −1: none.
        option_bits: which options each run was shown, as bits.
        sizes: how many options each run was shown.
        prior: the share of wrong keys to reckon with.
    """
    answered = codes >= 0
    right = codes == 0
    counts = answered.sum(axis=0)
    skill = (right.sum(axis=0) - right + 1.0) / (counts - answered + 2.0)
    options = np.maximum(sizes.astype(np.float64), 2)
    skill = np.clip(skill, 1 / options + 0.02, _SUREST)
    hit, miss, blind = np.log(skill), np.log((1 - skill) / (options - 1)), np.log(1 / options)
    shared, without = measure_shared_errors(codes, sizes)
    runs = answered.sum(axis=1)
    effect = 1 + np.maximum(runs - 1, 0) * without
    last = int(codes.max(initial=0))
    bits = max(last + 1, 2)
    logs = np.full((len(codes), bits), -np.inf)
    for code in range(bits):
        visible = (option_bits >> np.uint64(code)) & np.uint64(1) == 1
        terms = np.where(visible, np.where(codes == code, hit, miss), blind)
        # Only options that some run chose stand against the key; the others cannot gain by answers.
        alive = (codes == code).any(axis=1) if code else np.ones(len(codes), bool)
        logs[:, code] = np.where(alive, np.where(answered, terms, 0).sum(axis=1) / effect, -np.inf)
    rivals = np.maximum(options.max(axis=1, initial=2) - 1, 1)
    logs[:, 0] += np.log(1 - prior)
    logs[:, 1:] += np.log(prior / rivals)[:, None]
    weights = np.exp(logs - logs.max(axis=1, keepdims=True))
    weights /= weights.sum(axis=1, keepdims=True)
    rival = weights[:, 1:].argmax(axis=1) + 1
    chosen = (codes > 0).any(axis=1)
    return KeyCheck(
        np.where(runs > 0, weights[:, 0], np.nan),
        np.where(chosen, rival, -1).astype(np.intp),
        np.where(chosen, weights[np.arange(len(codes)), rival], 0.0),
        shared,
    )


def measure_shared_errors(codes: Codes, sizes: NDArray[np.int16]) -> tuple[float, Column]:
    """Of two runs that both err, how often they choose the same option, beyond chance: of all items, and without each.

    An item's own answers must not decide how far they count: a wrong key looks like an error that all share.
    """
    wrong = codes > 0
    same, expected, pairs = np.zeros((3, len(codes)))
    for first in range(codes.shape[1]):
        both = wrong[:, first + 1 :] & wrong[:, [first]]
        count = np.maximum(np.maximum(sizes[:, first + 1 :], sizes[:, [first]]) - 1, 1)
        same += (both & (codes[:, first + 1 :] == codes[:, [first]])).sum(axis=1)
        expected += (both / count).sum(axis=1)
        pairs += both.sum(axis=1)

    def share(same: Column, expected: Column, pairs: Column) -> Column:
        room = pairs - expected
        return np.clip(np.divide(same - expected, room, out=np.zeros_like(room), where=room > 0), 0.0, 1.0)

    totals = [np.array([column.sum()]) for column in (same, expected, pairs)]
    others = [total - column for total, column in zip(totals, (same, expected, pairs), strict=True)]
    return float(share(*totals)[0]), share(*others)
