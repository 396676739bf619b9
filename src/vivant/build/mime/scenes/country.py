"""Scenes for exercise and work in the open: parks, gardens, grounds, a quay."""

from __future__ import annotations

import numpy as np

from vivant.build.mime.scenes.canvas import Canvas, Colour, plain, stripes, tiles


def park(canvas: Canvas) -> None:
    """A gravel path between lawns, a bench, a lamp and round trees."""
    canvas.sky((140, 192, 232), (218, 234, 240))
    for step, x in enumerate(np.arange(-15, 16, 2.4)):
        canvas.tree(17.0, x, 4.2 + 0.6 * (step % 3), (84 + 10 * (step % 2), 140, 76))
    canvas.floor(plain((128, 176, 94)), (146, 188, 118), haze=26.0, end=17.0)
    canvas.ground([(-1.7, -5), (1.7, -5), (1.0, 16.5), (-1.0, 16.5)], (208, 192, 160))
    for x, depth in ((-3.4, 5.0), (4.6, 9.0)):
        canvas.tree(depth, x, 4.6, (72, 132, 70))
    canvas.board(4.2, 2.1, 3.7, 0.42, 0.50, (130, 88, 54))
    canvas.board(4.25, 2.1, 3.7, 0.62, 0.92, (140, 96, 60))
    for x in (2.2, 3.6):
        canvas.board(4.2, x - 0.04, x + 0.04, 0.0, 0.9, (58, 60, 64))
    canvas.board(6.0, -1.97, -1.91, 0, 2.7, (48, 52, 56))
    canvas.disc(6.0, -1.94, 2.8, 0.16, (252, 244, 206))


def forest(canvas: Canvas) -> None:
    """A clearing before dark trunks, with a pile of logs and a chopping block."""
    canvas.sky((150, 184, 170), (196, 212, 184))
    for depth, tone in ((16.0, 96), (11.0, 78), (8.0, 62)):
        for step, x in enumerate(np.arange(-12, 12.1, 1.3)):
            sway = 0.35 * np.sin(step * 2.1 + depth)
            canvas.board(depth, x + sway - 0.14, x + sway + 0.14, 0, 7, (tone, tone - 12, tone - 22))
    for step, x in enumerate(np.arange(-12, 12.1, 1.1)):
        canvas.disc(7.9, x, 3.6 + 0.5 * (step % 2), 1.0, (58 + 8 * (step % 3), 96, 56))
    canvas.floor(plain((122, 116, 78)), (112, 120, 84), haze=14.0, end=16.0)
    for row, count in enumerate((5, 4, 3)):
        for place in range(count):
            x, y = 2.6 + (place - (count - 1) / 2) * 0.34, 0.17 + 0.29 * row
            canvas.disc(4.0, x, y, 0.17, (196, 156, 104))
            canvas.disc(3.99, x, y, 0.09, (172, 128, 82))
    canvas.board(3.0, -2.5, -1.9, 0, 0.5, (128, 92, 60))
    canvas.disc(2.99, -2.2, 0.5, 0.3, (206, 170, 116), 0.3)


def garden(canvas: Canvas) -> None:
    """Beds of turned earth with rows of green, a fence, a shed, sunflowers."""
    canvas.sky((146, 196, 232), (224, 234, 236))
    canvas.floor(plain((124, 168, 88)), (140, 178, 108), haze=20.0, end=9.0)
    for x in np.arange(-9, 9, 0.32):
        canvas.board(9.0, x, x + 0.24, 0, 1.25, (196, 158, 112))
    canvas.board(8.98, -9, 9, 0.85, 0.98, (164, 126, 84))
    canvas.board(8.5, 2.2, 5.0, 0, 2.1, (150, 96, 66))
    canvas.shape(8.48, [(2.0, 2.1), (5.2, 2.1), (3.6, 3.0)], (104, 66, 52))
    canvas.board(8.4, 3.2, 4.0, 0, 1.7, (112, 70, 50))
    for left, near, far in ((-4.6, 1.4, 5.5), (1.3, 1.4, 5.5)):
        canvas.ground([(left, near), (left + 3.2, near), (left + 3.2, far), (left, far)], (104, 76, 56))
        for depth in np.arange(far - 0.4, near, -0.8):
            for x in np.arange(left + 0.3, left + 3.1, 0.45):
                canvas.disc(depth, x, 0.14, 0.15, (86, 150, 66))
    for x in (-3.6, -2.9, -2.3):
        canvas.board(7.5, x - 0.03, x + 0.03, 0, 1.7, (76, 122, 58))
        canvas.disc(7.45, x, 1.8, 0.3, (244, 190, 48))
        canvas.disc(7.44, x, 1.8, 0.14, (92, 62, 42))


def viewpoint(canvas: Canvas) -> None:
    """A terrace with a railing high above a valley, snowy mountains behind."""
    canvas.sky((110, 168, 222), (222, 232, 238))
    canvas.shape(
        80.0,
        [(-60, -5), (-42, 12), (-30, 5), (-16, 17), (-4, 6), (10, 14), (24, 5), (38, 16), (60, -5)],
        (130, 146, 172),
    )
    for x, y, w in ((-42.0, 12.0, 6.0), (-16.0, 17.0, 7.0), (10.0, 14.0, 6.0), (38.0, 16.0, 6.0)):
        canvas.shape(
            79.0, [(x - w * 0.55, y - 3.2), (x, y), (x + w * 0.55, y - 3.2), (x, y - 2.2)], (246, 248, 250)
        )
    canvas.shape(
        50.0, [(-50, -8), (-30, 3.5), (-12, 0.5), (8, 4), (28, 1), (50, 4), (50, -8)], (96, 136, 104)
    )
    canvas.floor(tiles(0.7, (190, 182, 170), (160, 152, 142)), (182, 176, 166), end=2.6)
    canvas.board(2.6, -9, 9, 0.0, 0.1, (140, 132, 122))
    for x in np.arange(-9, 9, 0.9):
        canvas.board(2.6, x - 0.03, x + 0.03, 0.0, 1.0, (70, 76, 84))
    for y in (0.5, 0.75, 1.0):
        canvas.line((-9, y, -2.6), (9, y, -2.6), 0.04, (70, 76, 84))


def harbour(canvas: Canvas) -> None:
    """A quay with bollards, a moored ship with masts, gulls."""
    canvas.sky((156, 190, 214), (230, 230, 218))
    canvas.floor(plain((70, 118, 142)), (130, 166, 180), haze=16.0)
    canvas.shape(22.0, [(-7, 1.9), (-5.6, 0.0), (4.6, 0.0), (6.8, 2.3), (5.2, 1.8)], (150, 52, 46))
    canvas.shape(21.9, [(-7, 1.9), (-6.8, 1.6), (6.3, 1.8), (6.8, 2.3), (5.2, 1.9)], (240, 236, 226))
    canvas.board(21.8, -4.2, -1.4, 1.85, 2.9, (236, 232, 222))
    for x in (-3.8, -3.0, -2.2):
        canvas.board(21.7, x, x + 0.4, 2.2, 2.6, (92, 122, 140))
    for x in (0.4, 3.2):
        canvas.board(21.8, x - 0.07, x + 0.07, 1.8, 6.0, (120, 86, 58))
        canvas.line((x - 1.4, 4.6, -21.8), (x + 1.4, 4.6, -21.8), 0.06, (120, 86, 58))
        for end in (-2.4, 2.4):
            canvas.line((x, 5.9, -21.8), (x + end, 1.9, -21.8), 0.02, (90, 84, 78))
    canvas.ground([(-12, -6), (12, -6), (12, 2.6), (-12, 2.6)], (156, 152, 146))
    canvas.board(2.6, -12, 12, -0.4, 0.0, (120, 116, 110))
    for x in (-1.5, 1.5):
        canvas.board(2.2, x - 0.16, x + 0.16, 0, 0.45, (48, 52, 58))
        canvas.disc(2.19, x, 0.47, 0.22, (62, 66, 72), 0.4)
    for x, y in ((-2.4, 2.5), (1.9, 2.6), (2.6, 2.3)):
        canvas.line((x - 0.3, y + 0.12, -8), (x, y, -8), 0.04, (250, 250, 250))
        canvas.line((x, y, -8), (x + 0.3, y + 0.12, -8), 0.04, (250, 250, 250))


def baseball_field(canvas: Canvas) -> None:
    """Brown infield earth with white bases, outfield grass, a fence with boards and floodlights."""
    canvas.sky((128, 184, 232), (206, 226, 240))
    canvas.board(20.0, -22, 22, 0, 1.9, (36, 84, 62))
    for step, x in enumerate(np.arange(-20, 20, 4.0)):
        colour: Colour = ((214, 190, 70), (196, 70, 62), (70, 116, 186))[step % 3]
        canvas.board(19.9, x, x + 3.2, 0.4, 1.5, colour)
    for x in (-9.0, 9.0):
        canvas.board(21.0, x - 0.15, x + 0.15, 0, 7, (116, 122, 130))
        canvas.board(20.9, x - 1.3, x + 1.3, 6.2, 7.4, (232, 234, 226))
    canvas.floor(stripes(2.4, (92, 156, 74), (84, 146, 68), across=True), (104, 162, 88), haze=40.0, end=20.0)
    canvas.ground([(-14, -6), (14, -6), (6.5, 4.4), (0, 10.5), (-6.5, 4.4)], (178, 122, 82))
    canvas.ground([(-4.0, 4.4), (0.0, 2.4), (4.0, 4.4), (0.0, 8.2)], (96, 158, 78))
    for x, depth in ((-4.2, 3.4), (4.2, 3.4), (0.0, 8.6)):
        canvas.ground(
            [(x - 0.3, depth), (x, depth - 0.3), (x + 0.3, depth), (x, depth + 0.3)], (250, 250, 246)
        )
    for x in (-1.0, 1.0):
        canvas.line((x * 0.6, 0, 0.4), (x * 10, 0, -9.5), 0.09, (246, 246, 242))


def parade_ground(canvas: Canvas) -> None:
    """A paved square before a long barracks with a flag on its pole."""
    canvas.sky((150, 186, 216), (220, 228, 230))
    canvas.floor(tiles(1.2, (176, 174, 168), (152, 150, 146)), (170, 170, 166), haze=22.0, end=14.0)
    canvas.board(14.0, -14, 14, 0, 3.4, (190, 178, 148))
    canvas.board(13.98, -14, 14, 3.4, 3.9, (120, 66, 54))
    for x in np.arange(-12.6, 13, 1.8):
        for y in (0.6, 2.0):
            canvas.board(13.96, x, x + 0.8, y, y + 0.85, (84, 98, 110))
    canvas.board(13.95, -0.7, 0.7, 0, 1.9, (92, 62, 46))
    canvas.board(11.0, 2.17, 2.25, 0, 4.0, (226, 228, 230))
    canvas.shape(11.0, [(2.25, 2.9), (3.9, 2.75), (3.9, 3.75), (2.25, 3.9)], (64, 92, 168))
    canvas.shape(10.99, [(2.25, 3.25), (3.9, 3.1), (3.9, 3.4), (2.25, 3.55)], (244, 244, 240))
