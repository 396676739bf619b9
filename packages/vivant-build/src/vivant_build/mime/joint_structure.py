"""Joints told by the shape of the tree, where their names say nothing: two pairs of like limbs, and a head above them.

A limb is followed to where it reaches farthest, so twist bones, props, fingers and hair lead nowhere. The pair with the
longer bones are the legs. Sides come from the names, in any language that is known here, or else from the knees, which
bend forward, and the toes.
"""

from __future__ import annotations

import re
from functools import cache
from itertools import combinations, pairwise

import numpy as np

from vivant_build.mime.bvh import Bvh
from vivant_build.mime.rotation import Array

_ALIKE, _NEAR = 0.1, 0.01
"""Share of its length by which a bone may differ from its like, and of the limb's for short ones."""
_SKULL = 0.15
"""Share of thigh and shin that a head's own bone has, and a part of a neck has not."""
_COLLAR = 0.8
"""Share of an upper arm's length that a collarbone has at most."""
_BENT = 0.03
"""Share of a leg's length by which knees must be ahead of it, or toes ahead of the ankle, to tell what is ahead."""
_WORDS = {
    "l": ("left", "links", "gauche", "izquierd", "sinistr", "esquerd", "лев", "왼"),
    "r": ("right", "rechts", "droit", "derech", "destr", "direit", "прав", "오른"),
}
"""How names of a side begin, beside a letter of its own."""
Pair = tuple[list[int], list[int]]
"""Two limbs, each as its joints from the trunk on."""
_LEG, _ARM = ("UpLeg", "Leg", "Foot", "Toe"), ("Arm", "ForeArm", "Hand", "Fingers")
_SIGNS = {"左": "l", "右": "r"}


def find_by_structure(bvh: Bvh) -> dict[str, int]:
    """Our joints → indices in the file's list; empty where the tree is not a person's or its sides cannot be told."""
    tree = _Tree(bvh)
    pairs = tree.find_pairs()
    if len(pairs) < 2:
        return {}
    (hips, legs), (chest, arms) = sorted(pairs[:2], key=lambda pair: -tree.size(pair[1][0]))
    head = tree.find_head(chest, hips, arms, legs[0])
    if head is None:
        return {}
    legs, arms = (
        tree.cut_before(legs, tree.find_thigh(legs)),
        tree.cut_before(arms, tree.find_upper_arm(arms)),
    )
    left = tree.find_left(legs)
    result = {"Head": head}
    for pair, names in ((legs, _LEG), (arms, _ARM)):
        first = tree.is_left(pair, left)
        if first is None:
            return {}
        for side, limb in zip(("Left", "Right"), pair if first else pair[::-1], strict=True):
            result.update({side + bone: joint for bone, joint in zip(names, limb, strict=False)})
    for side in ("Left", "Right"):
        collar = tree.parents[result[side + "Arm"]]
        if collar != chest:
            result[side + "Shoulder"] = collar
        # One of several fingers says little.
        if side + "Hand" in result and len(tree.children[result[side + "Hand"]]) > 1:
            result.pop(side + "Fingers", None)
    return result


class _Tree:
    """A file's joints as a tree, with how far each reaches."""

    def __init__(self, bvh: Bvh) -> None:
        self.names = [joint.name for joint in bvh.joints]
        self.parents = [joint.parent for joint in bvh.joints]
        self.places, _ = bvh.globals()
        self.children: list[list[int]] = [[] for _ in bvh.joints]
        for index, parent in enumerate(self.parents):
            if parent >= 0:
                self.children[parent].append(index)
        gaps = np.linalg.norm(self.places - self.places[:, self.parents], axis=-1).mean(axis=0)
        self.lengths = np.where(np.array(self.parents) < 0, 0.0, gaps)
        self.reach = cache(self._reach)

    def _reach(self, index: int) -> float:
        """How long the longest chain below a joint is."""
        return max(
            (float(self.lengths[child]) + self.reach(child) for child in self.children[index]), default=0.0
        )

    def limb(self, index: int) -> list[int]:
        """The joints from here to the farthest end; joints at their parent's place are passed over."""
        result = [index]
        while self.children[result[-1]]:
            result.append(
                max(self.children[result[-1]], key=lambda child: self.lengths[child] + self.reach(child))
            )
        return [a for a, b in pairwise(result) if self.lengths[b] > 1e-6] + result[-1:]

    def bones(self, limb: list[int]) -> Array:
        """The lengths from each of its joints to the next."""
        return np.asarray(np.linalg.norm(np.diff(self.places[:, limb], axis=1), axis=-1).mean(axis=0))

    def trim(self, one: list[int], other: list[int]) -> Pair:
        """Two limbs as far as they are alike: one hand may hold a prop, which goes on."""
        count = min(len(one), len(other))
        first, second = (self.bones(limb[:count]) for limb in (one, other))
        apart = np.abs(first - second) > _ALIKE * np.maximum(first, second) + _NEAR * first.sum()
        count = int(np.argmax(apart)) + 1 if apart.any() else count
        return one[:count], other[:count]

    def size(self, limb: list[int]) -> float:
        """The length of its two longest bones in a row."""
        bones = self.bones(limb)
        return float((bones[:-1] + bones[1:]).max())

    def find_thigh(self, legs: Pair) -> int:
        """Where in legs the thigh begins: its two longest bones follow one another."""
        bones = self.bones(legs[0]) + self.bones(legs[1])
        return int(np.argmax(bones[:-1] + bones[1:]))

    def find_upper_arm(self, arms: Pair) -> int:
        """Where in arms the upper arm begins: behind collarbones, which are shorter than it or begin at one place."""
        bones, start = self.bones(arms[0]) + self.bones(arms[1]), 0
        apart = np.linalg.norm(self.places[:, arms[0]] - self.places[:, arms[1]], axis=-1).mean(axis=0)
        while start + 2 < len(bones) and (bones[start] < _COLLAR * bones[start + 1] or apart[start] < 1e-6):
            start += 1
        return start

    def cut_before(self, pair: Pair, start: int) -> Pair:
        return pair[0][start:], pair[1][start:]

    def find_pairs(self) -> list[tuple[int, Pair]]:
        """Two limbs alike that hang on one joint, with that joint: the largest first, none within another."""
        found = []
        for fork, children in enumerate(self.children):
            for one, other in combinations(children, 2):
                limbs = self.trim(self.limb(one), self.limb(other))
                if len(limbs[0]) > 2:
                    found.append((fork, limbs))
        found.sort(key=lambda pair: -self.size(pair[1][0]))
        kept: list[tuple[int, Pair]] = []
        for fork, limbs in found:
            if not any(self.is_below(fork, limb[0]) or self.is_below(limb[0], own[0]) or self.is_below(own[0], limb[0])
                       for _, others in kept for limb in others for own in limbs):  # fmt: skip
                kept.append((fork, limbs))
        return kept

    def is_below(self, index: int, above: int) -> bool:
        while index > above:
            index = self.parents[index]
        return index == above

    def find_head(self, chest: int, hips: int, arms: Pair, legs: list[int]) -> int | None:
        """Of what hangs on the chest beside the arms, the joint that leads away from the hips farthest."""
        up = self.places[:, chest] - self.places[:, hips]
        others = [
            child
            for child in self.children[chest]
            if not any(self.is_below(limb[0], child) for limb in arms) and not self.is_below(hips, child)
        ]
        if not others:
            return None

        def rise(index: int) -> float:
            return float(np.mean(np.sum((self.places[:, index] - self.places[:, chest]) * up, axis=-1)))

        # Hair hangs down again, so that the way to the highest joint is taken.
        below = [
            index for index in range(len(self.names)) if any(self.is_below(index, child) for child in others)
        ]
        top = max(below, key=rise)
        if rise(top) <= 0:
            return None
        path = [top]
        while self.parents[path[-1]] != chest:
            path.append(self.parents[path[-1]])
        path = path[::-1]
        # Eyes, jaw and hair hang on a head. Where nothing does, a long bone at the end is the head's own.
        fork = next((index for index in path if len(self.children[index]) > 1), None)
        top = len(path) > 2 and float(self.lengths[path[-1]]) > _SKULL * self.size(legs)
        return fork if fork is not None else path[-2] if top else path[-1]

    def find_left(self, legs: Pair) -> Array:
        """What is left in each frame, across the plane in which a leg bends; zeros where no knee or toe tells."""
        left, bent = np.zeros((len(self.places), 3)), 0.0
        for leg in legs:
            hip, knee, ankle = (self.places[:, joint] for joint in leg[:3])
            # Toes point ahead too, but hang down behind somebody who walks, so they count for less.
            ahead = 2 * (2 * knee - hip - ankle)
            if len(leg) > 3:
                ahead = ahead + self.places[:, leg[3]] - ankle
            left = left + np.cross(hip - ankle, ahead)
            bent += float(np.linalg.norm(ahead, axis=-1).mean())
        return left if bent > 2 * _BENT * self.size(legs[0]) else np.zeros_like(left)

    def is_left(self, pair: Pair, left: Array) -> bool | None:
        """Whether the first limb of a pair is the left one; None where nothing tells."""
        sides = [_read_side([self.names[index] for index in limb]) for limb in pair]
        if set(sides) == {"l", "r"}:
            return sides[0] == "l"
        apart = self.places[:, pair[0][0]] - self.places[:, pair[1][0]]
        share = float(np.mean(np.sum(apart * left, axis=-1)))
        return share > 0 if share else None


def _read_side(names: list[str]) -> str:
    """The side that the names of a limb state in a word, a sign or a letter of its own: l, r, or none."""
    sides = set()
    for name in names:
        own = name.rsplit(":", 1)[-1]
        sides |= {side for sign, side in _SIGNS.items() if sign in own}
        for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+|[^\W\d_]+", own):
            word = word.lower()
            sides |= {side for side, starts in _WORDS.items() if word == side or word.startswith(starts)}
    return sides.pop() if len(sides) == 1 else ""
