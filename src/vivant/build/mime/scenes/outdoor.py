"""Scenes under the sky."""

from __future__ import annotations

import numpy as np

from vivant.build.mime.scenes.canvas import Canvas, Colour, plain, stripes, tiles


def archery_range(canvas: Canvas) -> None:
    """A meadow with a row of round targets before trees."""
    canvas.sky((132, 184, 226), (212, 230, 240))
    for step, x in enumerate(np.arange(-14, 15, 2.0)):
        canvas.tree(16.0, x, 3.4 + 0.5 * (step % 3), (70 + 8 * (step % 2), 124, 72))
    canvas.floor(
        stripes(2.2, (122, 172, 88), (114, 164, 82), across=True), (138, 182, 108), haze=24.0, end=16.0
    )
    for x in (-3.2, 0.2, 3.6):
        for lean in (-0.5, 0.5):
            canvas.line((x + lean, 0, -8.2), (x, 1.5, -8.0), 0.09, (118, 88, 56))
        for radius, colour in (
            (0.78, (240, 240, 236)),
            (0.62, (48, 48, 52)),
            (0.46, (72, 132, 200)),
            (0.30, (214, 62, 52)),
            (0.14, (246, 212, 64)),
        ):
            shade: Colour = colour
            canvas.disc(7.9, x, 1.1, radius, shade)


def fishing_pier(canvas: Canvas) -> None:
    """A plank pier that runs out into a lake, hills on the far shore."""
    canvas.sky((150, 192, 222), (232, 226, 208))
    canvas.shape(
        60.0,
        [(-40, 0), (-30, 5), (-20, 2.6), (-9, 6.4), (2, 2.4), (12, 5.2), (24, 2.2), (40, 6), (40, 0)],
        (122, 146, 152),
    )
    canvas.shape(
        50.0, [(-40, 0), (-26, 2.4), (-12, 1.2), (4, 2.6), (18, 1.2), (40, 2.8), (40, 0)], (92, 124, 108)
    )
    canvas.floor(plain((74, 128, 156)), (138, 176, 190), haze=16.0)
    for step, depth in enumerate(np.geomspace(0.4, 26.0, 22)):
        shift = (step * 2.3) % 3.4
        for x in np.arange(-16 + shift, 16, 3.4):
            canvas.ground(
                [(x, depth), (x + 1.3, depth), (x + 1.1, depth * 1.02), (x + 0.2, depth * 1.02)],
                (142, 182, 198),
            )
    canvas.ground([(-1.5, -4), (1.5, -4), (1.5, 2.6), (-1.5, 2.6)], (152, 120, 88))
    for step, depth in enumerate(np.arange(-3.0, 2.6, 0.22)):
        tone = 8 * (step % 3)
        canvas.ground(
            [(-1.5, depth), (1.5, depth), (1.5, depth + 0.19), (-1.5, depth + 0.19)],
            (160 + tone, 126 + tone, 92 + tone),
        )
    for x in (-1.5, 1.5):
        for depth in (2.5, 0.6):
            canvas.board(depth, x - 0.09, x + 0.09, -0.3, 0.75, (104, 80, 60))


def soccer_field(canvas: Canvas) -> None:
    """Striped turf, white lines, a goal with its net, a stand behind."""
    canvas.sky((140, 190, 230), (208, 228, 240))
    for row in range(4):
        tone = 120 - 14 * row
        canvas.board(18.0, -20, 20, 0.75 * row, 0.75 * row + 0.75, (tone, tone + 4, tone + 16))
        for step, x in enumerate(np.arange(-14, 14, 0.7)):
            dot: Colour = ((206, 84, 70), (230, 214, 120), (96, 140, 196))[(step + row) % 3]
            canvas.disc(17.9, x, 0.75 * row + 0.42, 0.2, dot)
    canvas.floor(stripes(2.0, (96, 160, 74), (84, 148, 66), across=True), (104, 162, 88), haze=40.0, end=18.0)
    canvas.line((-20, 0, -8.5), (20, 0, -8.5), 0.12, (244, 246, 242))
    for x in (-4.4, 4.4):
        canvas.line((x, 0, -8.5), (x, 0, -3.5), 0.1, (244, 246, 242))
    canvas.line((-4.4, 0, -3.5), (4.4, 0, -3.5), 0.1, (244, 246, 242))
    for x in np.arange(-2.6, 2.61, 0.4):
        canvas.line((x, 0, -9.4), (x, 2.1, -9.0), 0.02, (222, 228, 226))
    for height in np.arange(0.3, 2.1, 0.35):
        canvas.line((-2.6, height, -9.2), (2.6, height, -9.2), 0.02, (222, 228, 226))
    for x in (-2.6, 2.6):
        canvas.board(8.5, x - 0.07, x + 0.07, 0, 2.15, (250, 250, 250))
    canvas.board(8.5, -2.67, 2.67, 2.05, 2.19, (250, 250, 250))


def road(canvas: Canvas) -> None:
    """A straight road to the horizon through fields, cars on it."""
    canvas.sky((126, 178, 224), (222, 234, 240))
    canvas.shape(70.0, [(-60, 0), (-34, 5.5), (-12, 2), (10, 5), (36, 2), (60, 6), (60, 0)], (134, 158, 148))
    canvas.floor(plain((150, 172, 98)), (166, 184, 122), haze=40.0)
    canvas.ground([(-3.0, -4), (3.0, -4), (3.0, 150), (-3.0, 150)], (92, 94, 100))
    for x in (-2.8, 2.8):
        canvas.ground([(x - 0.06, -4), (x + 0.06, -4), (x + 0.06, 150), (x - 0.06, 150)], (238, 238, 232))
    for depth in np.arange(-2.0, 60.0, 3.0):
        canvas.ground(
            [(-0.07, depth), (0.07, depth), (0.07, depth + 1.6), (-0.07, depth + 1.6)], (238, 238, 232)
        )
    for depth, x, height in ((30.0, -8.0, 4.0), (22.0, 8.5, 3.4), (15.0, -7.0, 3.2), (12.0, 6.4, 3.0)):
        canvas.tree(depth, x, height, (88, 132, 74))
    for depth, x, paint in ((13.0, 1.5, (196, 58, 50)), (22.0, -1.5, (70, 104, 168))):
        canvas.board(depth, x - 0.85, x + 0.85, 0.3, 0.95, paint)
        canvas.shape(
            depth, [(x - 0.7, 0.95), (x + 0.7, 0.95), (x + 0.52, 1.5), (x - 0.52, 1.5)], (196, 218, 230)
        )
        for wheel in (-0.65, 0.65):
            canvas.board(depth - 0.02, x + wheel - 0.14, x + wheel + 0.14, 0.0, 0.4, (34, 34, 38))
        for lamp in (-0.7, 0.7):
            canvas.board(depth - 0.03, x + lamp - 0.12, x + lamp + 0.12, 0.66, 0.82, (252, 236, 160))


def golf_course(canvas: Canvas) -> None:
    """A fairway with a bunker, a green with its flag, trees in rows."""
    canvas.sky((134, 188, 228), (222, 236, 240))
    for step, x in enumerate(np.arange(-18, 19, 2.6)):
        canvas.tree(24.0, x, 3.2 + 0.8 * (step % 2), (76, 118 + 8 * (step % 3), 78))
    canvas.floor(stripes(1.6, (128, 178, 92), (118, 168, 84)), (134, 176, 106), haze=30.0, end=24.0)
    turn = np.linspace(0, 2 * np.pi, 40)
    canvas.ground([(2.2 + 3.2 * np.cos(a), 11.0 + 3.4 * np.sin(a)) for a in turn], (146, 204, 108))
    canvas.ground([(-3.4 + 1.5 * np.cos(a), 6.4 + 1.2 * np.sin(a)) for a in turn], (232, 216, 168))
    canvas.ground([(-3.3 + 1.25 * np.cos(a), 6.3 + 0.95 * np.sin(a)) for a in turn], (240, 226, 182))
    canvas.board(11.0, 2.18, 2.23, 0, 2.0, (248, 248, 246))
    canvas.shape(11.0, [(2.23, 2.0), (3.0, 1.78), (2.23, 1.55)], (214, 52, 46))


def house_front(canvas: Canvas) -> None:
    """A brick wall with windows and a gutter, a ladder leaning against it."""
    canvas.sky((186, 206, 220), (206, 216, 222))
    canvas.floor(tiles(0.5, (170, 168, 164), (150, 148, 146), 0.015), (164, 162, 160), end=2.6)
    canvas.board(2.6, -8, 8, 0, 6, (178, 104, 82))
    for step, height in enumerate(np.arange(0.0, 3.4, 0.16)):
        canvas.board(2.59, -8, 8, height, height + 0.018, (206, 164, 142))
        for x in np.arange(-3.6 + 0.2 * (step % 2), 3.6, 0.4):
            canvas.board(2.59, x, x + 0.018, height, height + 0.16, (206, 164, 142))
    for x in (-2.1, 1.5):
        canvas.board(2.55, x - 0.55, x + 0.55, 0.95, 2.25, (244, 242, 236))
        canvas.board(2.54, x - 0.46, x - 0.04, 1.04, 2.16, (146, 178, 198))
        canvas.board(2.54, x + 0.04, x + 0.46, 1.04, 2.16, (146, 178, 198))
        canvas.board(2.5, x - 0.65, x + 0.65, 0.87, 0.95, (226, 222, 214))
    for x in (-0.72, -0.3):
        canvas.line((x - 0.12, 0.0, -1.7), (x, 3.4, -2.45), 0.055, (214, 176, 84))
    for step in np.linspace(0.05, 0.95, 11):
        height, depth = 3.4 * step, 1.7 + 0.75 * step
        canvas.line(
            (-0.84 + 0.12 * step, height, -depth),
            (-0.42 + 0.12 * step, height, -depth),
            0.045,
            (200, 162, 76),
        )


def playground(canvas: Canvas) -> None:
    """A swing, a slide and trees around a sandy court."""
    canvas.sky((146, 196, 230), (220, 234, 238))
    for step, x in enumerate(np.arange(-14, 15, 2.4)):
        canvas.tree(14.0, x, 3.2 + 0.6 * (step % 2), (88, 142, 82))
    canvas.floor(plain((134, 178, 98)), (146, 186, 112), end=14.0)
    turn = np.linspace(0, 2 * np.pi, 40)
    canvas.ground([(4.6 * np.cos(a), 0.2 + 4.4 * np.sin(a)) for a in turn], (226, 206, 158))
    for x in (-4.0, -1.2):
        for lean in (-0.4, 0.4):
            canvas.line((x + lean, 0, -5.2), (x, 2.3, -5.2), 0.09, (206, 70, 58))
    canvas.line((-4.0, 2.3, -5.2), (-1.2, 2.3, -5.2), 0.1, (206, 70, 58))
    for x in (-3.2, -2.0):
        for side in (-0.18, 0.18):
            canvas.line((x + side, 2.3, -5.2), (x + side, 0.6, -5.2), 0.03, (90, 90, 96))
        canvas.board(5.18, x - 0.25, x + 0.25, 0.54, 0.62, (64, 96, 150))
    for x in (1.5, 1.95):
        canvas.line((x, 0, -5.4), (x, 1.8, -5.4), 0.07, (74, 112, 172))
    for height in (0.35, 0.7, 1.05, 1.4):
        canvas.line((1.5, height, -5.4), (1.95, height, -5.4), 0.05, (74, 112, 172))
    canvas.shape(
        5.3, [(1.75, 1.75), (2.1, 1.75), (3.7, 0.25), (4.1, 0.22), (4.1, 0.05), (3.5, 0.08)], (240, 196, 70)
    )


def tennis_court(canvas: Canvas) -> None:
    """A hard court with its lines and net, a fence behind."""
    canvas.sky((140, 188, 226), (214, 230, 238))
    for step, x in enumerate(np.arange(-14, 15, 2.4)):
        canvas.tree(17.0, x, 3.4 + 0.5 * (step % 2), (84, 136, 84))
    canvas.board(15.0, -20, 20, 0, 2.6, (92, 128, 112))
    canvas.floor(plain((96, 138, 106)), (104, 142, 114), end=15.0)
    canvas.ground([(-4.1, -2.4), (4.1, -2.4), (4.1, 13.0), (-4.1, 13.0)], (74, 108, 164))
    for x in (-4.1, -3.1, 0.0, 3.1, 4.1):
        canvas.line((x, 0, 0.4 if x else -3.0), (x, 0, -13.0 if x else -10.0), 0.08, (242, 244, 244))
    for depth in (3.0, 10.0, 13.0):
        canvas.line((-4.1, 0, -depth), (4.1, 0, -depth), 0.08, (242, 244, 244))
    for x in np.arange(-5.0, 5.01, 0.25):
        canvas.line((x, 0.05, -6.5), (x, 0.95, -6.5), 0.015, (56, 62, 66))
    for height in np.arange(0.1, 0.95, 0.17):
        canvas.line((-5.0, height, -6.5), (5.0, height, -6.5), 0.015, (56, 62, 66))
    canvas.line((-5.0, 0.97, -6.5), (5.0, 0.97, -6.5), 0.09, (246, 246, 246))
    for x in (-5.0, 5.0):
        canvas.board(6.5, x - 0.05, x + 0.05, 0, 1.05, (60, 64, 70))


def street(canvas: Canvas) -> None:
    """A pavement before a row of coloured houses."""
    canvas.sky((168, 204, 228), (226, 234, 236))
    canvas.floor(plain((108, 110, 114)), (120, 122, 126), end=6.0)
    canvas.ground([(-12, -4), (12, -4), (12, 1.4), (-12, 1.4)], (188, 184, 176))
    canvas.board(1.4, -12, 12, -0.12, 0.0, (150, 148, 142))
    for step, x in enumerate(np.arange(-9.0, 9.0, 2.2)):
        paint: Colour = ((222, 166, 128), (176, 196, 206), (232, 214, 158), (196, 150, 146))[step % 4]
        top = 3.1 + 0.5 * (step % 2)
        canvas.board(6.0, x, x + 2.2, 0, top, paint)
        canvas.shape(6.0, [(x - 0.05, top), (x + 2.25, top), (x + 1.1, top + 0.9)], (142, 82, 70))
        canvas.board(5.98, x + 0.2, x + 0.75, 0, 1.3, (98, 76, 62))
        for wx, wy in ((1.1, 0.6), (1.1, 1.9), (0.2, 1.9)):
            canvas.board(5.98, x + wx, x + wx + 0.7, wy, wy + 0.75, (236, 240, 240))
            canvas.board(5.97, x + wx + 0.06, x + wx + 0.64, wy + 0.06, wy + 0.69, (128, 160, 182))
    for x in (-2.6, 2.6):
        canvas.board(1.2, x - 0.05, x + 0.05, 0, 2.5, (70, 74, 78))
        canvas.disc(1.2, x, 2.55, 0.17, (250, 240, 196))


def lake_shore(canvas: Canvas) -> None:
    """Calm water with reeds and a boat drawn up on a jetty."""
    canvas.sky((156, 194, 220), (236, 226, 206))
    canvas.shape(
        50.0, [(-40, 0), (-24, 3.4), (-8, 1.6), (8, 3.8), (22, 1.4), (40, 3.2), (40, 0)], (108, 136, 124)
    )
    canvas.floor(plain((84, 140, 160)), (150, 184, 192), haze=16.0)
    canvas.ground([(-8, -4), (8, -4), (6.0, 1.2), (2.0, 0.7), (-2.5, 1.0), (-6, 0.6)], (196, 178, 132))
    canvas.shape(4.0, [(1.0, 0.35), (3.4, 0.35), (3.1, 0.0), (1.3, 0.0)], (150, 78, 60))
    canvas.board(3.98, 1.0, 3.4, 0.28, 0.36, (232, 214, 178))
    for step, x in enumerate(np.arange(-4.6, -2.0, 0.16)):
        canvas.line(
            (x, 0, -2.0), (x + 0.06 * (step % 3 - 1), 0.8 + 0.14 * (step % 4), -2.0), 0.03, (98, 132, 74)
        )
