"""Choices that rest on meaning: wrong options that are not near-right, and backgrounds that do not fit.

Similarities are cosines of MiniLM, rounded before they are compared, so that the last bits of a machine's
arithmetic decide nothing; every draw is seeded by the action's name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from vivant.core import randomness as chance
from vivant.core.errors import DataError

TOO_CLOSE = 0.5
"""From this cosine up an answer counts as right in free form, so no wrong option may reach it."""
DISTRACTORS = 3
"""Wrong options of an action."""
_DIGITS = 4


class PhraseEncoder(Protocol):
    """Texts to unit vectors: `vivant.metrics.similarity.load_encoder()`."""

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One row per text."""


class Similarities:
    """Cosines between the texts it was given, computed once."""

    def __init__(self, encoder: PhraseEncoder, texts: Sequence[str]) -> None:
        distinct = list(dict.fromkeys(texts))
        self._place = {text: index for index, text in enumerate(distinct)}
        vectors = np.asarray(encoder.encode(distinct), dtype=float)
        self._cosines = np.round(vectors @ vectors.T, _DIGITS)

    def best(self, texts: Sequence[str], others: Sequence[str]) -> float:
        """The highest cosine between any of `texts` and any of `others`."""
        rows = [self._place[text] for text in texts]
        columns = [self._place[text] for text in others]
        return float(self._cosines[np.ix_(rows, columns)].max())


def choose_distractors(
    action: str,
    labels: Mapping[str, tuple[str, ...]],
    near: Similarities,
    *,
    seed: int,
    drop: int,
    count: int = DISTRACTORS,
) -> tuple[str, ...]:
    """`count` labels of other actions, drawn after the `drop` nearest in meaning were left out.

    None is within `TOO_CLOSE` of any label of this action, and no two are names of one thing. How many of them are
    shorter than the right option is drawn first, each number as likely as the others where the labels allow it: so
    that neither the longest nor the shortest option is right more often than chance.
    """
    own_labels = labels[action]
    pool = {
        label: name
        for name, group in labels.items()
        if name != action
        for label in group
        if label not in own_labels
    }
    ranked = sorted(pool, key=lambda label: (-near.best(own_labels, [label]), label))
    allowed = [label for label in ranked[drop:] if near.best(own_labels, [label]) < TOO_CLOSE]
    generator = chance.derive_generator(seed, "mime-options", action)
    generator.shuffle(allowed)

    def pick(candidates: Sequence[str], number: int, chosen: Sequence[str] = ()) -> list[str]:
        picked = list(chosen)
        for label in candidates:
            if len(picked) == len(chosen) + number:
                break
            if all(
                pool[label] != pool[other] and near.best([label], [other]) < TOO_CLOSE for other in picked
            ):
                picked.append(label)
        return picked

    length = len(own_labels[0])
    shorter = [label for label in allowed if len(label) < length]
    longer = [label for label in allowed if len(label) > length]
    for number in generator.sample(range(count + 1), count + 1):
        chosen = pick(longer, count - number, pick(shorter, number))
        if len(chosen) == count:
            return tuple(chosen)
    chosen = pick(allowed, count)
    if len(chosen) == count:
        return tuple(chosen)
    raise DataError(
        f"action '{action}' has only {len(chosen)} of {count} wrong options left after the {drop} nearest "
        "labels are dropped; plan more actions, drop fewer (`drop: 0` drops none), or state its `distractors:`"
    )


def choose_misaligned(
    action: str,
    labels: Mapping[str, tuple[str, ...]],
    scenes: Mapping[str, str],
    words: Mapping[str, tuple[str, ...]],
    near: Similarities,
    *,
    seed: int,
) -> str:
    """A background that fits another action of the plan and lies in the half that is farthest in meaning.

    `scenes` gives each action's own background, `words` says in phrases what people do before each.
    """
    fitting: dict[str, list[str]] = {}
    for name, scene in scenes.items():
        fitting.setdefault(scene, list(words[scene])).extend(labels[name])
    fitting.pop(scenes[action])
    nearness = {scene: near.best(labels[action], phrases) for scene, phrases in fitting.items()}
    ranked = sorted(nearness, key=lambda scene: (nearness[scene], scene))
    far = [scene for scene in ranked[: max(1, len(ranked) // 2)] if nearness[scene] < TOO_CLOSE]
    if not far:
        raise DataError(
            f"all backgrounds fit action '{action}' in some way; plan actions of other places, or state its "
            "`misaligned:`"
        )
    return chance.derive_generator(seed, "mime-misaligned", action).choice(far)
