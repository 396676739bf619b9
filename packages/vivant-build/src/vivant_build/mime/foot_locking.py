"""Foot locking: feet that stand on the floor are held where they stand, and legs bent so that they reach there.

Estimated poses tremble and drift, in depth above all, so that standing feet glide. A foot stands while it is low and
slow, with different bounds for coming to a stand and leaving it. Each stance gets one place and one direction. The
hips follow the standing feet, and two-bone inverse kinematics bends the legs. Between two stances a foot takes its
correction over smoothly and is lifted a little; where both feet leave the floor, the body is lifted as in a jump.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from vivant_build.mime.bad_frames import Mask, find_runs
from vivant_build.mime.motion import Motion
from vivant_build.mime.rotation import Array, about, basis, between, slerp, unit
from vivant_build.mime.skeleton import (
    ANKLE_HEIGHT,
    INDEX,
    OFFSETS,
    Skeleton,
    forward,
    local_rotations,
)

_SIDES = ("Left", "Right")
_LOW, _HIGH = 0.035, 0.06
"""Metres over the floor below which a foot may come to a stand, and above which it has left the floor."""
_SLOW, _FAST = 0.35, 0.7
"""Metres a second over the floor, likewise."""
_SPAN = 0.14
"""Seconds over which a speed is taken: a tremble is shorter."""
_SHORTEST = 0.12
"""Seconds: shorter stances, and shorter breaks of one, are none."""
_WANDER = 0.15
"""Metres that a foot may be from where it is held before it counts as having taken a step."""
_STEP = 0.2
"""Seconds of a step that was not seen, and over which a correction fades beside a stance."""
_LIFT, _GRAVITY = 0.05, 9.81
_FLAT = 12.0
"""Degrees by which a sole may seem tilted and still lie on the floor."""
_MOVED = 0.015
"""Metres by which feet are moved on average before it is said."""
_SOLE = float(ANKLE_HEIGHT + OFFSETS[INDEX["LeftToe"], 1])
"""Height of the ball's joint over the floor."""
_THIGH, _SHIN = (float(np.linalg.norm(OFFSETS[INDEX["Left" + bone]])) for bone in ("Leg", "Foot"))
_REACH = 0.995 * (_THIGH + _SHIN)


def lock_feet(motion: Motion, depth: float = 1.0) -> tuple[Motion, list[str]]:
    """The motion with standing feet held, and a note on how far that moved them, unless it is little.

    Args:
        motion: On the floor: its lower foot stands.
        depth: How much movement along Z counts towards a foot's speed. Less than 1 for estimated depth.
    """
    positions, turned = forward(Skeleton(), motion.root, motion.rotations)
    contacts = np.stack([_find_contacts(positions, side, motion.fps, depth) for side in _SIDES], axis=1)
    if not contacts.any():
        return motion, []
    # Before the first stance and after the last one nothing tells a flight from a stand: nobody floats there.
    standing = np.flatnonzero(contacts.any(axis=1))
    contacts[: standing[0]] = contacts[standing[0]]
    contacts[standing[-1] :] = contacts[standing[-1]]
    positions -= _drift(positions[:, [INDEX[side + "Foot"] for side in _SIDES]], contacts)[:, None]
    feet, balls, places, moved = [], [], [], []
    for number, side in enumerate(_SIDES):
        ankle, rotation = positions[:, INDEX[side + "Foot"]], turned[:, INDEX[side + "Foot"]]
        stretches = _part_steps(ankle, contacts[:, number], motion.fps)
        contacts[:, number] = _mask(stretches, len(motion))
        feet.append(_hold_rotation(stretches, rotation, motion.fps))
        # Soles are levelled about the ankle, so that the leg keeps its bend.
        balls.append(ankle + feet[-1] @ OFFSETS[INDEX[side + "Toe"]])
        shift = _shift(stretches, balls[-1], motion.fps)
        places.append(balls[-1] + shift)
        moved.append(shift[contacts[:, number]][:, [0, 2]])
    root = positions[:, 0] + _follow(places, balls, contacts, motion.fps)
    lowest = np.min([place[:, 1] for place in places], axis=0) - _SOLE
    jump = np.maximum(_fly(contacts, motion.fps) - np.maximum(lowest, 0.0), 0.0)
    root[:, 1] += jump
    ankles = []
    for number, side in enumerate(_SIDES):
        places[number][:, 1] += np.where(contacts[:, number], 0.0, jump)
        _lift_steps(places[number], contacts[:, number])
        ankles.append(places[number] - feet[number] @ OFFSETS[INDEX[side + "Toe"]])
    root[:, 1] -= _drop(root, turned[:, 0], ankles, motion.fps)
    for side, ankle, foot in zip(_SIDES, ankles, feet, strict=True):
        _bend_leg(side, root, ankle, foot, positions, turned)
    root[:, [0, 2]] -= (root[:, [0, 2]].min(axis=0) + root[:, [0, 2]].max(axis=0)) / 2
    result = replace(motion, root=root, rotations=local_rotations(turned))
    way = float(np.linalg.norm(np.concatenate(moved), axis=-1).mean())
    if way < _MOVED:
        return result, []
    return result, [
        f"held standing feet in their places, {100 * way:.0f} cm from where they were on average; --keep-feet leaves "
        "them there"
    ]


def stand(motion: Motion) -> Motion:
    """The motion with its lower foot on the floor in every frame, moved so that the foot that stands stays."""
    positions, _ = forward(Skeleton(), motion.root, motion.rotations)
    ankles = positions[:, [INDEX["LeftFoot"], INDEX["RightFoot"]]]
    toes = positions[:, [INDEX["LeftToe"], INDEX["RightToe"]]]
    lowest = np.minimum(ankles[..., 1] - ANKLE_HEIGHT, toes[..., 1] - _SOLE)
    root = motion.root.copy()
    root[:, 1] = -lowest.min(axis=1)
    # Who is lower carries the weight; within two centimetres both do.
    weight = np.exp(-(lowest - lowest.min(axis=1, keepdims=True)) / 0.02)
    weight /= weight.sum(axis=1, keepdims=True)
    steps = np.diff(ankles[..., [0, 2]], axis=0)
    way = -np.cumsum((steps * weight[1:, :, None]).sum(axis=1), axis=0)
    root[1:, [0, 2]] += way
    root[:, [0, 2]] -= (root[:, [0, 2]].min(axis=0) + root[:, [0, 2]].max(axis=0)) / 2
    return replace(motion, root=root)


# ── stances ──────────────────────────────────────────────────────────────────────────────────────


def _find_contacts(positions: Array, side: str, fps: float, depth: float) -> Mask:
    """Frames in which a foot is low and slow, by two bounds, without short runs and breaks."""
    ankle, ball = positions[:, INDEX[side + "Foot"]], positions[:, INDEX[side + "Toe"]]
    height = np.minimum(ankle[:, 1] - ANKLE_HEIGHT, ball[:, 1] - _SOLE)
    speed = np.minimum(*(_speed(spot, fps, depth) for spot in (ankle, ball)))
    enter, stay = (height < _LOW) & (speed < _SLOW), (height < _HIGH) & (speed < _FAST)
    contact = np.zeros(len(height), dtype=bool)
    for start, end in find_runs(stay):
        contact[start:end] = enter[start:end].any()
    shortest = max(1, round(_SHORTEST * fps))
    for wanted in (False, True):
        for start, end in find_runs(contact == wanted):
            inside = wanted or (start > 0 and end < len(contact))
            if end - start < shortest and inside:
                contact[start:end] = not wanted
    return contact


def _speed(spot: Array, fps: float, depth: float) -> Array:
    half = max(1, round(_SPAN * fps / 2))
    later = np.minimum(np.arange(len(spot)) + half, len(spot) - 1)
    earlier = np.maximum(np.arange(len(spot)) - half, 0)
    way = (spot[later] - spot[earlier])[:, [0, 2]] * [1.0, depth]
    return np.asarray(np.linalg.norm(way, axis=-1) * fps / np.maximum(later - earlier, 1))


def _drift(balls: Array, contacts: Mask) -> Array:
    """How far standing feet have moved together since the first frame: the hips drifted, not the feet."""
    steps = np.diff(balls, axis=0) * [1.0, 0.0, 1.0]
    both = contacts[1:] & contacts[:-1]
    share = both / np.maximum(both.sum(axis=1, keepdims=True), 1)
    return np.concatenate([np.zeros((1, 3)), np.cumsum((steps * share[..., None]).sum(axis=1), axis=0)])


def _part_steps(ankle: Array, contact: Mask, fps: float) -> list[tuple[int, int]]:
    """Stretches of contact, parted by a step where a foot wanders too far for one place."""
    half = max(1, round(_STEP * fps / 2))
    pending = find_runs(contact)[::-1]
    stretches = []
    while pending:
        start, end = pending.pop()
        path = ankle[start:end][:, [0, 2]]
        away = np.linalg.norm(path - np.median(path, axis=0), axis=-1)
        if away.max() > _WANDER and end - start > 4 * half:
            middle = start + _find_step(path, half)
            pending += [(middle + half, end), (start, middle - half)]
        else:
            stretches.append((start, end))
    return stretches


def _find_step(path: Array, half: int) -> int:
    """The frame about which a foot moves farthest within the time of a step."""
    places = np.arange(2 * half, len(path) - 2 * half + 1)
    if not len(places):
        return len(path) // 2
    return int(places[np.argmax(np.linalg.norm(path[places + half - 1] - path[places - half], axis=-1))])


def _mask(stretches: list[tuple[int, int]], count: int) -> Mask:
    mask = np.zeros(count, dtype=bool)
    for start, end in stretches:
        mask[start:end] = True
    return mask


# ── corrections ──────────────────────────────────────────────────────────────────────────────────


def _ease(share: Array) -> Array:
    return np.asarray(share * share * (3 - 2 * share))


def _shift(stretches: list[tuple[int, int]], ball: Array, fps: float) -> Array:
    """What moves a foot to where it is held in each stretch, taken over smoothly from each to the next."""
    shift = np.zeros_like(ball)
    for start, end in stretches:
        place = np.median(ball[start:end], axis=0)
        shift[start:end] = [place[0], _SOLE, place[2]] - ball[start:end]
    fade = max(1, round(_STEP * fps))
    edges = [0, *(edge for stretch in stretches for edge in stretch), len(ball)]
    for start, end in zip(edges[::2], edges[1::2], strict=True):
        frames = np.arange(start, end)
        before = shift[start - 1] if start else shift[min(end, len(ball) - 1)]
        after = shift[end] if end < len(ball) else before
        share = _ease((frames - start + 1) / (len(frames) + 1))[:, None]
        shift[frames] = before * (1 - share) + after * share
        # Away from the floor, heights are the recording's own.
        near = np.minimum(frames - start + 1 if start else fade, end - frames if end < len(ball) else fade)
        shift[frames, 1] *= 1 - _ease(np.clip(near / fade, 0.0, 1.0))
    return shift


def _hold_rotation(stretches: list[tuple[int, int]], rotation: Array, fps: float) -> Array:
    """A foot's rotation: level and in one heading while it stands, heels may rise; blended beside it."""
    result = rotation.copy()
    fade = max(1, round(_STEP * fps))
    rest = basis([0.0, 0.0, 1.0], [1.0, 0.0, 0.0]).T
    for start, end in stretches:
        heading = unit(rotation[start:end, :, 2].mean(axis=0) * [1.0, 0.0, 1.0])
        level = basis(heading, np.cross([0.0, 1.0, 0.0], heading)) @ rest
        frames = np.arange(max(0, start - fade), min(len(rotation), end + fade))
        beside = np.maximum(np.maximum(start - frames, frames - end + 1), 0) / (fade + 1)
        down = np.degrees(np.arcsin(np.clip(-rotation[frames, 1, 2], -1.0, 1.0)))
        held = level @ about("X", np.maximum(down - _FLAT, 0.0))
        result[frames] = slerp(result[frames], held, 1 - _ease(beside))
    return result


def _fly(contacts: Mask, fps: float) -> Array:
    """Metres over the floor at which feet are while neither stands: as high as a body flies in that time."""
    lift = np.zeros(len(contacts))
    for start, end in find_runs(np.logical_not(contacts.any(axis=1))):
        if not start or end == len(contacts):
            continue
        seconds = min((end - start) / fps, 0.5)
        share = (np.arange(start, end) - start + 0.5) / (end - start)
        lift[start:end] = _GRAVITY * seconds**2 / 8 * 4 * share * (1 - share)
    return lift


def _lift_steps(place: Array, contact: Mask) -> None:
    """Lift a foot from the floor where it moves from one stance to the next; at the ends, it is in the air."""
    count = len(contact)
    for start, end in find_runs(~contact):
        first, last = max(start - 1, 0), min(end, count - 1)
        way = float(np.linalg.norm((place[last] - place[first])[[0, 2]]))
        rise, fall = (np.arange(start, end) - start + 1, end - np.arange(start, end))
        length = end - start + 1
        share = rise / (2 * length) if end == count else fall / (2 * length) if not start else rise / length
        arc = _SOLE + min(_LIFT, way / 2) * np.sin(np.pi * share)
        place[start:end, 1] = np.maximum(place[start:end, 1], arc)


def _follow(places: list[Array], balls: list[Array], contacts: Mask, fps: float) -> Array:
    """How the hips follow the feet that are held, smoothly."""
    shifts = np.stack(places, axis=1) - np.stack(balls, axis=1)
    weight = np.where(contacts, 1.0, 0.05)[..., None]
    return _smooth((shifts * weight).sum(axis=1) / weight.sum(axis=1), _STEP * fps / 2)


def _smooth(values: Array, width: float) -> Array:
    reach = max(1, round(3 * width))
    kernel = np.exp(-0.5 * (np.arange(-reach, reach + 1) / max(width, 1e-6)) ** 2)
    padded = np.pad(values, ((reach, reach), (0, 0)), mode="edge")
    columns = [np.convolve(column, kernel / kernel.sum(), mode="valid") for column in padded.T]
    return np.stack(columns, axis=-1)


def _hip(side: str, root: Array, pelvis: Array) -> Array:
    return np.asarray(root + pelvis @ OFFSETS[INDEX[side + "UpLeg"]])


def _drop(root: Array, pelvis: Array, ankles: list[Array], fps: float) -> Array:
    """Metres by which the hips come down so that both legs reach their feet, smoothly."""
    need = np.zeros(len(root))
    for side, ankle in zip(_SIDES, ankles, strict=True):
        gap = _hip(side, root, pelvis) - ankle
        across = np.linalg.norm(gap[:, [0, 2]], axis=-1)
        need = np.maximum(need, gap[:, 1] - np.sqrt(np.maximum(_REACH**2 - across**2, 0.0)))
    reach = max(1, round(_STEP * fps / 2))
    widest = np.max(
        np.lib.stride_tricks.sliding_window_view(np.pad(need, reach, mode="edge"), 2 * reach + 1), axis=-1
    )
    return _smooth(widest[:, None], reach / 3)[:, 0]


def _bend_leg(side: str, root: Array, ankle: Array, foot: Array, positions: Array, turned: Array) -> None:
    """Turn thigh and shin so that the ankle comes to its place, the knee bent the way it was."""
    hip = _hip(side, root, turned[:, 0])
    old = [positions[:, INDEX[side + bone]] for bone in ("UpLeg", "Leg", "Foot")]
    along = unit(ankle - hip)
    distance = np.clip(np.linalg.norm(ankle - hip, axis=-1), abs(_THIGH - _SHIN) + 0.05, _REACH)
    # A leg that is straight bends ahead.
    knee = old[1] - old[0] + 0.02 * turned[:, 0, :, 2]
    outward = unit(knee - along * np.sum(knee * along, axis=-1, keepdims=True))
    cosine = (_THIGH**2 + distance**2 - _SHIN**2) / (2 * _THIGH * distance)
    sine = np.sqrt(np.maximum(1 - cosine**2, 0.0))
    thigh = along * cosine[:, None] + outward * sine[:, None]
    shin = along * distance[:, None] - thigh * _THIGH
    for bone, before, after in (("UpLeg", old[1] - old[0], thigh), ("Leg", old[2] - old[1], shin)):
        index = INDEX[side + bone]
        turned[:, index] = between(before, after) @ turned[:, index]
    turned[:, INDEX[side + "Foot"]] = turned[:, INDEX[side + "Toe"]] = foot
