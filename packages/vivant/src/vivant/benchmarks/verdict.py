"""How a judge writes its verdict, and how that is read. What does not fit is `unparsed`, never guessed at.

Two forms: `sections` (headings of the form `### Name`, the figures under theirs) and `json` (one object). The
same contract tells the judge what to write, reads what it wrote, and lists well-formed replies for baselines.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cached_property
from itertools import product
from typing import Any, Literal

import msgspec
from msgspec import Struct

Value = float | str
_HEADING = re.compile(r"^[ \t]*#{1,6}[ \t]*(.*?)[ \t]*$", re.MULTILINE)
_FENCED = re.compile(r"```(?:json)?\s*\n(.*?)\n\s*```", re.DOTALL | re.IGNORECASE)
_MOST_CANDIDATES = 64


class Verdict(Struct, frozen=True):
    """What was read in a judge's reply."""

    values: Mapping[str, Value] = msgspec.field(default_factory=dict)
    """By field; empty where the reply does not fit the contract."""
    why: str = ""
    """What does not fit."""

    @property
    def read(self) -> bool:
        """Whether there is a verdict."""
        return bool(self.values)


class Field(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One thing that a judge must say: a whole number on a scale, or one of several words."""

    name: str
    about: str = ""
    """What it is, for the judge."""
    low: int = 0
    high: int = 0
    choices: tuple[str, ...] = ()
    """In place of a scale; from the worst to the best where they have an order."""

    @property
    def allowed(self) -> tuple[str, ...]:
        """All values as text, from the worst to the best."""
        return self.choices or tuple(str(number) for number in range(self.low, self.high + 1))

    @property
    def range(self) -> str:
        """The values in words."""
        if self.choices:
            return "one of " + ", ".join(self.choices)
        return f"a whole number from {self.low} to {self.high}"


class Contract(Struct, frozen=True, kw_only=True, dict=True):
    """The form of a verdict. Every contract also asks for reasons, which are kept but not scored."""

    fields: tuple[Field, ...]
    form: Literal["sections", "json"] = "sections"
    reasons: str = "Feedback"
    """Heading or key of the reasons."""

    @cached_property
    def ask(self) -> str:
        """What the judge is told about the form."""
        if self.form == "json":
            shape = ", ".join(f'"{f.name}": {_placeholder(f)}' for f in self.fields)
            lines = [f'Reply with one JSON object and nothing else: {{"{self.reasons}": "…", {shape}}}']
        else:
            names = [self.reasons, *(f.name for f in self.fields)]
            listed = " and then ".join(f"`### {name}`" for name in names)
            lines = [
                f"Write {len(names)} sections, headed {listed}, each heading once and on a line of its own."
            ]
        lines.append(f"{self.reasons}: your reasons, in a few sentences.")
        lines += [
            f"{f.name}: {f.range}{', ' + f.about if f.about else ''}, and nothing else." for f in self.fields
        ]
        return "\n".join(lines)

    def write(self, values: Mapping[str, str], reasons: str = "–") -> str:
        """A well-formed reply."""
        if self.form == "json":
            content: dict[str, Any] = {self.reasons: reasons}
            content |= {f.name: values[f.name] if f.choices else int(values[f.name]) for f in self.fields}
            return msgspec.json.encode(content).decode()
        sections = [(self.reasons, reasons), *((f.name, values[f.name]) for f in self.fields)]
        return "\n".join(f"### {name}\n{text}" for name, text in sections)

    @cached_property
    def candidates(self) -> tuple[str, ...]:
        """Well-formed replies from the worst to the best, for baselines that choose among texts."""
        most = 1
        for field in self.fields:
            most *= len(field.allowed)
        if most > _MOST_CANDIDATES:
            ends = ({f.name: f.allowed[index] for f in self.fields} for index in (0, -1))
            return tuple(self.write(values) for values in ends)
        combinations = product(*(enumerate(f.allowed) for f in self.fields))
        ranked = sorted(combinations, key=lambda combination: sum(index for index, _ in combination))
        names = [f.name for f in self.fields]
        return tuple(self.write(dict(zip(names, (text for _, text in c), strict=True))) for c in ranked)

    def read(self, text: str) -> Verdict:
        """The verdict in a reply; every field exactly once, on its scale, with nothing beside it."""
        if not text.strip():
            return Verdict(why="the reply is empty")
        content = self._object(text) if self.form == "json" else self._sections(text)
        if isinstance(content, str):
            return Verdict(why=content)
        values: dict[str, Value] = {}
        for field in self.fields:
            value = _convert(field, content[field.name])
            if value is None:
                return Verdict(why=f"{field.name} is '{_short(content[field.name])}', not {field.range}")
            values[field.name] = value
        return Verdict(values)

    def _sections(self, text: str) -> dict[str, Any] | str:
        headings = list(_HEADING.finditer(text))
        sections: dict[str, Any] = {}
        for index, heading in enumerate(headings):
            end = headings[index + 1].start() if index + 1 < len(headings) else len(text)
            title = heading[1].strip(" *_#")
            for field in self.fields:
                match = re.fullmatch(rf"{re.escape(field.name)}\s*:?\**\s*(.*)", title, re.IGNORECASE)
                if match is None:
                    continue
                if field.name in sections:
                    return f"there are two sections {field.name}"
                sections[field.name] = f"{match[1]}\n{text[heading.end() : end]}".strip()
        missing = [f.name for f in self.fields if f.name not in sections]
        return f"there is no section {missing[0]}" if missing else sections

    def _object(self, text: str) -> dict[str, Any] | str:
        objects = [o for o in _objects(text) if any(f.name in o for f in self.fields)]
        if not objects:
            return "there is no JSON object with the fields asked for"
        if any(field != objects[0] for field in objects):
            return "there are two different JSON objects"
        missing = [f.name for f in self.fields if f.name not in objects[0]]
        return f"the JSON object has no {missing[0]}" if missing else objects[0]


def _placeholder(field: Field) -> str:
    return f'"{"|".join(field.choices)}"' if field.choices else f"{field.low}–{field.high}"


def _objects(text: str) -> list[dict[str, Any]]:
    """The JSON objects of a reply: the whole of it, those in code fences, or what stands between braces."""
    inner = text[text.find("{") : text.rfind("}") + 1]
    for pieces in ([text], _FENCED.findall(text), [inner]):
        objects = [decoded for piece in pieces if isinstance(decoded := _decode(piece), dict)]
        if objects:
            return objects
    return []


def _decode(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return None


def _convert(field: Field, value: Any) -> Value | None:
    """A field's value where it is allowed; None where it is not."""
    if field.choices:
        word = value.strip(" \t\n.*_`\"'").casefold() if isinstance(value, str) else None
        return next((choice for choice in field.choices if choice.casefold() == word), None)
    if isinstance(value, str):
        value = _number(field, value)
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value or abs(value) > 1e9:
        return None
    return float(value) if value == int(value) and field.low <= value <= field.high else None


def _number(field: Field, text: str) -> float | None:
    """`4`, `**4**`, `4.`, `4/6`, `4 out of 6`: a number alone, or over the top of the scale."""
    bare = re.sub(r"[*_`\s]+", " ", text).strip()
    match = re.fullmatch(rf"(-?[0-9]{{1,9}}(?:\.[0-9]{{1,9}})?)(?: ?(?:/|out of) ?{field.high})?\.?", bare)
    return float(match[1]) if match else None


def _short(value: Any) -> str:
    text = " ".join(str(value).split())
    return text if len(text) <= 60 else text[:59] + "…"
