"""Rooms with a purpose: for washing, cooking, working, watching, fencing."""

from __future__ import annotations

import numpy as np

from vivant.build.mime.scenes.canvas import Canvas, Colour, plain, planks, tiles


def kitchen(canvas: Canvas) -> None:
    """A stove with pots under a hood, cupboards, a sink by the window."""
    canvas.sky((236, 230, 214), (230, 222, 204))
    canvas.floor(tiles(0.5, (206, 196, 182), (176, 166, 152)), (196, 188, 176), end=2.4)
    canvas.board(2.4, -9, 9, 0.0, 6, (238, 232, 216))
    for x in np.arange(-4.0, 4.0, 0.34):
        for y in (0.95, 1.29):
            canvas.board(2.39, x + 0.01, x + 0.33, y + 0.01, y + 0.33, (198, 216, 214))
    canvas.board(2.1, -4, 4, 0.0, 0.92, (110, 138, 146))
    canvas.board(2.08, -4, 4, 0.92, 0.98, (84, 72, 64))
    for x in np.arange(-3.9, 3.9, 0.66):
        canvas.board(2.07, x, x + 0.6, 0.08, 0.86, (124, 152, 160))
    canvas.board(2.05, -1.9, -0.9, 0.0, 0.96, (222, 224, 226))
    canvas.board(2.04, -1.75, -1.05, 0.2, 0.66, (46, 48, 54))
    for x, colour in ((-1.65, (196, 70, 56)), (-1.1, (96, 100, 108))):
        shade: Colour = colour
        canvas.board(2.0, x - 0.17, x + 0.17, 0.98, 1.22, shade)
    canvas.shape(2.2, [(-2.0, 1.95), (-0.8, 1.95), (-1.15, 2.7), (-1.65, 2.7)], (160, 166, 172))
    for x in (0.9, 1.7, -3.4, -2.7):
        canvas.board(2.2, x, x + 0.72, 1.75, 2.6, (124, 152, 160))
    canvas.board(2.35, 2.6, 3.8, 1.3, 2.4, (186, 220, 240))


def bathroom(canvas: Canvas) -> None:
    """A basin under a mirror, a bath, white and blue tiles, a towel."""
    canvas.sky((222, 234, 238), (222, 234, 238))
    canvas.floor(tiles(0.35, (150, 172, 186), (128, 150, 164)), (148, 168, 182), end=2.2)
    canvas.board(2.2, -9, 9, 0.0, 6, (232, 242, 246))
    for x in np.arange(-6, 6, 0.3):
        for y in np.arange(0, 1.5, 0.3):
            canvas.board(2.19, x + 0.01, x + 0.29, y + 0.01, y + 0.29, (164, 202, 220))
    canvas.board(2.15, 0.75, 1.85, 1.15, 2.1, (120, 96, 70))
    canvas.board(2.14, 0.81, 1.79, 1.21, 2.04, (206, 224, 234))
    canvas.shape(2.0, [(0.75, 0.9), (1.85, 0.9), (1.6, 0.66), (1.0, 0.66)], (250, 250, 250))
    canvas.board(2.05, 1.22, 1.38, 0, 0.68, (240, 240, 240))
    canvas.board(1.99, 1.27, 1.33, 0.9, 1.08, (160, 166, 172))
    canvas.board(1.9, -3.4, -0.9, 0.0, 0.55, (248, 248, 248))
    canvas.board(1.88, -3.5, -0.8, 0.52, 0.62, (236, 238, 240))
    canvas.board(2.1, -1.9, -1.3, 1.15, 1.95, (222, 130, 110))
    canvas.line((-2.0, 1.96, -2.1), (-1.2, 1.96, -2.1), 0.03, (150, 156, 162))


def workshop(canvas: Canvas) -> None:
    """A workbench with a vice, planks against the wall, tools on a pegboard."""
    canvas.sky((120, 104, 88), (132, 114, 96))
    canvas.floor(planks(0.22, (142, 124, 104), 6.0), (128, 112, 96), end=3.0)
    canvas.board(3.0, -9, 9, 0.0, 6, (160, 142, 118))
    canvas.board(2.98, -1.2, 3.4, 1.3, 2.6, (206, 180, 136))
    for step, x in enumerate(np.arange(-0.9, 3.2, 0.55)):
        canvas.board(2.96, x - 0.03, x + 0.03, 1.6, 2.15, (120, 76, 48))
        if step % 2:
            canvas.board(2.95, x - 0.14, x + 0.14, 2.1, 2.25, (92, 98, 106))
        else:
            canvas.shape(2.95, [(x - 0.05, 2.4), (x + 0.22, 1.75), (x - 0.05, 1.75)], (176, 182, 188))
    for step, x in enumerate((-2.9, -2.6, -2.35, -2.05)):
        canvas.shape(
            2.9,
            [(x, 0), (x + 0.2, 0), (x + 0.45, 2.3 - 0.15 * step), (x + 0.25, 2.3 - 0.15 * step)],
            (204, 166, 112),
        )
    canvas.board(2.5, -1.3, 3.2, 0.84, 0.96, (166, 122, 78))
    for x in (-1.1, 2.9):
        canvas.board(2.5, x - 0.09, x + 0.09, 0, 0.86, (136, 98, 62))
    canvas.board(2.45, 2.2, 2.6, 0.96, 1.16, (70, 96, 120))
    canvas.board(2.42, 0.0, 1.5, 0.96, 1.02, (222, 190, 138))


def office(canvas: Canvas) -> None:
    """Desks with screens, shelves of folders, a wide window on other buildings."""
    canvas.sky((222, 224, 226), (214, 216, 220))
    canvas.floor(tiles(0.6, (128, 136, 148), (116, 124, 136)), (126, 132, 144), end=3.2)
    canvas.board(3.2, -9, 9, 0, 6, (226, 226, 222))
    canvas.board(3.19, -1.6, 3.6, 0.9, 2.6, (176, 208, 232))
    for x, top in ((-1.3, 1.9), (-0.4, 2.3), (0.7, 1.7), (1.5, 2.2), (2.5, 1.8)):
        canvas.board(3.18, x, x + 0.7, 0.9, top, (140, 158, 176))
    for x in (-1.6, 0.1, 1.85, 3.55):
        canvas.board(3.16, x - 0.03, x + 0.03, 0.9, 2.6, (244, 244, 242))
    canvas.board(3.0, -3.6, -2.0, 0, 2.2, (168, 138, 104))
    for row, y in enumerate((0.15, 0.68, 1.2, 1.72)):
        for step, x in enumerate(np.arange(-3.5, -2.15, 0.16)):
            colour: Colour = ((190, 74, 66), (70, 116, 170), (226, 190, 90), (90, 140, 100))[(step + row) % 4]
            canvas.board(2.98, x, x + 0.12, y, y + 0.38, colour)
    for x in (1.5, 3.2):
        canvas.board(2.2, x - 0.7, x + 0.7, 0.7, 0.76, (206, 178, 140))
        for leg in (-0.62, 0.62):
            canvas.board(2.2, x + leg - 0.03, x + leg + 0.03, 0, 0.7, (90, 94, 100))
        canvas.board(2.1, x - 0.3, x + 0.3, 0.86, 1.26, (34, 38, 46))
        canvas.board(2.09, x - 0.27, x + 0.27, 0.89, 1.23, (104, 160, 206))


def auditorium(canvas: Canvas) -> None:
    """Rows of red seats rising to the back of a theatre, some of them taken."""
    canvas.sky((48, 34, 40), (70, 46, 50))
    canvas.floor(plain((96, 56, 56)), (84, 48, 50), end=2.4)
    for row in range(6):
        depth, y = 8.0 - row, 1.9 - 0.36 * row
        canvas.board(depth, -9, 9, 0.0, y + 0.1, (66, 40, 42))
        for step, x in enumerate(np.arange(-7.4 + 0.3 * (row % 2), 7.4, 0.62)):
            canvas.board(depth - 0.05, x - 0.25, x + 0.25, y - 0.1, y + 0.5, (166, 40, 48))
            if (step * 7 + row * 3) % 4 == 0:
                tone: Colour = ((90, 120, 170), (210, 180, 90), (110, 150, 110))[(step + row) % 3]
                canvas.board(depth - 0.07, x - 0.18, x + 0.18, y + 0.1, y + 0.5, tone)
                canvas.disc(depth - 0.08, x, y + 0.62, 0.13, (220, 176, 146))
    for x in (-3.4, 3.4):
        canvas.disc(7.5, x, 3.1, 0.16, (255, 236, 180))


def sports_hall(canvas: Canvas) -> None:
    """A hall with a fencing strip, wall bars, a scoring lamp and racks of foils."""
    canvas.sky((206, 210, 208), (214, 216, 212))
    canvas.floor(planks(0.16, (206, 170, 120), 6.0), (198, 168, 126), end=7.0)
    canvas.board(7.0, -12, 12, 0, 5, (222, 222, 214))
    for left in (-6.0, -3.4, 2.2, 4.8):
        for x in (left, left + 1.1, left + 2.2):
            canvas.board(6.95, x - 0.05, x + 0.05, 0, 3.0, (180, 136, 88))
        for y in np.arange(0.2, 3.0, 0.24):
            canvas.line((left, y, -6.94), (left + 2.2, y, -6.94), 0.05, (196, 152, 102))
    canvas.ground([(-9, -6.0), (9, -6.0), (9, 1.0), (-9, 1.0)], (116, 130, 150))
    for x in (-4.0, -2.0, 0.0, 2.0, 4.0):
        canvas.ground([(x - 0.04, -0.2), (x + 0.04, -0.2), (x + 0.04, 1.0), (x - 0.04, 1.0)], (240, 240, 240))
    canvas.board(4.0, -0.5, 0.5, 0.6, 0.95, (40, 42, 48))
    canvas.disc(3.98, -0.25, 0.85, 0.09, (226, 60, 50))
    canvas.disc(3.98, 0.25, 0.85, 0.09, (70, 190, 90))
    canvas.board(4.0, -0.04, 0.04, 0, 0.6, (60, 62, 68))
    for step in range(5):
        x = -1.9 + 0.16 * step
        canvas.line((x, 0.7, -5.5), (x + 0.1, 1.75, -5.5), 0.03, (150, 156, 164))
        canvas.disc(5.49, x, 0.72, 0.07, (190, 160, 70))
