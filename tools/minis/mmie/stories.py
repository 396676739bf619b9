"""Situational analysis: ten invented stories in four frames, of which a model is given two."""

from __future__ import annotations

from collections.abc import Callable

from minis.mmie import story_frames as draw
from minis.mmie.canvas import Canvas

Frame = tuple[str, Callable[[Canvas], None]]
"""What is told, and how it is drawn."""
Story = tuple[str, str, tuple[Frame, Frame, Frame, Frame]]
"""Field, title, frames."""

STORIES: tuple[Story, ...] = (
    (
        "Literature",
        "The red kite",
        (
            (
                "Mara had saved for the red kite all summer. On the first windy day it stood high above the meadow.",
                draw.kite_1,
            ),
            (
                "Then a gust tore at the string, and the kite came down in the crown of the old tree.",
                draw.kite_2,
            ),
            (
                "Her grandfather lifted his stick and patiently freed the string, branch by branch.",
                draw.kite_3,
            ),
            ("In the evening the kite flew again, and this time two pairs of hands held it.", draw.kite_4),
        ),
    ),
    (
        "Literature",
        "The snowman's nose",
        (
            ("Tim gave his snowman the longest carrot that he could find.", draw.snow_1),
            ("The next day the sun was out, and drops ran down the snowman's sides.", draw.snow_2),
            (
                "By noon a puddle was all that was left of him, with the carrot in it. Tim buried the carrot there.",
                draw.snow_3,
            ),
            ("In spring, orange flowers came up at that very place.", draw.snow_4),
        ),
    ),
    (
        "Literature",
        "The way home",
        (
            ("The little boat had left the harbour in bright sunshine.", draw.boat_1),
            (
                "Far out, the storm caught it: waves rose over the bow and lightning lit the clouds.",
                draw.boat_2,
            ),
            (
                "At night a beam of light swept over the water, and the skipper steered towards the lighthouse.",
                draw.boat_3,
            ),
            (
                "At dusk of the next day the boat lay safe in the harbour, and somebody on the quay was waving.",
                draw.boat_4,
            ),
        ),
    ),
    (
        "Literature",
        "Where is Ginger?",
        (
            (
                "Every evening Ginger sat on the roof and would not come down, however much Lea called.",
                draw.cat_1,
            ),
            (
                "One night the roof was empty. Lea stood in front of the house and listened into the dark.",
                draw.cat_2,
            ),
            ("With a lantern she went through the garden, until two eyes shone in the tree.", draw.cat_3),
            ("Back in the kitchen there was milk, and Ginger did not even look at the window.", draw.cat_4),
        ),
    ),
    (
        "Literature",
        "A seed",
        (
            ("A bird on its way south dropped a seed in the middle of the meadow.", draw.seed_1),
            ("Nobody saw it, only the rain found it.", draw.seed_2),
            ("In spring a shoot with two leaves stood in the sun.", draw.seed_3),
            ("Years later the bird came back and built its nest in the tree.", draw.seed_4),
        ),
    ),
    (
        "Drama",
        "The bench",
        (
            ("On the bench in the park, Ben and Oskar were not speaking to each other.", draw.quarrel_1),
            (
                "Oskar got up and left. His umbrella stayed behind, and the clouds drew together.",
                draw.quarrel_2,
            ),
            ("When it began to rain, Ben ran after him with the open umbrella.", draw.quarrel_3),
            ("Later they sat in the sun and laughed about what it had all been about.", draw.quarrel_4),
        ),
    ),
    (
        "Drama",
        "Lift-off",
        (
            ("Nils had drawn a rocket, with a round window for looking out.", draw.rocket_1),
            ("From the box that the washing machine had come in, he began to build it.", draw.rocket_2),
            ("He closed the lid, counted down, and flew past the moon to the red planet.", draw.rocket_3),
            ('"Dinner," called his mother, and the astronaut landed just in time.', draw.rocket_4),
        ),
    ),
    (
        "Drama",
        "The blue balloon",
        (
            ("At the fair, Ana chose a red balloon from the whole bunch.", draw.balloons_1),
            ("She let go for one moment, and the wind carried it away over the roofs.", draw.balloons_2),
            (
                "The balloon man had seen it all, and without a word he handed her a blue one.",
                draw.balloons_3,
            ),
            (
                "She waved until he was out of sight, and this time she had tied the string to her wrist.",
                draw.balloons_4,
            ),
        ),
    ),
    (
        "Drama",
        "The dark street",
        (
            ("In one stroke the lights went out in the whole street.", draw.dark_1),
            ("Only one door opened. Somebody came out with a lantern and stood still.", draw.dark_2),
            (
                "The neighbours saw the light, and one after the other they came with lanterns of their own.",
                draw.dark_3,
            ),
            ("When the power was back, nobody went in: it had become a feast.", draw.dark_4),
        ),
    ),
    (
        "Drama",
        "The race",
        (
            ("For a year, Sara and Ivo had trained for this race. They ran side by side.", draw.race_1),
            ("Just before the last bend, Ivo fell. Sara was in front, alone.", draw.race_2),
            ("She turned round, ran back and gave him her hand.", draw.race_3),
            ("Together they crossed the line, last of all, and nobody cheered for anyone else.", draw.race_4),
        ),
    ),
)
