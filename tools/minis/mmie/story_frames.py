"""The frames of the stories, drawn."""

from __future__ import annotations

from minis.mmie.canvas import Canvas

NIGHT, DUSK, GREY = "#22304f", "#e8a87c", "#8d9aa6"


def kite_1(c: Canvas) -> None:
    c.outdoors()
    c.sun(280, 36)
    c.person(110, 215, "#2f6db5", arms="right")
    c.kite(220, 60, (138, 157))


def kite_2(c: Canvas) -> None:
    c.outdoors()
    c.cloud(60, 40, "#dddddd")
    c.tree(250, 190)
    c.kite(250, 88, (225, 150))
    c.person(100, 215, "#2f6db5", arms="up")


def kite_3(c: Canvas) -> None:
    c.outdoors()
    c.tree(250, 190)
    c.kite(250, 88, (225, 150))
    c.person(205, 215, "#2f6db5")
    c.person(180, 215, "#8a5a2b", 1.5, "up", "#222222")


def kite_4(c: Canvas) -> None:
    c.outdoors()
    c.sun(280, 36)
    c.person(110, 215, "#2f6db5", arms="right")
    c.person(70, 215, "#8a5a2b", 1.3, "up", "#222222")
    c.kite(215, 55, (138, 157))


def snow_1(c: Canvas) -> None:
    c.outdoors("#cfe0ec", "#f4f8fb")
    c.tree(270, 180, "")
    snowman(c, 130)
    c.person(205, 215, "#b5473c", 0.9, "left")


def snowman(c: Canvas, x: float) -> None:
    c.disc(x, 190, 30, "white", "#b8c4cc")
    c.disc(x, 145, 21, "white", "#b8c4cc")
    c.disc(x, 113, 15, "white", "#b8c4cc")
    c.shape([(x, 111), (x - 24, 115), (x, 118)], "#e67e22")
    for dx in (-5, 5):
        c.disc(x + dx, 108, 2, "#222222")


def snow_2(c: Canvas) -> None:
    c.outdoors("#bfe3f7", "#e8f1ea")
    c.sun(250, 50, 28)
    snowman(c, 130)
    c.rain("#9cc9e6")


def snow_3(c: Canvas) -> None:
    c.outdoors("#bfe3f7", "#b9d99b")
    c.sun(250, 50, 28)
    c.disc(130, 210, 46, "#a9d3ea", ry=12)
    c.shape([(120, 206), (156, 210), (120, 214)], "#e67e22")
    c.person(215, 215, "#b5473c", 0.9)


def snow_4(c: Canvas) -> None:
    c.outdoors()
    c.sun(60, 45)
    c.tree(270, 180)
    for x in (105, 130, 155):
        c.line([(x, 215), (x, 182)], "#3f8a3a", 3)
        c.disc(x, 178, 9, "#e67e22")
    c.person(210, 215, "#3f9d8a", 0.9, "left")


def boat_1(c: Canvas) -> None:
    c.outdoors("#bfe3f7", "#bfe3f7")
    c.sea()
    c.sun(60, 45)
    c.boat(150, 165)
    c.bird(250, 60, "#777777")


def boat_2(c: Canvas) -> None:
    c.outdoors(GREY, GREY)
    c.sea(150, "#2f5d80")
    for x in (60, 150, 250):
        c.cloud(x, 40, "#5f6b75")
    c.boat(150, 160, tilt=12)
    c.rain("#c6d3dd")
    c.line([(250, 58), (236, 88), (252, 88), (240, 122)], "#ffe27a", 4)


def boat_3(c: Canvas) -> None:
    c.outdoors(NIGHT, NIGHT)
    c.sea(150, "#24445f")
    c.shape([(252, 70), (60, 120), (60, 150)], "#56607a")
    c.shape([(246, 165), (278, 165), (270, 70), (254, 70)], "#e8e2d4")
    c.box(252, 56, 20, 16, "#ffd54a")
    c.box(230, 160, 66, 14, "#5a4a3a")
    c.boat(95, 170, tilt=5)


def boat_4(c: Canvas) -> None:
    c.outdoors(DUSK, DUSK)
    c.sea(150, "#3f6f9a")
    c.box(200, 150, 120, 90, "#a98a62")
    c.house(260, 152, lit=True)
    c.boat(145, 175)
    c.person(225, 205, "#2f6db5", 0.7, "left")


def cat_1(c: Canvas) -> None:
    c.outdoors(DUSK)
    c.house(210, 190)
    c.cat(205, 96)
    c.person(80, 215, "#c23b5a", arms="up")


def cat_2(c: Canvas) -> None:
    c.outdoors(NIGHT, "#38543a")
    c.moon(270, 40, NIGHT)
    c.house(210, 190, lit=True)
    c.person(80, 215, "#c23b5a")


def cat_3(c: Canvas) -> None:
    c.outdoors(NIGHT, "#38543a")
    c.moon(270, 40, NIGHT)
    c.tree(230, 200)
    c.cat(232, 126)
    c.person(110, 215, "#c23b5a", arms="right")
    c.lantern(142, 158)


def cat_4(c: Canvas) -> None:
    c.outdoors("#e9d9c3", "#b98b5e", 180)
    c.box(30, 30, 70, 60, NIGHT, "#7a5230")
    c.person(210, 215, "#c23b5a", 1.2, "left")
    c.cat(160, 215)
    c.disc(120, 212, 16, "#e8e8e8", "#999999", ry=6)


def seed_1(c: Canvas) -> None:
    c.outdoors()
    c.bird(150, 70)
    c.disc(178, 84, 3, "#5a3b22")
    c.line([(178, 95), (178, 165)], "#999999", 1)


def seed_2(c: Canvas) -> None:
    c.outdoors(GREY, "#8fbf6c")
    c.cloud(100, 40, "#6f7c88")
    c.cloud(220, 44, "#6f7c88")
    c.rain()
    c.disc(178, 200, 4, "#5a3b22")


def seed_3(c: Canvas) -> None:
    c.outdoors()
    c.sun(60, 45)
    c.line([(178, 200), (178, 172)], "#3f8a3a", 4)
    c.disc(169, 172, 9, "#4f9a45", ry=5)
    c.disc(187, 172, 9, "#4f9a45", ry=5)


def seed_4(c: Canvas) -> None:
    c.outdoors()
    c.sun(60, 45)
    c.tree(178, 210, size=1.4)
    c.disc(178, 120, 16, "#8a5a2b", ry=7)
    c.bird(178, 108)


def bench(c: Canvas, x: float = 160) -> None:
    c.box(x - 60, 178, 120, 8, "#8a5a2b")
    c.box(x - 52, 186, 6, 30, "#5a3b22")
    c.box(x + 46, 186, 6, 30, "#5a3b22")


def quarrel_1(c: Canvas) -> None:
    c.outdoors(GREY)
    bench(c)
    c.person(118, 205, "#2f6db5")
    c.person(202, 205, "#c98a1b", hair="#222222")
    c.line([(160, 120), (152, 136), (166, 140), (158, 158)], "#c0392b", 3)


def quarrel_2(c: Canvas) -> None:
    c.outdoors(GREY)
    c.cloud(160, 36, "#6f7c88")
    bench(c)
    c.person(118, 205, "#2f6db5")
    c.person(285, 215, "#c98a1b", 0.8, hair="#222222")
    c.line([(200, 176), (232, 166)], "#c23b5a", 6)


def quarrel_3(c: Canvas) -> None:
    c.outdoors(GREY)
    bench(c, 120)
    c.rain()
    c.person(150, 205, "#2f6db5", arms="right")
    c.person(192, 205, "#c98a1b", arms="left", hair="#222222")
    c.umbrella(171, 92)


def quarrel_4(c: Canvas) -> None:
    c.outdoors()
    c.sun(270, 40)
    bench(c)
    c.person(145, 205, "#2f6db5", arms="up")
    c.person(178, 205, "#c98a1b", arms="up", hair="#222222")


def rocket_1(c: Canvas) -> None:
    c.outdoors("#e9d9c3", "#b98b5e", 180)
    c.person(90, 215, "#3f9d8a", arms="right")
    c.box(160, 60, 100, 80, "white", "#999999")
    ship(c, 210, 120, 0.6)


def ship(c: Canvas, x: float, base: float, s: float) -> None:
    c.shape(
        [
            (x - 16 * s, base),
            (x - 16 * s, base - 54 * s),
            (x, base - 84 * s),
            (x + 16 * s, base - 54 * s),
            (x + 16 * s, base),
        ],
        "#d9dde2",
        "#777777",
    )
    c.shape([(x - 16 * s, base), (x - 30 * s, base), (x - 16 * s, base - 24 * s)], "#c0392b")
    c.shape([(x + 16 * s, base), (x + 30 * s, base), (x + 16 * s, base - 24 * s)], "#c0392b")
    c.disc(x, base - 48 * s, 8 * s, "#6db3dd", "#777777")


def rocket_2(c: Canvas) -> None:
    c.outdoors("#e9d9c3", "#b98b5e", 180)
    c.box(170, 120, 80, 95, "#c99a63", "#7a5230")
    c.line([(170, 150), (250, 150)], "#7a5230")
    c.person(100, 215, "#3f9d8a", arms="right")
    c.box(40, 195, 30, 20, "#c99a63", "#7a5230")


def rocket_3(c: Canvas) -> None:
    c.outdoors(NIGHT, NIGHT)
    c.moon(60, 50, NIGHT)
    c.disc(270, 190, 40, "#b5654a")
    ship(c, 160, 180, 1.2)
    c.shape([(148, 180), (172, 180), (160, 214)], "#ffb300")


def rocket_4(c: Canvas) -> None:
    c.outdoors("#e9d9c3", "#b98b5e", 180)
    c.box(190, 120, 80, 95, "#c99a63", "#7a5230")
    c.person(230, 190, "#3f9d8a", arms="up")
    c.person(90, 215, "#8a3b6b", 1.4, "right", "#222222")
    c.disc(135, 150, 14, "#f0f0f0", "#999999", ry=5)


def balloons_1(c: Canvas) -> None:
    c.outdoors()
    c.person(90, 215, "#7a4a9c", 1.2, "right", "#222222")
    for n, fill in enumerate(("#d93636", "#2f6db5", "#f4b400", "#4f9a45")):
        c.balloon(100 + n * 20, 70 + n % 2 * 16, fill, (124, 146))
    c.person(230, 215, "#c98a1b", 0.8, "left")


def balloons_2(c: Canvas) -> None:
    c.outdoors("#cfe0ec")
    c.cloud(70, 36)
    c.balloon(250, 30, "#d93636")
    c.line([(160, 60), (200, 52), (235, 40)], "#9fb4c4", 2)
    c.person(150, 215, "#c98a1b", 0.8, "up")


def balloons_3(c: Canvas) -> None:
    c.outdoors()
    c.person(100, 215, "#7a4a9c", 1.2, "right", "#222222")
    c.balloon(150, 80, "#2f6db5", (150, 150))
    c.person(185, 215, "#c98a1b", 0.8, "left")


def balloons_4(c: Canvas) -> None:
    c.outdoors()
    c.sun(50, 40)
    c.balloon(245, 90, "#2f6db5", (238, 150))
    c.person(220, 215, "#c98a1b", 0.8, "up")
    c.person(90, 215, "#7a4a9c", 1.2, "up", "#222222")


def dark_1(c: Canvas) -> None:
    c.outdoors(NIGHT, "#2d3d2e")
    for x in (70, 160, 250):
        c.house(x, 190, "#5b5560", "#40343a")


def dark_2(c: Canvas) -> None:
    c.outdoors(NIGHT, "#2d3d2e")
    for x in (70, 160, 250):
        c.house(x, 180, "#5b5560", "#40343a")
    c.lantern(188, 182)
    c.person(160, 222, "#2f6db5", 0.8, "right")


def dark_3(c: Canvas) -> None:
    c.outdoors(NIGHT, "#2d3d2e")
    for x in (70, 160, 250):
        c.house(x, 180, "#5b5560", "#40343a")
    for x, coat in ((70, "#c23b5a"), (160, "#2f6db5"), (250, "#3f9d8a")):
        c.lantern(x + 26, 182)
        c.person(x, 222, coat, 0.8, "right")


def dark_4(c: Canvas) -> None:
    c.outdoors(NIGHT, "#3f5a3a")
    for x in (70, 160, 250):
        c.house(x, 180, "#8d7f73", "#7a3b35", lit=True)
        c.lantern(x, 60)
    for x, coat in ((110, "#c23b5a"), (160, "#2f6db5"), (210, "#3f9d8a")):
        c.person(x, 225, coat, 0.8, "up")


def track(c: Canvas) -> None:
    c.outdoors(ground="#c9744f")
    for y in (188, 214):
        c.line([(0, y), (320, y)], "#f2e3d8", 2)


def race_1(c: Canvas) -> None:
    track(c)
    c.person(90, 205, "#d93636", arms="right")
    c.person(140, 215, "#2f6db5", arms="right", hair="#222222")


def race_2(c: Canvas) -> None:
    track(c)
    c.person(210, 205, "#d93636", arms="right")
    c.box(95, 196, 44, 18, "#2f6db5", radius=7)
    c.disc(150, 204, 12, "#f3cfa8")
    c.line([(95, 206), (72, 212)], "#3b3b4f", 5)


def race_3(c: Canvas) -> None:
    track(c)
    c.person(125, 210, "#d93636", arms="right")
    c.person(158, 215, "#2f6db5", arms="left", hair="#222222")


def race_4(c: Canvas) -> None:
    track(c)
    c.box(250, 60, 6, 160, "#5a3b22")
    c.box(170, 60, 86, 24, "white", "#333333")
    c.text(213, 72, "FINISH", 15)
    c.person(190, 210, "#d93636", arms="up")
    c.person(222, 215, "#2f6db5", arms="up", hair="#222222")
