"""Motions: rotations that invert, limbs that reach, actions that differ and stay on the floor."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vivant.core.errors import UsageError
from vivant_build.mime import ACTIONS, Motion, Variation, perform, vary
from vivant_build.mime.choreography import find_action
from vivant_build.mime.pose import bend_chain
from vivant_build.mime.rotation import (
    Array,
    about,
    between,
    from_euler,
    from_quaternion,
    slerp,
    to_euler,
    to_quaternion,
    unit,
)
from vivant_build.mime.skeleton import (
    INDEX,
    JOINTS,
    OFFSETS,
    PARENTS,
    Skeleton,
    local_rotations,
    make_skeleton,
)
from vivant_build.mime.take import smooth_curve

ANGLE = st.floats(-180, 180, allow_nan=False)
ORDERS = ["".join(order) for order in itertools.permutations("XYZ")]


@pytest.fixture(scope="module")
def motions() -> dict[str, Motion]:
    return {name: perform(action, 20.0) for name, action in ACTIONS.items()}


@given(st.sampled_from(ORDERS), ANGLE, ANGLE, ANGLE)
def test_euler_angles_give_their_rotation_back_in_any_order(order: str, a: float, b: float, c: float) -> None:
    matrix = from_euler(order, [a, b, c])
    assert np.allclose(matrix @ matrix.T, np.eye(3))
    assert np.allclose(from_euler(order, to_euler(order, matrix)), matrix, atol=1e-6)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("middle", [90.0, -90.0])
def test_euler_angles_survive_gimbal_lock(order: str, middle: float) -> None:
    matrix = from_euler(order, [25.0, middle, 40.0])
    assert np.allclose(from_euler(order, to_euler(order, matrix)), matrix, atol=1e-6)


def test_channels_apply_in_the_order_stated() -> None:
    assert np.allclose(from_euler("ZX", [90.0, 90.0]) @ [0, 1, 0], [0, 0, 1])
    assert np.allclose(from_euler("XZ", [90.0, 90.0]) @ [0, 1, 0], [-1, 0, 0])


@given(ANGLE, ANGLE, ANGLE)
def test_quaternions_give_their_rotation_back(a: float, b: float, c: float) -> None:
    matrix = from_euler("XYZ", [a, b, c])
    assert np.allclose(from_quaternion(to_quaternion(matrix)), matrix)


def test_slerp_goes_halfway_along_the_shorter_arc() -> None:
    start, end = about("Y", np.array([170.0])), about("Y", np.array([-170.0]))
    assert np.allclose(slerp(start, end, np.array([0.5])), about("Y", np.array([180.0])), atol=1e-9)
    assert np.allclose(slerp(start, end, np.array([0.0])), start)


@pytest.mark.parametrize(
    "start,end", [((1, 0, 0), (0, 1, 0)), ((1, 0, 0), (-1, 0, 0)), ((0, 2, 0), (0, 1, 0))]
)
def test_between_turns_one_direction_into_another(start: tuple[float, ...], end: tuple[float, ...]) -> None:
    matrix = between(start, end)
    assert np.allclose(matrix @ unit(start), unit(end))
    assert np.isclose(np.linalg.det(matrix), 1.0)


def test_curves_pass_their_keys_and_never_overshoot() -> None:
    keys = [(0.0, 0.0), (0.3, 1.0), (0.5, 1.0), (0.6, -2.0), (1.0, 0.0)]
    times = np.linspace(-0.5, 1.5, 401)
    curve = smooth_curve(times, keys)
    assert np.allclose(smooth_curve(np.array([t for t, _ in keys]), keys), [v for _, v in keys])
    assert curve.max() <= 1.0 + 1e-12 and curve.min() >= -2.0 - 1e-12
    assert curve[0] == 0.0 and curve[-1] == 0.0
    assert np.allclose(curve[(times > 0.3) & (times < 0.5)], 1.0)


def test_key_times_must_rise() -> None:
    with pytest.raises(ValueError, match="rise"):
        smooth_curve(np.zeros(1), [(0.0, 1.0), (0.0, 2.0)])


def test_a_chain_reaches_its_target_and_bends_towards_the_pole() -> None:
    start = np.zeros((2, 3))
    target = np.array([[0.4, 0.0, 0.0], [5.0, 0.0, 0.0]])
    middle, end, hinge = bend_chain(start, target, np.array([[0.0, 1.0, 0.0]] * 2), 0.28, 0.255)
    assert np.allclose(end[0], target[0])
    assert middle[0, 1] > 0.1
    assert np.allclose(np.linalg.norm(middle, axis=1), 0.28)
    assert np.allclose(np.linalg.norm(end - middle, axis=1), 0.255)
    assert np.allclose(hinge, [0.0, 0.0, 1.0])
    # Out of reach: straight towards it, as far as the limb goes.
    assert end[1, 0] == pytest.approx(0.535, abs=0.002)


def test_global_and_local_rotations_are_inverses(motions: dict[str, Motion]) -> None:
    motion = motions["Soccer003"]
    _, turned = motion.joints(Skeleton())
    assert np.allclose(local_rotations(turned), motion.rotations)


def test_mirroring_swaps_the_hands_and_twice_is_nothing(motions: dict[str, Motion]) -> None:
    motion = motions["Archery001"]
    place, _ = motion.joints(Skeleton())
    mirrored, _ = motion.mirrored().joints(Skeleton())
    flipped = place[:, INDEX["LeftHand"]] * [-1, 1, 1]
    assert np.allclose(mirrored[:, INDEX["RightHand"]], flipped)
    assert np.allclose(motion.mirrored().mirrored().rotations, motion.rotations)


def test_resampling_keeps_length_and_path(motions: dict[str, Motion]) -> None:
    motion = motions["Bowling003"]
    slow = motion.resampled(10.0)
    assert len(slow) == round(motion.seconds * 10)
    assert np.allclose(slow.rotations[3], motion.rotations[6])
    assert np.allclose(slow.root[3], motion.root[6])
    fine = motion.resampled(60.0)
    assert np.allclose(fine.rotations @ np.swapaxes(fine.rotations, -1, -2), np.eye(3))
    with pytest.raises(UsageError, match="positive"):
        motion.resampled(0)


def test_a_smaller_body_stands_on_the_same_floor(motions: dict[str, Motion]) -> None:
    motion = motions["Weightlifting001"]
    for size in (0.9, 1.0, 1.1):
        place, _ = motion.joints(make_skeleton(size))
        ankles = place[-1, [INDEX["LeftFoot"]], 1]
        assert ankles.min() == pytest.approx(0.08 * size, abs=0.01)


@pytest.mark.parametrize("name", ACTIONS)
def test_motion_is_sound(name: str, motions: dict[str, Motion]) -> None:
    motion = motions[name]
    assert 1.9 <= motion.seconds <= 5.1
    assert np.allclose(motion.rotations @ np.swapaxes(motion.rotations, -1, -2), np.eye(3), atol=1e-9)
    place, _ = motion.joints(Skeleton())
    toes = place[:, [INDEX["LeftToe"], INDEX["RightToe"]], 1]
    feet = place[:, [INDEX["LeftFoot"], INDEX["RightFoot"]], 1]
    assert toes.min() > 0.03 - 1e-6 and feet.min() > 0.05, "a foot sinks into the floor"
    assert place[..., 1].max() < 2.6
    # No joint flips over from one moment to the next, which a bad elbow or palm would show as.
    _, turned = perform(ACTIONS[name], 60.0).joints(Skeleton())
    cosine = (np.einsum("fjab,fjab->fj", turned[1:], turned[:-1]) - 1) / 2
    steps = np.degrees(np.arccos(np.clip(cosine, -1, 1)))
    worst = np.unravel_index(np.argmax(steps), steps.shape)
    assert steps.max() < 70, f"{JOINTS[int(worst[1])]} turns {steps.max():.0f}° in frame {worst[0]}"
    # Bones keep their lengths.
    for joint in range(1, len(JOINTS)):
        length = np.linalg.norm(place[:, joint] - place[:, PARENTS[joint]], axis=-1)
        assert np.allclose(length, np.linalg.norm(OFFSETS[joint]))


def _pose_path(motion: Motion) -> Array:
    """Joint positions around the hips, without the heading, at ten moments."""
    place, turned = motion.joints(Skeleton())
    chosen = np.rint(np.linspace(0, len(motion) - 1, 10)).astype(int)
    around = place[chosen] - place[chosen][:, :1]
    ahead = turned[chosen][:, 0, :, 2]
    angle = np.degrees(np.arctan2(ahead[:, 0], ahead[:, 2]))
    return np.asarray(np.einsum("fij,fnj->fni", about("Y", -angle), around))


def test_every_action_differs_from_every_other(motions: dict[str, Motion]) -> None:
    paths = {name: _pose_path(motion) for name, motion in motions.items()}
    hands = [INDEX["LeftHand"], INDEX["RightHand"], INDEX["LeftFoot"], INDEX["RightFoot"]]
    for one, other in itertools.combinations(paths, 2):
        gap = np.linalg.norm(paths[one][:, hands] - paths[other][:, hands], axis=-1)
        assert gap.max(axis=1).mean() > 0.2, f"{one} and {other} look alike"


def test_variation_comes_from_the_seed_alone() -> None:
    action = find_action("Fishing001")
    one, again = (vary(5, "j", action.name, may_mirror=True) for _ in range(2))
    assert one == again
    assert one != vary(6, "j", action.name, may_mirror=True)
    # One person keeps their size and hand from action to action.
    other = vary(5, "j", "Soccer003", may_mirror=True)
    assert (one.stature, one.mirrored) == (other.stature, other.mirrored)
    assert one.tempo != other.tempo
    assert not any(vary(seed, "j", "Piano002", may_mirror=False).mirrored for seed in range(40))
    assert any(vary(seed, "j", "Fishing001", may_mirror=True).mirrored for seed in range(40))


def test_tempo_and_amplitude_change_the_motion() -> None:
    action = find_action("Swimming001")
    usual = perform(action, 30.0, Variation())
    assert np.array_equal(usual.rotations, perform(action, 30.0, Variation()).rotations)
    assert len(perform(action, 30.0, Variation(tempo=1.25))) == pytest.approx(len(usual) / 1.25, abs=1)
    wide = perform(action, 30.0, Variation(amplitude=1.1))
    reach = [
        np.ptp(m.joints(Skeleton())[0][:, INDEX["LeftHand"]] - m.root, axis=0).max()
        for m in (perform(action, 30.0, Variation(amplitude=0.8)), usual, wide)
    ]
    assert reach[0] < reach[1]
    assert not np.array_equal(wide.rotations, usual.rotations)


def test_an_unknown_action_is_named_with_the_nearest() -> None:
    with pytest.raises(UsageError, match="Soccer003"):
        find_action("Soccer03")


@settings(max_examples=20, deadline=None)
@given(st.sampled_from(sorted(ACTIONS)), st.integers(0, 2**30))
def test_any_seed_gives_a_sound_motion(name: str, seed: int) -> None:
    action = ACTIONS[name]
    motion = perform(action, 10.0, vary(seed, "x", name, may_mirror=action.may_mirror), seed=seed)
    place, _ = motion.joints(Skeleton())
    assert np.all(np.isfinite(place))
    assert place[:, [INDEX["LeftToe"], INDEX["RightToe"]], 1].min() > 0.03 - 1e-6
