"""Official prompt texts, read out of a user's own clone of an original repository.

Files are parsed with `ast` and never executed. Each text is looked for where `recipes.yaml` says (file, function,
branch, variable); f-strings, concatenations and names of module constants are put together, and the original's
expressions become Vivant's placeholders. A text that is not where it was expected is an error that names the place.
"""

from __future__ import annotations

import ast
import hashlib
import string
from collections.abc import Iterator, Mapping
from pathlib import Path

import yaml
from msgspec import Struct

from vivant.benchmarks.recipes import RecipeFile, WordingPlace, load_recipes
from vivant.benchmarks.wording import SOURCE, find_placeholders
from vivant.core.errors import DataError
from vivant.core.yaml_files import write_text

_DIGITS = 16


class OfficialWording(Struct, frozen=True):
    """The texts of a clone by key, and what is to be said about them."""

    texts: Mapping[str, str]
    commit: str
    """Empty where the folder is no clone."""
    changed: tuple[str, ...] = ()
    """Keys whose text is not the one that the recipes were read from."""


def read_wording(benchmark: str, clone: Path) -> OfficialWording:
    """Read all prompt texts of a benchmark out of a clone of its repository."""
    content = load_recipes(benchmark)
    if not clone.is_dir():
        raise DataError(f"{clone} is no folder; clone https://github.com/{content.repository} and name it")
    modules: dict[str, _Module] = {}
    texts: dict[str, str] = {}
    for key, source in content.words.items():
        if source.file not in modules:
            modules[source.file] = _Module(clone, source.file, content)
        texts[key] = modules[source.file].read(key, source)
    changed = tuple(
        key
        for key, source in content.words.items()
        if source.sha256 and wording_digest(texts[key]) != source.sha256
    )
    return OfficialWording(texts, read_commit(clone), changed)


def write_wording(benchmark: str, wording: OfficialWording, file: Path) -> None:
    """Write texts as the file that `--prompts` and `--judge-prompts` take."""
    repository = load_recipes(benchmark).repository
    origin = f"{repository} at {wording.commit or 'an unknown commit (no clone)'}"
    head = f"Prompt texts of {repository}, read by `vivant recipes wording`. They belong to its authors."
    text = yaml.safe_dump({SOURCE: origin, **wording.texts}, sort_keys=False, allow_unicode=True, width=100)
    write_text(file, f"# {head}\n{text}")


def wording_digest(text: str) -> str:
    """What a recipe knows of a text instead of the text."""
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]


class _Module:
    """One parsed file of a clone."""

    def __init__(self, clone: Path, file: str, content: RecipeFile) -> None:
        path = clone / file
        self._file = file
        self._remedy = f"check out the commit {content.commit[:7]} of {content.repository}"
        try:
            self._tree = ast.parse(path.read_bytes(), filename=file)
        except FileNotFoundError:
            raise DataError(f"{path} does not exist; is {clone} a clone? {self._remedy}") from None
        except (OSError, SyntaxError, ValueError) as error:
            raise DataError(f"{path} cannot be read as Python: {error}; {self._remedy}") from None
        self._constants = {
            target.id: node.value
            for node in self._tree.body
            if isinstance(node, ast.Assign)
            for target in node.targets
            if isinstance(target, ast.Name)
        }

    def read(self, key: str, source: WordingPlace) -> str:
        """The text at a place, in Vivant's form."""
        body = self._branch(source, self._scope(source))
        candidates = list(self._candidates(source, body))
        if len(candidates) <= source.number:
            raise self._missing(key, source, "there is no such text")
        pieces = [candidates[source.number]]
        if source.variable and not source.part:
            # The last assignment, and what is added to it.
            last = max((n for n, (_, fresh) in enumerate(candidates) if fresh), default=0)
            pieces = candidates[last:]
        text = "".join(self._text(piece, key, source) for piece, _ in pieces)
        if source.formatted:
            text = self._unformat(text, key, source)
        return (text.strip(source.strip) if source.strip else text) + source.after

    def _scope(self, source: WordingPlace) -> list[ast.stmt]:
        body: list[ast.stmt] = self._tree.body
        for name in filter(None, source.symbol.split(".")):
            kinds = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
            scope = next((node for node in body if isinstance(node, kinds) and node.name == name), None)
            if scope is None:
                raise self._missing("", source, f"there is no {name}")
            body = scope.body
        return body

    def _branch(self, source: WordingPlace, body: list[ast.stmt]) -> list[ast.stmt]:
        if not source.when:
            return body
        test = ast.unparse(ast.parse(source.when.removeprefix("not "), mode="eval").body)
        for node in _walk(body):
            if isinstance(node, ast.If) and ast.unparse(node.test) == test:
                return node.orelse if source.when.startswith("not ") else node.body
        raise self._missing("", source, f"there is no branch `if {test}`")

    def _candidates(self, source: WordingPlace, body: list[ast.stmt]) -> Iterator[tuple[ast.expr, bool]]:
        """Expressions that may be the text, in the order of the file; and whether each begins a text."""
        for node in _walk(body):
            for value in self._values(source, node):
                if self._is_text(value):
                    yield value, not isinstance(node, ast.AugAssign)

    def _values(self, source: WordingPlace, node: ast.AST) -> list[ast.expr]:
        """The expressions of a node that stand where the place says."""
        if source.variable and isinstance(node, ast.Assign | ast.AugAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            named = any(isinstance(target, ast.Name) and target.id == source.variable for target in targets)
            return [node.value] if named else []
        if source.returned and isinstance(node, ast.Return) and node.value is not None:
            return [node.value]
        if source.call and isinstance(node, ast.Call) and ast.unparse(node.func) == source.call:
            return [
                element
                for argument in node.args
                for element in (argument.elts if isinstance(argument, ast.List) else [argument])
            ]
        if source.entry and isinstance(node, ast.Dict):
            pairs = zip(node.keys, node.values, strict=True)
            return [
                value
                for name, value in pairs
                if isinstance(name, ast.Constant) and name.value == source.entry
            ]
        return []

    def _is_text(self, node: ast.expr) -> bool:
        if isinstance(node, ast.BinOp):
            return isinstance(node.op, ast.Add) and self._is_text(node.left) and self._is_text(node.right)
        if isinstance(node, ast.Name):
            return node.id in self._constants and self._is_text(self._constants[node.id])
        return isinstance(node, ast.JoinedStr) or (
            isinstance(node, ast.Constant) and isinstance(node.value, str)
        )

    def _text(self, node: ast.expr, key: str, source: WordingPlace) -> str:
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            return self._text(node.left, key, source) + self._text(node.right, key, source)
        if isinstance(node, ast.Name) and node.id in self._constants:
            return self._text(self._constants[node.id], key, source)
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            return self._literal(node.value, key, source) if not source.formatted else node.value
        if isinstance(node, ast.JoinedStr):
            return "".join(self._piece(value, key, source) for value in node.values)
        raise self._missing(key, source, f"line {node.lineno} is no plain text")

    def _piece(self, node: ast.expr, key: str, source: WordingPlace) -> str:
        if isinstance(node, ast.Constant):
            return self._literal(str(node.value), key, source)
        expression = ast.unparse(node.value) if isinstance(node, ast.FormattedValue) else ast.unparse(node)
        return self._placeholder(expression, key, source)

    def _placeholder(self, expression: str, key: str, source: WordingPlace) -> str:
        if expression not in source.fills:
            known = ", ".join(source.fills) or "none"
            raise self._missing(
                key, source, f"it fills in '{expression}', which is not known (known: {known})"
            )
        return f"{{{source.fills[expression]}}}"

    def _unformat(self, text: str, key: str, source: WordingPlace) -> str:
        try:
            pieces = list(string.Formatter().parse(text))
        except ValueError as error:
            raise self._missing(key, source, f"it is no template for str.format ({error})") from None
        return "".join(
            self._literal(literal, key, source)
            + ("" if name is None else self._placeholder(name, key, source))
            for literal, name, _, _ in pieces
        )

    def _literal(self, text: str, key: str, source: WordingPlace) -> str:
        """Plain text, which must not hold what would become a placeholder."""
        clash = [name for name in find_placeholders(text) if name in source.fills.values()]
        if clash:
            raise self._missing(key, source, f"its text holds {{{clash[0]}}}, which Vivant would fill in")
        return text

    def _missing(self, key: str, source: WordingPlace, why: str) -> DataError:
        kinds = {"variable": source.variable, "call of": source.call, "entry": source.entry}
        what = next((f"{kind} `{name}`" for kind, name in kinds.items() if name), "returned text")
        symbol = f"{source.symbol}: {what}" if source.symbol else what
        branch = f" in `if {source.when}`" if source.when else ""
        label = f" for '{key}'" if key else ""
        return DataError(f"{self._file}, {symbol}{branch}{label}: {why}; {self._remedy}")


def _walk(body: list[ast.stmt]) -> Iterator[ast.AST]:
    """All nodes in the order in which they stand in the file."""
    for statement in body:
        yield from _walk_node(statement)


def _walk_node(node: ast.AST) -> Iterator[ast.AST]:
    yield node
    for child in ast.iter_child_nodes(node):
        yield from _walk_node(child)


def read_commit(clone: Path) -> str:
    """The commit that a clone has checked out, from its files; empty where it is none. Git itself is not run."""
    git = clone / ".git"
    try:
        if git.is_file():  # a worktree or a submodule
            git = (clone / git.read_text(encoding="utf-8").removeprefix("gitdir:").strip()).resolve()
        head = (git / "HEAD").read_text(encoding="utf-8").strip()
        if not head.startswith("ref:"):
            return head
        name = head.removeprefix("ref:").strip()
        common = git / "commondir"
        roots = (
            [git, (git / common.read_text(encoding="utf-8").strip()).resolve()] if common.is_file() else [git]
        )
        for root in roots:
            if (root / name).is_file():
                return (root / name).read_text(encoding="utf-8").strip()
            packed = root / "packed-refs"
            for line in packed.read_text(encoding="utf-8").splitlines() if packed.is_file() else ():
                commit, _, reference = line.partition(" ")
                if reference == name:
                    return commit
    except (OSError, UnicodeDecodeError):
        return ""
    return ""
