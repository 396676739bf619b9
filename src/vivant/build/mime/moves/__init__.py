"""The mimed actions that come with the project: what each is called, where it belongs, how it moves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from vivant import chance
from vivant.build.mime.figure import Figure, solve
from vivant.build.mime.motion import Motion
from vivant.build.mime.moves import ball, daily, music, sports, strength
from vivant.build.mime.take import Take, Variation
from vivant.errors import unknown


@dataclass(frozen=True)
class Action:
    """A mimed action. `labels` are the accepted answers, the first the one that is shown as an option."""

    name: str
    labels: tuple[str, ...]
    scene: str
    """The drawn background that fits."""
    seconds: float
    heading: float
    """Degrees by which the actor is turned from the front camera, so that it sees the action well."""
    choreography: Callable[[Take], Figure]
    may_mirror: bool = True
    """Whether left-handers do it the other way round; instruments and machines are built one way."""


ACTIONS: dict[str, Action] = {
    action.name: action
    for action in (
        Action("Archery001", ("shooting arrow", "archery"), "archery_range", 2.8, -12.0, sports.archery),
        Action("Basketball001", ("basketball shot",), "basketball_court", 2.8, 40.0, ball.basketball),
        Action("Bowling003", ("bowling",), "bowling_alley", 2.5, 52.0, ball.bowling),
        Action("Boxing001", ("boxing", "punching"), "boxing_gym", 2.5, 62.0, strength.boxing),
        Action("Climbing001", ("climbing ladder", "climbing"), "house_front", 2.8, 118.0, daily.climb, False),
        Action("Drinking01", ("drinking out of a cup", "drinking"), "living_room", 2.7, 25.0, daily.drink),
        Action("Driving002", ("driving a car",), "road", 2.8, 48.0, daily.drive, False),
        Action("Fishing001", ("fishing",), "fishing_pier", 2.9, 55.0, sports.fishing),
        Action("GolfSwing001", ("golf swing",), "golf_course", 2.4, 12.0, sports.golf),
        Action("Hammering01", ("hammering a nail",), "house_front", 2.4, 50.0, daily.hammer),
        Action(
            "JumpRope01",
            ("jumping rope", "skipping rope"),
            "playground",
            2.2,
            25.0,
            strength.jump_rope,
            False,
        ),
        Action("Piano002", ("playing piano",), "concert_hall", 2.8, 48.0, music.piano, False),
        Action("PlayingAGuitar002", ("playing guitar",), "concert_hall", 2.6, -8.0, music.guitar),
        Action("PlayingDrums001", ("playing drums",), "concert_hall", 2.6, 30.0, music.drums),
        Action("Rowing01", ("rowing a boat",), "lake_shore", 2.8, 68.0, strength.row, False),
        Action("Soccer003", ("soccer shot", "kicking"), "soccer_field", 2.2, 58.0, ball.soccer),
        Action("Sweeping01", ("sweeping the floor",), "living_room", 2.6, -40.0, daily.sweep),
        Action(
            "Swimming001", ("front stroke swimming", "swimming"), "swimming_pool", 2.6, 62.0, strength.crawl
        ),
        Action("TennisServe001", ("tennis serve",), "tennis_court", 2.4, 35.0, ball.tennis_serve),
        Action("Violin002", ("playing violin",), "concert_hall", 2.7, -12.0, music.violin, False),
        Action("Waving01", ("waving hello", "waving"), "street", 2.4, 5.0, daily.wave_hand),
        Action(
            "Weightlifting001",
            ("weightlifting", "clean and jerk", "lifting a barbell overhead"),
            "gym",
            2.7,
            22.0,
            strength.clean_and_jerk,
        ),
    )
}


def find_action(name: str) -> Action:
    """An action by its name."""
    if name not in ACTIONS:
        raise unknown("action", name, ACTIONS)
    return ACTIONS[name]


def perform(action: Action, fps: float, variation: Variation | None = None, seed: int = 0) -> Motion:
    """The motion of one performance, turned to its heading; the same arguments give the same motion."""
    chosen = variation or Variation()
    take = Take(action.seconds, fps, chosen, chance.derive(seed, "mime-drift", action.name))
    motion = solve(action.choreography(take), action.name, fps)
    if chosen.mirrored:
        # Seen from the front, the mirrored actor must face the other side to be seen as well.
        return motion.mirrored().turned(-action.heading - chosen.turn)
    return motion.turned(action.heading + chosen.turn)
