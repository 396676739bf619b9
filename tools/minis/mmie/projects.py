"""Project-based learning: ten how-to questions, each answered in three drawn steps."""

from __future__ import annotations

from minis.mmie import project_steps as draw
from minis.mmie.stories import Frame

Project = tuple[str, str, Frame, tuple[Frame, Frame, Frame]]
"""Field, title, the question, the steps."""

PROJECTS: tuple[Project, ...] = (
    (
        "Art",
        "paper boat",
        ("How do I fold a boat like this one from a sheet of paper?", draw.paper_boat),
        (
            ("Fold the sheet in half from top to bottom, and press the fold flat.", draw.paper_1),
            ("Fold both upper corners to the middle, so that a point stands at the top.", draw.paper_2),
            (
                "Turn up the two edges below, open the hat at its middle and pull the sides apart: the boat stands.",
                draw.paper_3,
            ),
        ),
    ),
    (
        "Art",
        "potato stamp",
        ("I want to print wrapping paper with stars, as here, using a potato. How?", draw.stamp_goal),
        (
            ("Cut a large potato in half with one straight cut.", draw.stamp_1),
            (
                "Draw a star on the cut side and cut away everything around it, about a finger's breadth deep.",
                draw.stamp_2,
            ),
            ("Dab the star dry, press it into paint and then firmly on the paper.", draw.stamp_3),
        ),
    ),
    (
        "Art",
        "mixing green",
        ("I have no green paint. How do I get this colour from the others?", draw.green_goal),
        (
            ("Put a little blue and a little more yellow side by side on a plate.", draw.green_1),
            ("Draw some of the blue into the yellow with the brush, and stir where they meet.", draw.green_2),
            (
                "Add yellow until the green is light enough; a trace of blue makes it darker again.",
                draw.green_3,
            ),
        ),
    ),
    (
        "Art",
        "drawing a cat",
        ("Can you show me in three steps how to draw a sitting cat?", draw.cat_goal),
        (
            (
                "Draw a large egg for the body, and a circle on top of it for the head.",
                lambda c: draw.drawn_cat(c, 1),
            ),
            ("Put two pointed ears on the head and a bent tail at the side.", lambda c: draw.drawn_cat(c, 2)),
            ("Add eyes, a small nose and whiskers.", lambda c: draw.drawn_cat(c, 3)),
        ),
    ),
    (
        "Art",
        "paper snowflake",
        ("How is a snowflake like this cut from paper?", draw.flake),
        (
            ("Cut out a circle and fold it in half.", draw.flake_1),
            ("Fold the half circle in three, so that a wedge remains.", draw.flake_2),
            ("Cut small triangles into both edges of the wedge, then unfold it.", draw.flake_3),
        ),
    ),
    (
        "Health",
        "washing hands",
        (
            "My hands look like this after gardening. How do I wash them so that they are really clean?",
            draw.wash_0,
        ),
        (
            ("Hold your hands under running water until they are wet all over.", draw.wash_1),
            ("Rub soap between fingers, over the backs and under the nails for twenty seconds.", draw.wash_2),
            ("Rinse well and dry them with a clean towel.", draw.wash_3),
        ),
    ),
    (
        "Health",
        "brushing teeth",
        ("My teeth feel dull, as in the picture. How do I brush them properly?", draw.teeth_0),
        (
            ("Put toothpaste the size of a pea on a soft brush.", draw.teeth_1),
            (
                "Brush in small circles along the outside, the inside and the chewing surfaces, two minutes in all.",
                draw.teeth_2,
            ),
            ("Spit out, rinse the brush, and look whether all surfaces shine.", draw.teeth_3),
        ),
    ),
    (
        "Health",
        "packing lunch",
        ("How do I fill this lunch box so that it keeps me going through the afternoon?", draw.lunch_0),
        (
            ("Fill the large half with vegetables of several colours.", draw.lunch_1),
            ("Put whole grains, such as brown rice or bread, in one of the quarters.", draw.lunch_2),
            ("Put beans, egg or fish in the last quarter, and take water along.", draw.lunch_3),
        ),
    ),
    (
        "Health",
        "a small cut",
        ("I have cut my finger a little. What do I do?", draw.cut_0),
        (
            ("Hold the finger under clean, cool water until the dirt is out.", draw.cut_1),
            ("Press a clean cloth on the cut until it stops bleeding.", draw.cut_2),
            ("Stick a plaster over it, without pulling it tight.", draw.cut_3),
        ),
    ),
    (
        "Health",
        "a stiff neck",
        ("After a day at the desk my neck is stiff. Which stretches help?", draw.stretch_0),
        (
            (
                "Stand up straight and tilt your head slowly to each side, twenty seconds each.",
                draw.stretch_1,
            ),
            ("Raise both arms and reach for the ceiling while you breathe in.", draw.stretch_2),
            ("Stretch one arm to the side, turn your head the other way, then change sides.", draw.stretch_3),
        ),
    ),
)
