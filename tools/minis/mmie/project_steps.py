"""The goals and steps of the how-to questions, drawn."""

from __future__ import annotations

from minis.mmie.canvas import Canvas

SKIN = "#f3cfa8"


def table(c: Canvas) -> None:
    c.outdoors("#f6efe4", "#c99a63", 190)


# ── Art ──


def paper_boat(c: Canvas) -> None:
    c.outdoors("#bfe3f7", "#bfe3f7")
    c.sea(170)
    c.shape([(90, 150), (230, 150), (200, 190), (120, 190)], "#f7f7f2", "#777777")
    c.shape([(130, 150), (190, 150), (160, 95)], "#ecece4", "#777777")


def paper_1(c: Canvas) -> None:
    table(c)
    c.box(100, 60, 120, 120, "white", "#777777")
    c.line([(100, 120), (220, 120)], "#999999")
    c.arrow((240, 80), (240, 160))


def paper_2(c: Canvas) -> None:
    table(c)
    c.box(100, 110, 120, 60, "white", "#777777")
    c.shape([(100, 110), (160, 110), (160, 165)], "#e2e2da", "#777777")
    c.shape([(220, 110), (160, 110), (160, 165)], "#e2e2da", "#777777")


def paper_3(c: Canvas) -> None:
    table(c)
    c.shape([(90, 140), (230, 140), (200, 185), (120, 185)], "white", "#777777")
    c.shape([(130, 140), (190, 140), (160, 85)], "#ecece4", "#777777")
    c.arrow((70, 120), (92, 138))
    c.arrow((250, 120), (228, 138))


def stamp_goal(c: Canvas) -> None:
    table(c)
    c.box(60, 40, 200, 140, "white", "#999999")
    for x in (100, 160, 220):
        for y in (75, 135):
            star(c, x, y, "#2f6db5")


def star(c: Canvas, x: float, y: float, fill: str) -> None:
    c.shape(
        [
            (x, y - 20),
            (x + 6, y - 6),
            (x + 20, y),
            (x + 6, y + 6),
            (x, y + 20),
            (x - 6, y + 6),
            (x - 20, y),
            (x - 6, y - 6),
        ],
        fill,
    )


def stamp_1(c: Canvas) -> None:
    table(c)
    c.disc(120, 150, 40, "#d8b878", "#8a6a35", 30)
    c.disc(210, 150, 40, "#f2e0b0", "#8a6a35", 30)
    c.line([(165, 90), (165, 190)], "#777777", 4)
    c.box(158, 70, 14, 30, "#5a3b22")


def stamp_2(c: Canvas) -> None:
    table(c)
    c.disc(160, 140, 60, "#f2e0b0", "#8a6a35", 46)
    star(c, 160, 140, "#d8b878")
    c.line([(230, 80), (185, 120)], "#777777", 4)


def stamp_3(c: Canvas) -> None:
    table(c)
    c.box(40, 110, 140, 80, "white", "#999999")
    star(c, 80, 150, "#2f6db5")
    c.disc(140, 120, 26, "#d8b878", "#8a6a35", 18)
    c.arrow((140, 60), (140, 98))
    c.disc(250, 170, 36, "#2f6db5", "#999999", 14)


def green_goal(c: Canvas) -> None:
    table(c)
    c.disc(160, 130, 60, "#4fa05a")


def green_1(c: Canvas) -> None:
    table(c)
    c.disc(100, 140, 42, "#2f6db5")
    c.disc(220, 140, 42, "#f7d51d")


def green_2(c: Canvas) -> None:
    table(c)
    c.disc(130, 140, 42, "#2f6db5")
    c.disc(200, 140, 42, "#f7d51d")
    c.disc(166, 140, 20, "#4fa05a", ry=36)
    c.line([(240, 50), (170, 130)], "#8a5a2b", 6)


def green_3(c: Canvas) -> None:
    table(c)
    c.disc(160, 145, 52, "#4fa05a")
    c.disc(160, 145, 28, "#7cc486")
    c.line([(240, 50), (175, 130)], "#8a5a2b", 6)
    c.disc(60, 90, 14, "#f7d51d")


def drawn_cat(c: Canvas, step: int) -> None:
    table(c)
    c.box(60, 30, 200, 170, "white", "#999999")
    c.disc(160, 150, 38, "", "#333333", 40)
    c.disc(160, 90, 28, "", "#333333")
    if step > 1:
        c.line([(136, 76), (134, 46), (152, 64)], "#333333")
        c.line([(184, 76), (186, 46), (168, 64)], "#333333")
        c.line([(198, 160), (226, 150), (222, 124)], "#333333", 3)
    if step > 2:
        for dx in (-10, 10):
            c.disc(160 + dx, 86, 3, "#333333")
            c.line([(160 + dx, 98), (160 + dx * 4, 94)], "#333333", 1.5)
            c.line([(160 + dx, 100), (160 + dx * 4, 104)], "#333333", 1.5)
        c.shape([(156, 96), (164, 96), (160, 101)], "#d98a8a")


def flake(c: Canvas) -> None:
    table(c)
    for n in range(6):
        x, y = (60, 0) if n % 3 == 0 else ((30, 52) if n % 3 == 1 else (-30, 52))
        sign = 1 if n < 3 else -1
        c.line([(160, 120), (160 + sign * x, 120 + sign * y)], "#6db3dd", 6)
        c.disc(160 + sign * x, 120 + sign * y, 8, "#6db3dd")
    c.disc(160, 120, 16, "#6db3dd")


def flake_1(c: Canvas) -> None:
    table(c)
    c.disc(160, 125, 60, "white", "#777777")
    c.line([(160, 65), (160, 185)], "#999999")
    c.arrow((210, 60), (125, 60))


def flake_2(c: Canvas) -> None:
    table(c)
    c.slice(160, 180, 110, 240, 300, "white")
    c.line([(160, 178), (160, 74)], "#999999")


def flake_3(c: Canvas) -> None:
    table(c)
    c.slice(160, 180, 110, 240, 300, "white")
    for x, y in ((138, 140), (182, 140), (146, 160), (176, 160)):
        c.shape([(x - 9, y - 7), (x + 9, y), (x - 9, y + 7)], "#f6efe4", "#777777")
    c.line([(225, 90), (190, 132)], "#777777", 4)
    c.line([(240, 110), (190, 132)], "#777777", 4)


# ── Health ──


def tap(c: Canvas) -> None:
    c.outdoors("#dcebf2", "#f4f4f4", 200)
    c.box(150, 40, 14, 40, "#9aa5ad")
    c.box(150, 40, 60, 12, "#9aa5ad")
    c.box(198, 40, 12, 24, "#9aa5ad")


def hands(c: Canvas, foam: bool, wet: bool) -> None:
    if wet:
        c.box(200, 64, 8, 90, "#6db3dd")
    c.box(150, 140, 70, 24, SKIN, "#b8895a", 10)
    c.box(190, 156, 70, 24, SKIN, "#b8895a", 10)
    if foam:
        for x, y in ((160, 140), (182, 134), (204, 150), (226, 158), (246, 168), (190, 172)):
            c.disc(x, y, 11, "white", "#c8d4da")


def wash_0(c: Canvas) -> None:
    tap(c)
    hands(c, False, False)
    for x, y in ((170, 150), (206, 166), (232, 170)):
        c.disc(x, y, 6, "#7a5230")


def wash_1(c: Canvas) -> None:
    tap(c)
    hands(c, False, True)


def wash_2(c: Canvas) -> None:
    tap(c)
    hands(c, True, False)
    c.box(60, 160, 46, 26, "#e6a4c4", "#a5648a", 8)


def wash_3(c: Canvas) -> None:
    c.outdoors("#dcebf2", "#f4f4f4", 200)
    c.box(90, 60, 140, 90, "#7fb3d5", "#4a7fa5", 6)
    hands(c, False, False)


def mouth(c: Canvas, clean: bool) -> None:
    c.outdoors("#fbe6d8", "#fbe6d8")
    c.disc(160, 130, 110, "#c9566b", ry=70)
    tooth = "#ffffff" if clean else "#efe3b0"
    for n in range(6):
        c.box(82 + n * 26, 84, 24, 34, tooth, "#c8c8c8", 6)
        c.box(82 + n * 26, 140, 24, 34, tooth, "#c8c8c8", 6)


def teeth_0(c: Canvas) -> None:
    mouth(c, False)


def brush(c: Canvas, x: float, y: float) -> None:
    c.box(x, y, 130, 10, "#2f6db5", radius=4)
    c.box(x, y - 12, 34, 12, "white", "#999999")


def teeth_1(c: Canvas) -> None:
    c.outdoors("#dcebf2", "#f4f4f4", 200)
    brush(c, 110, 150)
    c.disc(126, 132, 14, "#7fd1c0", ry=6)
    c.shape([(60, 90), (110, 122), (100, 132), (50, 104)], "#c0392b")


def teeth_2(c: Canvas) -> None:
    mouth(c, False)
    brush(c, 130, 110)
    c.arrow((150, 60), (220, 60))
    c.arrow((220, 205), (150, 205))


def teeth_3(c: Canvas) -> None:
    mouth(c, True)
    star(c, 250, 60, "#ffd54a")


def box(c: Canvas) -> None:
    table(c)
    c.box(60, 80, 200, 110, "#e0e6ea", "#8a979f", 10)
    c.line([(160, 80), (160, 190)], "#8a979f")
    c.line([(160, 135), (260, 135)], "#8a979f")


def lunch_0(c: Canvas) -> None:
    box(c)


def lunch_1(c: Canvas) -> None:
    box(c)
    leaves(c)


def leaves(c: Canvas) -> None:
    for x, y, fill in (
        (90, 110, "#4f9a45"),
        (125, 120, "#d93636"),
        (95, 155, "#e67e22"),
        (130, 165, "#4f9a45"),
    ):
        c.disc(x, y, 18, fill)


def lunch_2(c: Canvas) -> None:
    box(c)
    leaves(c)
    for x in (180, 200, 220, 240):
        c.disc(x, 108, 9, "#e8d9b0", "#b39a5a")


def lunch_3(c: Canvas) -> None:
    box(c)
    leaves(c)
    for x in (180, 200, 220, 240):
        c.disc(x, 108, 9, "#e8d9b0", "#b39a5a")
    c.disc(210, 163, 20, "#c98a5a", ry=14)
    c.box(275, 90, 26, 100, "#6db3dd", "#4a7fa5", 8)


def finger(c: Canvas) -> None:
    c.outdoors("#fbf4ec", "#fbf4ec")
    c.box(60, 95, 200, 50, SKIN, "#b8895a", 24)
    c.box(222, 102, 34, 36, "#f7ddc6", "#d8b08a", 14)


def cut_0(c: Canvas) -> None:
    finger(c)
    c.line([(140, 105), (160, 135)], "#c0392b", 5)


def cut_1(c: Canvas) -> None:
    cut_0(c)
    c.box(138, 0, 12, 96, "#6db3dd")
    c.disc(144, 100, 20, "#a9d3ea", ry=8)


def cut_2(c: Canvas) -> None:
    cut_0(c)
    c.box(110, 60, 80, 46, "white", "#bbbbbb", 6)
    c.arrow((150, 20), (150, 56))


def cut_3(c: Canvas) -> None:
    finger(c)
    c.box(110, 90, 80, 60, "#e2b07e", "#a8763f", 8)
    c.box(136, 104, 28, 32, "#f2d2ae")


def stretch_0(c: Canvas) -> None:
    c.outdoors("#f6efe4", "#c9b28e", 200)
    c.box(170, 110, 110, 8, "#8a5a2b")
    c.box(265, 118, 8, 90, "#8a5a2b")
    c.box(200, 60, 56, 40, "#3b4a5a", "#222222", 4)
    c.person(130, 200, "#3f9d8a", 1.3, "right")


def stretch_1(c: Canvas) -> None:
    c.outdoors("#f6efe4", "#c9b28e", 200)
    c.person(160, 215, "#3f9d8a", 1.6)
    c.arrow((110, 95), (70, 95))


def stretch_2(c: Canvas) -> None:
    c.outdoors("#f6efe4", "#c9b28e", 200)
    c.person(160, 215, "#3f9d8a", 1.5, "up")
    c.arrow((220, 120), (220, 60))


def stretch_3(c: Canvas) -> None:
    c.outdoors("#f6efe4", "#c9b28e", 200)
    c.person(160, 215, "#3f9d8a", 1.5, "right")
    c.arrow((220, 120), (270, 130))


def cat_goal(c: Canvas) -> None:
    c.outdoors("#f6efe4", "#c99a63", 190)
    c.cat(160, 200)
