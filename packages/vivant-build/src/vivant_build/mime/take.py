"""One performance of an action: its clock, its natural variation by seed, and curves through keys."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from vivant.core import randomness as chance
from vivant_build.mime.rotation import Array

Value = float | Sequence[float]


def smooth_curve(times: Array, keys: Sequence[tuple[float, Value]]) -> Array:
    """A curve through (time, value) keys that never overshoots them: a monotone cubic.

    It is level at turning points, and before the first key and after the last. Values may be vectors.
    """
    at = np.array([time for time, _ in keys])
    values = np.array([np.atleast_1d(np.asarray(value, dtype=float)) for _, value in keys])
    scalar = np.ndim(keys[0][1]) == 0
    if len(keys) == 1:
        flat = np.broadcast_to(values[0], (len(times), values.shape[1])).copy()
        return flat[:, 0] if scalar else flat
    gaps = np.diff(at)
    if np.any(gaps <= 0):
        raise ValueError(f"key times must rise: {at.tolist()}")
    slopes = np.diff(values, axis=0) / gaps[:, None]
    tangents = np.zeros_like(values)
    for index in range(1, len(keys) - 1):
        before, after = slopes[index - 1], slopes[index]
        same = before * after > 0
        w1, w2 = 2 * gaps[index] + gaps[index - 1], gaps[index] + 2 * gaps[index - 1]
        safe_before, safe_after = np.where(same, before, 1.0), np.where(same, after, 1.0)
        tangents[index] = np.where(same, (w1 + w2) / (w1 / safe_before + w2 / safe_after), 0.0)
    clock = np.clip(times, at[0], at[-1])
    left = np.clip(np.searchsorted(at, clock, side="right") - 1, 0, len(keys) - 2)
    gap = gaps[left]
    s = ((clock - at[left]) / gap)[:, None]
    curve = (
        (2 * s**3 - 3 * s**2 + 1) * values[left]
        + (s**3 - 2 * s**2 + s) * gap[:, None] * tangents[left]
        + (3 * s**2 - 2 * s**3) * values[left + 1]
        + (s**3 - s**2) * gap[:, None] * tangents[left + 1]
    )
    return np.asarray(curve[:, 0] if scalar else curve)


@dataclass(frozen=True)
class Variation:
    """What differs between two people who mime the same thing. The neutral one is all ones."""

    tempo: float = 1.0
    """More is quicker, and the clip shorter."""
    amplitude: float = 1.0
    mirrored: bool = False
    """Left-handed."""
    stature: float = 1.0
    turn: float = 0.0
    """Degrees by which the actor stands turned from the action's usual heading."""


def vary(seed: int, actor: str, action: str, *, may_mirror: bool) -> Variation:
    """One actor in one action: stature and hand belong to the actor, the rest to the take."""
    person = chance.derive_generator(seed, "mime-actor", actor)
    stature, left_handed = person.uniform(0.96, 1.04), person.random() < 0.35
    take = chance.derive_generator(seed, "mime-take", actor, action)
    return Variation(
        tempo=take.uniform(0.92, 1.08),
        amplitude=take.uniform(0.92, 1.08),
        mirrored=left_handed and may_mirror,
        stature=stature,
        turn=take.uniform(-8.0, 8.0),
    )


class Take:
    """The clock and the helpers that a choreography is written with.

    `t` runs over the action's nominal seconds whatever the tempo, so keys are written once.
    """

    def __init__(self, seconds: float, fps: float, variation: Variation, noise_seed: int) -> None:
        self.count = max(2, round(seconds / variation.tempo * fps))
        self.t: Array = np.arange(self.count) / fps * variation.tempo
        self.fps = fps
        self.seconds = seconds
        self.amplitude = variation.amplitude
        self._noise = np.random.default_rng(noise_seed)

    def hold(self, *value: float) -> Array:
        """A value that stays: a number (frames,) or a vector (frames, n)."""
        array = np.broadcast_to(np.asarray(value), (self.count, len(value))).copy()
        return array[:, 0] if len(value) == 1 else array

    def wave(self, hertz: float, phase: float = 0.0) -> Array:
        """A sine of `hertz` cycles per nominal second; `phase` in cycles."""
        return np.sin(2 * np.pi * (hertz * self.t + phase))

    def drift(self, size: float, channels: int = 3) -> Array:
        """Slow wandering of about `size`, as nobody stands quite still."""
        curve = np.zeros((self.count, channels))
        for hertz in (0.23, 0.41, 0.77):
            phases = self._noise.uniform(0, 2 * np.pi, channels)
            curve += np.sin(2 * np.pi * hertz * self.t[:, None] + phases) / (1 + hertz)
        return curve * (size / 1.5)
