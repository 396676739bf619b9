"""The mimed actions that come with the project: one YAML file each, played by `play`.

A file states what the action is called (`labels`: the accepted answers, the first the one that is shown as an
option), where it belongs and how it moves. It is written for a right-hander who faces +Z; left is +X.
`moves` are blocks of `control: value`, set in this order on the pose that `stance` begins with:

- controls are those of `Pose`: `hips`, `turn`, `bend`, `head`, and of its arms and legs, `left.wrist` or
  `right_leg.pitch`. `bend +` adds to what is there, `hips.y` is one component; two controls with a comma between
  have the same value. Any other name is a variable for the formulas below it.
- a value is a number, a formula (see `formulas.py`), a list of them (a vector), or a curve through keys:
  `{keys: {0: 60, 0.7: 82}}`, with seconds and values; `times` and `plus` scale and shift it. With `rate` (turns
  a second) and `start`, the curve repeats and its keys are shares of a turn.
- formulas know `t` (seconds), `amplitude` (the performer's), `wave(hertz, phase)` and `drift(size)`.
- a block with `both` is done for the left side and then for the right: `arm`, `leg` and `sign` (1 and -1) are
  that side's, and so are the values [left, right] that `both` names.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import numpy as np
from msgspec import Struct

from vivant.core import randomness as chance
from vivant.core.errors import DataError, unknown_name_error
from vivant_build.mime.catalog import YamlFolder
from vivant_build.mime.formulas import COMPONENTS, Formulas, align
from vivant_build.mime.motion import Motion
from vivant_build.mime.pose import Pose, sit, solve, stand
from vivant_build.mime.rotation import Array, unit
from vivant_build.mime.take import Take, Variation, smooth_curve

Category = Literal["sport", "music", "chore", "daily", "gesture"]


class Standing(Struct, frozen=True, forbid_unknown_fields=True, tag="stand", tag_field="pose"):
    """At ease, the arms down; see `stand`."""

    apart: float = 0.2
    crouch: float = 0.0


class Sitting(Struct, frozen=True, forbid_unknown_fields=True, tag="sit", tag_field="pose"):
    """On a seat that is not there; see `sit`."""

    height: float = 0.48
    apart: float = 0.3


class Action(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A mimed action. `labels` are the accepted answers, the first the one that is shown as an option."""

    name: str = ""
    labels: tuple[str, ...]
    category: Category
    scene: str
    """The drawn background that fits."""
    seconds: float
    heading: float
    """Degrees by which the actor is turned from the front camera, so that it sees the action well."""
    may_mirror: bool = True
    """Whether left-handers do it the other way round; instruments and machines are built one way."""
    stance: Standing | Sitting
    moves: tuple[dict[str, Any], ...]


ACTIONS = YamlFolder(Path(__file__).parent, Action)
"""Every bundled action, read when it is used."""


def find_action(name: str) -> Action:
    """An action by its name."""
    if name not in ACTIONS:
        raise unknown_name_error("action", name, ACTIONS)
    return ACTIONS[name]


def perform(action: Action, fps: float, variation: Variation | None = None, seed: int = 0) -> Motion:
    """The motion of one performance, turned to its heading; the same arguments give the same motion."""
    chosen = variation or Variation()
    take = Take(action.seconds, fps, chosen, chance.derive_seed(seed, "mime-drift", action.name))
    motion = solve(play(action, take), action.name, fps)
    if chosen.mirrored:
        # Seen from the front, the mirrored actor must face the other side to be seen as well.
        return motion.mirrored().turned(-action.heading - chosen.turn)
    return motion.turned(action.heading + chosen.turn)


def play(action: Action, take: Take) -> Pose:
    """The pose of every frame: the stance, changed by the moves in their order."""
    return _Player(action, take).play()


class _Player:
    def __init__(self, action: Action, take: Take) -> None:
        self._action = action
        self._take = take
        if isinstance(action.stance, Sitting):
            self._pose = sit(take, action.stance.height, apart=action.stance.apart)
        else:
            self._pose = stand(take, apart=action.stance.apart, crouch=action.stance.crouch)
        functions: dict[str, Callable[..., Any]] = {
            "wave": take.wave,
            "drift": take.drift,
            "unit": unit,
            "cross": np.cross,
            "where": np.where,
            "sin": np.sin,
            "cos": np.cos,
            "radians": np.radians,
            "sqrt": np.sqrt,
            "abs": np.abs,
            "minimum": np.minimum,
            "maximum": np.maximum,
            "clip": np.clip,
        }
        sides = ("left", "right", "left_leg", "right_leg")
        names = {
            "t": take.t,
            "amplitude": take.amplitude,
            **{side: getattr(self._pose, side) for side in sides},
        }
        self._formulas = Formulas(names, functions, self._join)

    def play(self) -> Pose:
        for block in self._action.moves:
            both = block.get("both")
            if both is None:
                self._run(block, {})
                continue
            pose = self._pose
            for side, sign, arm, leg in (
                (0, 1.0, pose.left, pose.left_leg),
                (1, -1.0, pose.right, pose.right_leg),
            ):
                self._run(
                    block, {"sign": sign, "arm": arm, "leg": leg, **{k: v[side] for k, v in both.items()}}
                )
        return self._pose

    def _run(self, block: dict[str, Any], names: dict[str, Any]) -> None:
        self._formulas.names.update(names)
        for control, value in block.items():
            if control == "both":
                continue
            targets = control.removesuffix(" +")
            try:
                computed = value if targets.endswith(".frame") else self._compute(value)
                for target in targets.split(", "):
                    self._set(target, computed, add=control.endswith(" +"))
            except DataError as error:
                raise DataError(f"Action {self._action.name}, {control}: {error}") from None

    def _join(self, parts: Any) -> Array:
        """A vector for every frame."""
        return np.stack(np.broadcast_arrays(self._take.t, *parts)[1:], axis=-1).astype(float)

    def _compute(self, value: Any) -> Any:
        if isinstance(value, list):
            return self._join([self._compute(part) for part in value])
        if not isinstance(value, dict):
            return self._formulas.compute(value)
        if not {"keys"} <= set(value) <= {"keys", "rate", "start", "times", "plus"}:
            raise DataError(
                f"a curve has keys and may have rate, start, times and plus, not {', '.join(value)}"
            )
        clock = self._take.t
        if "rate" in value:
            clock = (self._compute(value["rate"]) * clock + self._compute(value.get("start", 0.0))) % 1.0
        compute = self._formulas.compute
        keys = [
            (time, [compute(part) for part in key] if isinstance(key, list) else compute(key))
            for time, key in value["keys"].items()
        ]
        curve = smooth_curve(clock, keys)
        if "times" in value:
            curve = np.multiply(*align(curve, self._compute(value["times"])))
        return np.add(*align(curve, self._compute(value["plus"]))) if "plus" in value else curve

    def _set(self, target: str, value: Any, *, add: bool) -> None:
        path, dot, component = target.rpartition(".")
        if not dot or component not in COMPONENTS:
            path, component = target, ""
        holder, field = self._holder(path)
        variable = holder is None
        current = self._formulas.names.get(field) if variable else getattr(holder, field, None)
        if component:
            column = np.array(current)
            column[:, COMPONENTS[component]] = value + column[:, COMPONENTS[component]] if add else value
            value = column
        elif add:
            value = current + value
        if variable:
            self._formulas.names[field] = value
        else:
            if isinstance(current, np.ndarray):
                value = np.broadcast_to(value, current.shape).copy()
            setattr(holder, field, value)

    def _holder(self, path: str) -> tuple[Any, str]:
        """What has the control that a path names, or None for a variable, and its field."""
        owner, _, field = path.rpartition(".")
        if not owner:
            return (self._pose if field in Pose.__dataclass_fields__ else None), field
        part = self._formulas.names.get(owner)
        if field not in getattr(part, "__dataclass_fields__", ()):
            raise DataError("there is no such control")
        return part, field
