"""The semantic half of MileBench-mini: cards, slides, differences, a talk at a market, views from a car."""

from __future__ import annotations

from pathlib import Path
from random import Random

from minis.milebench.dataset import COUNT, DatasetWriter, marks, shuffled
from minis.milebench.drawing import COLOURS, INK, WHITE, Canvas, regular


def build(root: Path) -> None:
    """All datasets of S-1 to S-5 that the mini has."""
    _islands(root)
    _slides(root)
    _differences(root)
    _market(root)
    _street(root)


# ── S-1: facts from several cards ──

_ISLANDS = (
    *("Orvalo", "Tessin Rock", "Mardu", "Kelpie Isle", "Fonbera", "Lusk", "Great Hedda", "Narvi"),
    *("Pellworth", "Sandray", "Uist Holm", "Brimsey", "Cottoe", "Little Anwick", "Velm", "Yarrow Point"),
)
_FACTS = ("inhabitants", "highest hill", "beaches")


def _islands(root: Path) -> None:
    out = DatasetWriter(root, "WebQA", "Each card describes one island. Use them to choose the right answer.")
    cards: dict[str, dict[str, int]] = {}
    pictures: dict[str, str] = {}
    for number, name in enumerate(_ISLANDS):
        chance = out.chance("card", number)
        facts = {
            "inhabitants": chance.randrange(300, 9000, 50),
            "highest hill": chance.randrange(80, 900, 10),
            "beaches": chance.randrange(1, 40),
        }
        cards[name] = facts
        pictures[name] = out.picture(_card(name, facts, chance), f"card-{number}")
    asked = (
        ("Which of these islands has the most inhabitants?", "inhabitants", max),
        ("Which of these islands has the fewest beaches?", "beaches", min),
        ("On which of these islands is the highest hill?", "highest hill", max),
        ("Which of these islands has the fewest inhabitants?", "inhabitants", min),
    )
    for number in range(COUNT):
        chance = out.chance(number)
        shown = chance.sample(_ISLANDS, 4)
        question, fact, best = asked[number % len(asked)]
        key = best(shown, key=lambda name: cards[name][fact])
        out.ask(
            f"Four cards from a travel guide: {marks(4)}\n{question}",
            [pictures[name] for name in shown],
            key,
            shuffled(chance, key, shown),
            evidence=(shown.index(key) + 1,),
        )
    out.write()


def _card(name: str, facts: dict[str, int], chance: Random) -> Canvas:
    c = Canvas(200, 150, fill=WHITE)
    c.rect(0, 0, 200, 62, (150, 196, 222))
    width = chance.uniform(70, 130)
    c.oval(100, 58, width, chance.uniform(24, 50), COLOURS["green"])
    c.rect(0, 56, 200, 94, WHITE)
    c.rect(0, 56, 200, 8, (92, 144, 188))
    c.text(10, 78, name, 16)
    for line, (label, value) in enumerate(facts.items()):
        unit = " m" if label == "highest hill" else ""
        c.text(10, 100 + 18 * line, f"{label.capitalize()}: {value:,}{unit}", 12)
    return c


# ── S-2: slides ──


_SPEAKERS = (
    "Ida Brandt",
    "Lena Hale",
    "Omar Voss",
    "Ruth Anders",
    "Ivo Kern",
    "Mara Lind",
    "Jon Tait",
    "Ella Roy",
)
_FIRMS = ("Lantern Bakery", "Harbour Books", "Hill Farm Shop", "Blue Door Café")
_STREETS = ("Hale Street", "Mill Lane", "Station Road", "Bridge Street", "Church Lane", "Market Row")
_MONTHS = ("January", "February", "March", "April")
_DAYS = {"Mon": "Monday", "Wed": "Wednesday", "Fri": "Friday", "Sat": "Saturday"}
_WAYS = ("by bicycle", "by van", "on foot", "by boat")


def _slides(root: Path) -> None:
    out = DatasetWriter(
        root,
        "SlideVQA",
        "These are the slides of one talk, in order. Choose the right answer to the question.",
    )
    for deck in range(COUNT // 2):
        chance = out.chance("deck", deck)
        sold = dict(zip(_MONTHS, chance.sample(range(120, 480, 10), 4), strict=True))
        visitors = dict(zip(_DAYS, chance.sample(range(20, 95, 5), 4), strict=True))
        speaker, street, way = (chance.choice(texts) for texts in (_SPEAKERS, _STREETS, _WAYS))
        start, vote = (f"{chance.randrange(2, 28)} {chance.choice(_MONTHS)}" for _ in range(2))
        price, other_price, third_price = (
            f"{cents / 100:.2f}" for cents in chance.sample(range(70, 400, 10), 3)
        )
        slides = [
            _slide(chance.choice(_FIRMS), ["Report to the members", "Spring meeting", f"Speaker: {speaker}"]),
            _slide("What we did", [f"New shelves since {start}", "Two apprentices", "Open on Saturdays"]),
            _bars("Things sold", {month[:3]: value for month, value in sold.items()}),
            _slide("Prices", [f"Small {third_price}", f"Medium {price}", f"Large {other_price}"]),
            _bars("Visitors a day", visitors),
            _slide("Next steps", [f"A second shop in {street}", f"Delivery {way}", f"Vote on {vote}"]),
        ]
        images = [out.picture(slide, f"{deck}-{number}") for number, slide in enumerate(slides)]
        best = max(sold, key=lambda month: sold[month])
        day = _DAYS[max(visitors, key=lambda name: visitors[name])]
        dates = [f"{number} {month}" for number in chance.sample(range(2, 28), 3) for month in _MONTHS]
        questions = (
            ("Who gives the talk?", speaker, _SPEAKERS, 1),
            ("Since when have there been new shelves?", start, chance.sample(dates, 6), 2),
            ("In which month were the most things sold?", best, _MONTHS, 3),
            ("How many things were sold in March?", str(sold["March"]), map(str, sold.values()), 3),
            (
                "What does the medium size cost?",
                price,
                (other_price, third_price, f"{float(price) + 0.05:.2f}"),
                4,
            ),
            ("On which day do the most visitors come?", day, _DAYS.values(), 5),
            ("Where will the second shop be?", street, _STREETS, 6),
            ("How will things be delivered?", way, _WAYS, 6),
        )
        for number in (deck % 8, (deck + 4) % 8):
            question, key, others, slide = questions[number]
            choices = shuffled(out.chance(deck, number), key, list(others))
            out.ask(f"{marks(len(images))}\n{question}", images, key, choices, evidence=(slide,))
    out.write()


def _slide(title: str, lines: list[str]) -> Canvas:
    c = Canvas(240, 150, fill=WHITE)
    c.rect(0, 0, 240, 34, (64, 84, 120))
    c.text(12, 17, title, 17, WHITE)
    for number, line in enumerate(lines):
        c.disc(18, 58 + 30 * number, 3, COLOURS["red"])
        c.text(28, 58 + 30 * number, line, 14)
    return c


def _bars(title: str, values: dict[str, int]) -> Canvas:
    c = _slide(title, [])
    highest = max(values.values())
    for number, (label, value) in enumerate(values.items()):
        x, height = 24 + 54 * number, 66 * value / highest
        c.rect(x, 128 - height, 34, height, COLOURS["blue"])
        c.text(x + 17, 128 - height - 9, str(value), 12, INK, "mm")
        c.text(x + 17, 138, label, 12, INK, "mm")
    return c


# ── S-3: what has changed ──


def _differences(root: Path) -> None:
    out = DatasetWriter(
        root,
        "Spot-the-Diff",
        "Two pictures of the same place were taken one after the other. Say in one short sentence what has "
        "changed from the first to the second.",
    )
    names = {"house": "roof", "car": "car", "boat": "boat", "balloon": "balloon", "flag": "flag"}
    for number in range(COUNT):
        chance = out.chance(number)
        colours = chance.sample(sorted(set(COLOURS) - {"grey"}), len(names))
        base = dict(zip(names, colours, strict=True))
        thing = chance.choice(list(names))
        changed = {name: paint for name, paint in base.items() if name != thing}
        sentence = f"The {thing} is gone."
        if number % 2:
            changed[thing] = chance.choice([paint for paint in colours if paint != base[thing]])
            sentence = f"The {base[thing]} {names[thing]} is now {changed[thing]}."
        before, after = (
            out.picture(_village(things), f"{number}-{moment}")
            for moment, things in (("before", base), ("after", changed))
        )
        out.ask("First picture: {image#1} Second picture: {image#2}", [before, after], sentence)
    out.write()


def _village(things: dict[str, str]) -> Canvas:
    c = Canvas(fill=(178, 212, 236))
    c.rect(0, 92, 240, 34, (128, 164, 96))
    c.rect(0, 126, 240, 20, (140, 140, 144))
    c.rect(0, 146, 240, 34, (88, 140, 186))
    c.line([(0, 136), (240, 136)], WHITE, 1)
    paint = {name: COLOURS[colour] for name, colour in things.items()}
    if "house" in paint:
        c.rect(36, 62, 46, 40, (240, 230, 208), INK)
        c.shape([(30, 62), (59, 36), (88, 62)], paint["house"])
        c.rect(53, 80, 12, 22, (110, 84, 66))
    c.line([(204, 40), (204, 100)], INK, 3)
    if "flag" in paint:
        c.shape([(205, 40), (236, 49), (205, 60)], paint["flag"])
    if "balloon" in paint:
        c.disc(140, 26, 17, paint["balloon"])
        c.line([(140, 43), (140, 52)], INK, 1)
        c.rect(134, 52, 12, 8, (130, 96, 66))
    if "car" in paint:
        c.rect(108, 122, 46, 12, paint["car"])
        c.shape([(116, 122), (122, 112), (142, 112), (148, 122)], paint["car"])
        c.disc(118, 135, 5, INK)
        c.disc(144, 135, 5, INK)
    if "boat" in paint:
        c.shape([(170, 160), (222, 160), (212, 172), (180, 172)], (110, 80, 60))
        c.shape([(196, 130), (196, 158), (220, 158)], paint["boat"])
    return c


# ── S-4: a talk about pictures ──

_FRUIT = {"pears": "green", "plums": "purple", "lemons": "yellow", "apples": "red"}


def _market(root: Path) -> None:
    out = DatasetWriter(
        root,
        "MMCoQA",
        "Two people talk about the pictures. Answer the last question with the price alone, as on the sign.",
    )
    for number in range(COUNT):
        chance = out.chance(number)
        prices = chance.sample(range(15, 95, 5), 8)
        stalls = [chance.sample(list(_FRUIT), 2) for _ in range(4)]
        images = []
        for place, sold_here in enumerate(stalls):
            signs = dict(zip(sold_here, prices[2 * place : 2 * place + 2], strict=True))
            images.append(out.picture(_stall(signs), f"{number}-{place}"))
        place = chance.randrange(4)
        fruit = chance.choice(stalls[place])
        sold = [str(i + 1) for i, names in enumerate(stalls) if fruit in names]
        talk = (
            f"A: Which stalls sell {fruit}? B: Number {' and '.join(sold)}. "
            f"A: I stand at stall {place + 1}. What do {fruit} cost here? B:"
        )
        key = f"{prices[2 * place + stalls[place].index(fruit)]} cents"
        shown = " ".join(f"Stall {i}: {{image#{i}}}" for i in range(1, 5))
        out.ask(f"{shown}\n{talk}", images, key, evidence=(place + 1,))
    out.write()


def _stall(signs: dict[str, int]) -> Canvas:
    c = Canvas(180, 130, fill=(236, 230, 214))
    for x in range(0, 180, 36):
        c.rect(x, 0, 18, 20, COLOURS["red"])
        c.rect(x + 18, 0, 18, 20, WHITE)
    for side, (fruit, price) in enumerate(signs.items()):
        left = 14 + 82 * side
        c.rect(left, 76, 70, 40, (176, 136, 88), INK)
        for i in range(8):
            c.disc(left + 12 + 15 * (i % 4), 72 - 11 * (i // 4), 8, COLOURS[_FRUIT[fruit]], INK)
        c.rect(left + 4, 84, 62, 26, WHITE, INK)
        c.text(left + 35, 91, fruit, 11, INK, "mm")
        c.text(left + 35, 103, f"{price} cents", 11, INK, "mm")
    return c


# ── S-5: six views from a car ──

_VIEWS = ("front", "front left", "front right", "back", "back left", "back right")
_WALLS = ((196, 176, 156), (170, 160, 168), (206, 190, 160))
_ROAD_USERS = ("a cyclist", "a pedestrian", "a bus", "a traffic cone")


def _street(root: Path) -> None:
    out = DatasetWriter(
        root, "nuscenes", "Six cameras look out of one car in six directions. Choose the right answer."
    )
    for number in range(COUNT):
        chance = out.chance(number)
        places = chance.sample(range(6), 4)
        where = dict(zip(places, _ROAD_USERS, strict=True))
        images = [
            out.picture(_view(where.get(view), chance), f"{number}-{view}") for view in range(len(_VIEWS))
        ]
        asked = chance.choice(places)
        shown = " ".join(f"{name.capitalize()}: {{image#{i}}}" for i, name in enumerate(_VIEWS, 1))
        out.ask(
            f"{shown}\nIn which direction is there {where[asked]}?",
            images,
            _VIEWS[asked],
            shuffled(chance, _VIEWS[asked], _VIEWS, 5),
            evidence=(asked + 1,),
        )
    out.write()


def _view(user: str | None, chance: Random) -> Canvas:
    c = Canvas(200, 120, fill=(190, 214, 232))
    x = 0.0
    while x < 200:
        width = chance.uniform(24, 44)
        c.rect(
            x,
            chance.uniform(14, 36),
            width,
            50,
            chance.choice([(196, 176, 156), (170, 160, 168), (206, 190, 160)]),
        )
        x += width
    c.rect(0, 62, 200, 58, (126, 126, 130))
    c.shape([(96, 62), (104, 62), (116, 120), (84, 120)], WHITE)
    at = chance.choice((48, 150))
    if user == "a cyclist":
        for wheel in (-15, 15):
            c.disc(at + wheel, 96, 11, (126, 126, 130), INK)
        c.line([(at - 15, 96), (at - 2, 78), (at + 12, 78), (at + 15, 96)], INK, 2)
        c.line([(at - 2, 78), (at + 4, 58)], COLOURS["red"], 6)
        c.disc(at + 6, 50, 6, (224, 178, 140))
    elif user == "a pedestrian":
        c.line([(at, 66), (at, 86)], COLOURS["blue"], 9)
        c.line([(at, 86), (at - 6, 106)], INK, 3)
        c.line([(at, 86), (at + 7, 106)], INK, 3)
        c.disc(at, 56, 7, (224, 178, 140))
    elif user == "a bus":
        c.rect(at - 40, 46, 80, 46, COLOURS["yellow"], INK)
        for window in range(4):
            c.rect(at - 36 + 19 * window, 52, 15, 14, (196, 222, 236))
        c.disc(at - 22, 93, 8, INK)
        c.disc(at + 22, 93, 8, INK)
    elif user == "a traffic cone":
        c.shape([(at, 66), (at + 16, 104), (at - 16, 104)], (230, 120, 50))
        c.rect(at - 9, 84, 18, 7, WHITE)
        c.rect(at - 20, 103, 40, 5, (230, 120, 50))
    else:
        c.shape(regular(3, at, 74, 13), COLOURS["green"])
        c.rect(at - 2, 80, 4, 14, (110, 82, 60))
    return c
