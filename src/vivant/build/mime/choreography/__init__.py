"""The mimed actions that come with the project: what each is called, where it belongs, how it moves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from vivant.build.mime.choreography import (
    athletics,
    ball,
    chores,
    daily,
    gestures,
    music,
    orchestra,
    sports,
    strength,
)
from vivant.build.mime.motion import Motion
from vivant.build.mime.pose import Pose, solve
from vivant.build.mime.take import Take, Variation
from vivant.core import randomness as chance
from vivant.core.errors import unknown

Category = Literal["sport", "music", "chore", "daily", "gesture"]


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
    choreography: Callable[[Take], Pose]
    may_mirror: bool = True
    """Whether left-handers do it the other way round; instruments and machines are built one way."""
    category: Category = "sport"


ACTIONS: dict[str, Action] = {
    action.name: action
    for action in (
        Action("Archery001", ("shooting arrow", "archery"), "archery_range", 2.8, -12.0, sports.archery),
        Action(
            "BaseballBat01",
            ("swinging a baseball bat", "batting"),
            "baseball_field",
            2.3,
            -20.0,
            athletics.bat,
        ),
        Action("Basketball001", ("basketball shot",), "basketball_court", 2.8, 40.0, ball.basketball),
        Action("Bowling003", ("bowling",), "bowling_alley", 2.5, 52.0, ball.bowling),
        Action("Boxing001", ("boxing", "punching"), "boxing_gym", 2.5, 62.0, strength.boxing),
        Action(
            "BrushingTeeth01",
            ("brushing teeth",),
            "bathroom",
            2.6,
            12.0,
            chores.brush_teeth,
            category="daily",
        ),
        Action(
            "Cello01",
            ("playing cello",),
            "concert_hall",
            2.7,
            -20.0,
            orchestra.cello,
            False,
            category="music",
        ),
        Action(
            "ChoppingWood01",
            ("chopping wood", "swinging an axe"),
            "forest",
            2.8,
            62.0,
            chores.chop,
            category="chore",
        ),
        Action(
            "Clapping01",
            ("clapping", "applauding"),
            "auditorium",
            2.3,
            22.0,
            gestures.clap,
            category="gesture",
        ),
        Action(
            "Climbing001",
            ("climbing ladder", "climbing"),
            "house_front",
            2.8,
            118.0,
            daily.climb,
            False,
            category="daily",
        ),
        Action(
            "Conducting01",
            ("conducting an orchestra", "conducting"),
            "concert_hall",
            2.7,
            18.0,
            orchestra.conduct,
            category="music",
        ),
        Action("Cycling01", ("riding a bicycle", "cycling"), "park", 2.6, 72.0, athletics.cycle, False),
        Action(
            "Digging01", ("digging a hole", "shovelling"), "garden", 2.7, 38.0, chores.dig, category="chore"
        ),
        Action(
            "Drinking01",
            ("drinking out of a cup", "drinking"),
            "living_room",
            2.7,
            25.0,
            daily.drink,
            category="daily",
        ),
        Action("Driving002", ("driving a car",), "road", 2.8, 48.0, daily.drive, False, category="daily"),
        Action("Fencing01", ("fencing", "sword fighting"), "sports_hall", 2.5, 76.0, athletics.fence),
        Action("Fishing001", ("fishing",), "fishing_pier", 2.9, 55.0, sports.fishing),
        Action(
            "Flute01", ("playing flute",), "concert_hall", 2.8, -4.0, orchestra.flute, False, category="music"
        ),
        Action("GolfSwing001", ("golf swing",), "golf_course", 2.4, 12.0, sports.golf),
        Action(
            "Hammering01", ("hammering a nail",), "house_front", 2.4, 50.0, daily.hammer, category="chore"
        ),
        Action(
            "JumpRope01",
            ("jumping rope", "skipping rope"),
            "playground",
            2.2,
            25.0,
            strength.jump_rope,
            False,
        ),
        Action(
            "JumpingJacks01", ("doing jumping jacks", "star jumps"), "park", 2.6, 8.0, athletics.jumping_jack
        ),
        Action("Kayaking01", ("paddling a kayak", "kayaking"), "lake_shore", 2.5, 32.0, athletics.kayak),
        Action(
            "PhoneCall01",
            ("talking on the phone", "making a phone call"),
            "office",
            2.8,
            20.0,
            gestures.phone,
            category="daily",
        ),
        Action(
            "Piano002", ("playing piano",), "concert_hall", 2.8, 48.0, music.piano, False, category="music"
        ),
        Action(
            "PlayingAGuitar002",
            ("playing guitar",),
            "concert_hall",
            2.6,
            -8.0,
            music.guitar,
            category="music",
        ),
        Action(
            "PlayingDrums001", ("playing drums",), "concert_hall", 2.6, 30.0, music.drums, category="music"
        ),
        Action(
            "PullingRope01",
            ("pulling a rope", "tug of war"),
            "harbour",
            2.8,
            72.0,
            gestures.haul,
            category="chore",
        ),
        Action("PushUps01", ("doing push-ups",), "gym", 2.8, 78.0, athletics.push_up),
        Action("Rowing01", ("rowing a boat",), "lake_shore", 2.8, 68.0, strength.row, False),
        Action("Running01", ("running", "jogging"), "park", 2.4, 66.0, athletics.run),
        Action("Saluting01", ("saluting",), "parade_ground", 2.5, 16.0, gestures.salute, category="gesture"),
        Action("Sawing01", ("sawing wood",), "workshop", 2.6, 62.0, chores.saw, category="chore"),
        Action("Soccer003", ("soccer shot", "kicking"), "soccer_field", 2.2, 58.0, ball.soccer),
        Action(
            "StirringPot01",
            ("stirring a pot", "cooking"),
            "kitchen",
            2.8,
            34.0,
            chores.stir,
            category="chore",
        ),
        Action(
            "Sweeping01", ("sweeping the floor",), "living_room", 2.6, -40.0, daily.sweep, category="chore"
        ),
        Action(
            "Swimming001", ("front stroke swimming", "swimming"), "swimming_pool", 2.6, 62.0, strength.crawl
        ),
        Action(
            "TakingPhoto01",
            ("taking a photograph", "photographing"),
            "viewpoint",
            2.7,
            36.0,
            gestures.photograph,
            category="gesture",
        ),
        Action("TennisServe001", ("tennis serve",), "tennis_court", 2.4, 35.0, ball.tennis_serve),
        Action(
            "Violin002",
            ("playing violin",),
            "concert_hall",
            2.7,
            -12.0,
            music.violin,
            False,
            category="music",
        ),
        Action(
            "WashingWindow01",
            ("cleaning a window", "wiping a window"),
            "house_front",
            2.8,
            50.0,
            chores.wipe_window,
            category="chore",
        ),
        Action(
            "Waving01", ("waving hello", "waving"), "street", 2.4, 5.0, daily.wave_hand, category="gesture"
        ),
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
