"""Scenes under a roof."""

from __future__ import annotations

import numpy as np

from vivant.build.mime.scenes.canvas import Canvas, Colour, plain, planks, tiles


def bowling_alley(canvas: Canvas) -> None:
    """Three lanes with gutters, pins at their ends, a bright wall above."""
    canvas.sky((46, 34, 66), (70, 48, 92))
    canvas.floor(planks(0.09, (206, 164, 108), 7.0), (186, 146, 98), end=9.0)
    for centre in (-2.6, 0.0, 2.6):
        for edge in (-0.66, 0.66):
            x = centre + edge
            canvas.ground([(x - 0.14, -5.0), (x + 0.14, -5.0), (x + 0.14, 9), (x - 0.14, 9)], (74, 64, 66))
    canvas.board(9.0, -9, 9, 0, 1.25, (28, 24, 34))
    canvas.board(9.0, -9, 9, 1.25, 2.9, (232, 122, 48))
    for step, x in enumerate(np.arange(-8.4, 9, 1.2)):
        colour: Colour = (246, 206, 72) if step % 2 else (66, 150, 190)
        canvas.shape(8.98, [(x - 0.45, 1.45), (x + 0.45, 1.45), (x, 2.6)], colour)
    for centre in (-2.6, 0.0, 2.6):
        for row, count in enumerate((4, 3, 2, 1)):
            for place in range(count):
                x, depth = centre + (place - (count - 1) / 2) * 0.3, 8.6 - 0.26 * row
                canvas.disc(depth, x, 0.2, 0.085, (246, 244, 238), 2.3)
                canvas.disc(depth, x, 0.5, 0.055, (246, 244, 238), 1.6)
                canvas.board(depth, x - 0.05, x + 0.05, 0.38, 0.42, (204, 46, 46))


def concert_hall(canvas: Canvas) -> None:
    """A stage: boards, heavy red curtains, two beams of light."""
    canvas.sky((26, 18, 24), (44, 26, 32))
    canvas.floor(planks(0.16, (158, 112, 72), 8.0), (112, 74, 52), haze=9.0, end=4.0)
    canvas.board(4.0, -8, 8, 0, 6, (92, 18, 28))
    for x in np.arange(-8, 8, 0.5):
        canvas.board(3.99, x, x + 0.24, 0, 6, (132, 28, 38))
        canvas.board(3.98, x + 0.06, x + 0.12, 0, 6, (160, 44, 52))
    canvas.board(3.9, -8, 8, 2.75, 6, (110, 20, 32))
    for x in np.arange(-8, 8, 1.0):
        canvas.disc(3.89, x + 0.5, 2.75, 0.5, (122, 24, 36), 0.4)
        canvas.disc(3.88, x + 0.5, 2.82, 0.5, (110, 20, 32), 0.34)
    for x in (-1.9, 1.9):
        canvas.ground(
            [(x * 0.55 + 1.3 * np.cos(a), 0.4 + 0.9 * np.sin(a)) for a in np.linspace(0, 6.28, 30)],
            (196, 152, 104),
        )
    for x in (-2.2, -1.1, 0.0, 1.1, 2.2):
        canvas.disc(3.0, x, 2.62, 0.1, (255, 246, 206))


def boxing_gym(canvas: Canvas) -> None:
    """The inside of a ring: canvas floor, three ropes, posts with pads, a dark hall behind."""
    canvas.sky((30, 34, 44), (52, 54, 66))
    canvas.floor(plain((196, 200, 206)), (176, 180, 190), end=3.2)
    canvas.board(3.2, -9, 9, -0.35, 0.0, (40, 62, 128))
    for step, x in enumerate(np.arange(-6, 6.1, 0.55)):
        tone = 66 + 14 * (step % 3)
        canvas.disc(6.0, x, 0.95 + 0.1 * (step % 2), 0.2, (tone, tone - 6, tone - 2))
        canvas.disc(6.0, x, 0.4, 0.34, (tone - 18, tone - 20, tone - 8))
    for height, colour in ((0.5, (206, 52, 48)), (0.95, (236, 236, 238)), (1.4, (52, 88, 190))):
        shade: Colour = colour
        canvas.line((-2.6, height, -3.1), (2.6, height, -3.1), 0.06, shade)
        for x in (-2.6, 2.6):
            canvas.line((x, height, -3.1), (x * 1.15, height, 1.5), 0.06, shade)
    for x, pad in ((-2.6, (206, 52, 48)), (2.6, (52, 88, 190))):
        canvas.board(3.1, x - 0.07, x + 0.07, 0, 1.6, (70, 74, 84))
        canvas.board(3.09, x - 0.16, x + 0.16, 0.4, 1.5, pad)
    for x in (-2.0, 0.0, 2.0):
        canvas.shape(3.0, [(x - 0.4, 2.9), (x + 0.4, 2.9), (x + 0.2, 2.62), (x - 0.2, 2.62)], (230, 226, 196))


def swimming_pool(canvas: Canvas) -> None:
    """A tiled edge, water with lane ropes, a glass wall."""
    canvas.sky((206, 222, 228), (226, 234, 236))
    for x in np.arange(-8, 8, 1.5):
        canvas.board(14.0, x + 0.1, x + 1.4, 0.9, 4.2, (158, 200, 222))
    canvas.board(14.0, -12, 12, 0, 0.6, (240, 242, 240))
    canvas.floor(tiles(0.3, (228, 224, 212), (196, 192, 182), 0.012), (70, 160, 202), end=0.9)
    canvas.ground([(-14, 0.9), (14, 0.9), (14, 13), (-14, 13)], (66, 156, 202))
    rows = np.linspace(1.0, 12.5, 24)
    for step, depth in enumerate(rows):
        shift = (step * 1.37) % 2.0
        for x in np.arange(-9 + shift, 9, 2.0):
            canvas.ground(
                [(x, depth), (x + 0.8, depth), (x + 0.7, depth + 0.06), (x + 0.1, depth + 0.06)],
                (112, 190, 222),
            )
    for x in (-4.5, -1.5, 1.5, 4.5):
        for step, depth in enumerate(np.arange(1.0, 12.8, 0.5)):
            colour: Colour = (222, 60, 54) if step % 2 else (244, 244, 244)
            canvas.ground(
                [(x - 0.07, depth), (x + 0.07, depth), (x + 0.07, depth + 0.5), (x - 0.07, depth + 0.5)],
                colour,
            )
    canvas.ground([(-9, 0.78), (9, 0.78), (9, 0.95), (-9, 0.95)], (44, 92, 142))


def gym(canvas: Canvas) -> None:
    """Rubber floor, a mirror wall, a rack of dumb-bells and a barbell on its stand."""
    canvas.sky((196, 198, 202), (208, 208, 210))
    canvas.floor(tiles(0.8, (82, 86, 94), (70, 74, 82), 0.015), (92, 96, 104), end=4.0)
    canvas.board(4.0, -8, 8, 0, 5, (214, 212, 206))
    canvas.board(3.99, -3.2, 3.2, 0.5, 2.5, (176, 194, 206))
    for x in (-1.1, 1.1):
        canvas.board(3.98, x - 0.02, x + 0.02, 0.5, 2.5, (140, 156, 168))
    canvas.board(3.6, -2.6, -0.8, 0.28, 0.36, (50, 52, 58))
    canvas.board(3.6, -2.6, -0.8, 0.78, 0.86, (50, 52, 58))
    for height in (0.46, 0.96):
        for x in np.arange(-2.5, -0.8, 0.3):
            canvas.disc(3.5, x, height, 0.1, (36, 38, 44))
            canvas.disc(3.5, x + 0.12, height, 0.1, (58, 60, 68))
    for x in (1.0, 2.2):
        canvas.board(3.5, x - 0.05, x + 0.05, 0, 1.25, (196, 64, 50))
    canvas.board(3.45, 0.5, 2.7, 1.13, 1.17, (150, 154, 160))
    for x in (0.62, 0.74, 2.46, 2.58):
        canvas.board(3.44, x - 0.05, x + 0.05, 0.87, 1.43, (40, 42, 48))


def living_room(canvas: Canvas) -> None:
    """A wooden floor with a rug, a sofa, a window, a lamp and a picture."""
    canvas.sky((226, 214, 194), (232, 222, 204))
    canvas.floor(planks(0.14, (172, 128, 88), 9.0), (160, 120, 86), end=3.4)
    canvas.board(3.4, -8, 8, 0, 5, (230, 220, 202))
    canvas.board(3.39, -8, 8, 0, 0.14, (246, 242, 234))
    canvas.board(3.38, -2.9, -1.2, 1.05, 2.4, (248, 246, 240))
    canvas.board(3.37, -2.8, -2.1, 1.15, 2.3, (170, 210, 232))
    canvas.board(3.37, -2.0, -1.3, 1.15, 2.3, (170, 210, 232))
    for x in (-3.05, -1.05):
        canvas.board(3.3, x - 0.16, x + 0.16, 0.75, 2.55, (122, 158, 128))
    canvas.ground([(-1.6, -0.6), (1.6, -0.6), (1.4, 1.5), (-1.4, 1.5)], (176, 88, 76))
    canvas.ground([(-1.42, -0.45), (1.42, -0.45), (1.26, 1.35), (-1.26, 1.35)], (198, 120, 98))
    sofa: Colour = (92, 118, 148)
    canvas.board(3.0, 0.55, 2.75, 0.1, 1.0, (78, 102, 132))
    canvas.board(2.7, 0.5, 2.8, 0.1, 0.5, sofa)
    for x in (0.45, 2.65):
        canvas.board(2.65, x, x + 0.25, 0.1, 0.72, (84, 108, 138))
    canvas.board(3.38, 1.1, 2.2, 1.45, 2.2, (92, 70, 52))
    canvas.board(3.37, 1.17, 2.13, 1.52, 2.13, (214, 190, 128))
    canvas.shape(3.36, [(1.17, 1.52), (1.5, 1.9), (1.8, 1.62), (2.13, 1.85), (2.13, 1.52)], (98, 134, 104))
    canvas.board(3.1, -0.35, -0.3, 0, 1.5, (110, 92, 70))
    canvas.shape(3.1, [(-0.62, 1.45), (-0.03, 1.45), (-0.16, 1.9), (-0.49, 1.9)], (250, 226, 160))


def basketball_court(canvas: Canvas) -> None:
    """Parquet with painted lines, a board with its hoop and net, rows of seats."""
    canvas.sky((70, 76, 92), (96, 100, 116))
    canvas.floor(planks(0.12, (212, 164, 104), 8.0), (200, 154, 100), end=8.0)
    for row in range(5):
        low = 0.5 * row
        canvas.board(8.0 + 0.3 * row, -10, 10, low, low + 0.5, (58 + 8 * row, 64 + 8 * row, 96 + 6 * row))
        for x in np.arange(-9.6, 9.6, 0.8):
            canvas.board(7.99 + 0.3 * row, x, x + 0.5, low + 0.1, low + 0.42, (178, 64, 54))
    canvas.ground([(-2.4, 1.0), (2.4, 1.0), (2.4, 7.6), (-2.4, 7.6)], (172, 76, 56))
    for x in (-2.4, 2.4):
        canvas.line((x, 0, -1.0), (x, 0, -7.6), 0.07, (246, 242, 232))
    canvas.line((-2.4, 0, -1.0), (2.4, 0, -1.0), 0.07, (246, 242, 232))
    canvas.line((-9, 0, -7.6), (9, 0, -7.6), 0.08, (246, 242, 232))
    canvas.board(6.4, 1.34, 1.46, 0, 2.4, (60, 62, 70))
    canvas.board(6.2, 0.4, 2.4, 2.15, 3.4, (244, 246, 248))
    canvas.board(6.19, 1.02, 1.78, 2.35, 2.95, (206, 60, 48))
    canvas.board(6.18, 1.1, 1.7, 2.42, 2.88, (244, 246, 248))
    canvas.shape(6.0, [(1.02, 2.3), (1.78, 2.3), (1.62, 1.8), (1.18, 1.8)], (232, 232, 228))
    canvas.line((1.0, 2.3, -6.0), (1.8, 2.3, -6.0), 0.07, (230, 96, 40))
