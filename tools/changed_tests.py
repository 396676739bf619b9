"""Print the test files that can see a change, one per line.

python tools/changed_tests.py           changes since the last commit, untracked files included
python tools/changed_tests.py main      changes since this branch left main
python tools/changed_tests.py --near    only the tests that are most likely to fail

A test sees a change if it uses the changed module, directly or through other modules. A module's name in a string
counts as an import, and starting `vivant` counts as an import of all commands of the test's package. Since every run
can reach every benchmark through the registries, this selects most tests for most modules of the kernel. `--near`
doesn't follow registries, nor imports inside functions that leave a folder, except those of commands. A test then sees
the benchmarks and commands that its strings name ("mime/mcq", "table"), and the modules in the folder of its name.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatch
from functools import cached_property
from pathlib import Path

import grimp
from msgspec import Struct, field

ROOT = Path(__file__).resolve().parents[1]
COMMAND = "vivant.cli.main"
"""The module that starts the command line."""
EVERYTHING = ("conftest.py", "Makefile", "pyproject.toml", "packages/*/pyproject.toml", "locks/*")
DOCS = ("docs/*", "mkdocs.yml", "[A-Z]*.md", "packages/*/README.md")
_DEFINITION = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_DOTTED = re.compile(r"\b[a-z_]\w*(?:\.\w+)+")
_IMPORT_IN_STRING = re.compile(r"\bfrom ([\w.]+) import (\w+)")
_TOOL = re.compile(r"\btools/(\w+)\.py")
_MODULE_STRING = re.compile(r"[\"']([a-z_]\w*(?:\.\w+)+)(?::\w+)?[\"']")
_REGISTERED = re.compile(r"[\"']([\w-]+)[\"']:\s*(?:\w+\(\s*)?[\"']([a-z_]\w*(?:\.\w+)+):\w+[\"']")
"""`"mime": "vivant.benchmarks.mime.benchmark:Mime"` or `"run": Command("vivant.cli.run:app"`."""
_MODULE_PREFIX = re.compile(r"\bf[\"']([a-z_]\w*(?:\.\w+)*)\.\{")


class Script(Struct):
    """A test file, a support module or a tool, and the dotted names that it refers to."""

    path: str
    aliases: dict[str, str] = field(default_factory=dict)
    """What its imported and defined names stand for. An import counts where its name is used."""
    definitions: dict[str, set[str]] = field(default_factory=dict)
    """What each function and class refers to."""
    statements: set[str] = field(default_factory=set)
    """What all other statements refer to."""


def parse_script(name: str, path: str, text: str) -> Script:
    """Read what a file refers to; `name` is its dotted name."""
    script, tree = Script(path), ast.parse(text, path)
    for node in tree.body:
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                script.aliases[alias.asname or alias.name] = f"{node.module}.{alias.name}"
        elif isinstance(node, _DEFINITION):
            script.aliases[node.name] = f"{name}.{node.name}"
    for node in tree.body:
        if isinstance(node, _DEFINITION):
            script.definitions[node.name] = set(_list_references(node, script.aliases))
        elif not isinstance(node, ast.ImportFrom):
            script.statements |= set(_list_references(node, script.aliases))
    return script


def _list_references(tree: ast.AST, aliases: Mapping[str, str]) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id in aliases:
            yield aliases[node.id]
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.List | ast.Tuple):
            words = [item.value for item in node.elts if isinstance(item, ast.Constant)]
            if COMMAND.partition(".")[0] in words:  # ["vivant", "run", …]
                yield COMMAND
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield from _DOTTED.findall(node.value)
            yield from (".".join(match) for match in _IMPORT_IN_STRING.findall(node.value))
            yield from _TOOL.findall(node.value)
            yield f"={node.value.partition('/')[0]}"


class Workspace:
    """The packages of a repository, its tests, and the modules that each test uses."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.modules = {
            _name_module(path, source): path.relative_to(root).as_posix()
            for source in root.glob("packages/*/src")
            for path in source.rglob("*.py")
        }
        # Tests are one namespace `tests` over all packages. Tools are imported by their bare names.
        places = [(root, "conftest.py"), (root, "tests/**/*.py"), (root / "tools", "**/*.py")]
        places += [(package, "tests/**/*.py") for package in root.glob("packages/*")]
        self.scripts: dict[str, Script] = {}
        for base, pattern in places:
            for path in base.glob(pattern):
                name = _name_module(path, base)
                self.scripts[name] = parse_script(name, path.relative_to(root).as_posix(), path.read_text())
        self.tests = {s.path: n for n, s in self.scripts.items() if Path(s.path).name.startswith("test_")}

    def find_users(self, changed: Iterable[str], *, near: bool = False) -> set[str]:
        """Return the test files that use any of the changed modules, directly or indirectly."""
        graph, registered = self._build_graph(near)
        affected, direct = set(changed), set(changed)
        for name in affected & graph.modules:
            affected |= graph.find_downstream_modules(name)
            direct |= graph.find_modules_that_directly_import(name)
        selected = {test for test, names in self.used.items() if names & affected}
        for key, registry, target in registered:
            if target in affected:
                users = graph.find_downstream_modules(registry) | {registry}
                selected |= {test for test, own in self.used.items() if f"={key}" in own and own & users}
        if near:
            paths = {self.modules[name] for name in direct & set(self.modules)}
            beside = {test for test in self.tests if any(_mirrors(test, path) for path in paths)}
            selected |= beside & self.find_users(changed)
        return selected

    def _build_graph(self, near: bool) -> tuple[grimp.ImportGraph, list[tuple[str, str, str]]]:
        """Return the imports between modules; if near, also what registries name: (key, registry, module)."""
        graph = grimp.build_graph(*sorted({name.partition(".")[0] for name in self.modules}), cache_dir=None)
        registered: list[tuple[str, str, str]] = []
        for name, path in self.modules.items():
            text = (self.root / path).read_text()
            prefixes = _MODULE_PREFIX.findall(text)
            if near and ".cli" not in name:
                prefixes = [prefix for prefix in prefixes if prefix == name]
                lines = text.splitlines()
                folder = path.rpartition("/")[0]
                for target in graph.find_modules_directly_imported_by(name) if name in graph.modules else ():
                    details = graph.get_import_details(importer=name, imported=target)
                    inside = all(lines[detail["line_number"] - 1].startswith(" ") for detail in details)
                    if inside and self.modules.get(target, path).rpartition("/")[0] != folder:
                        graph.remove_import(importer=name, imported=target)
            if near:
                registered += [(key, name, target) for key, target in _REGISTERED.findall(text)]
                text = _REGISTERED.sub("", text)
            imported = {target for target in _MODULE_STRING.findall(text) if target in self.modules}
            imported = imported.union(*(graph.find_children(p) for p in prefixes if p in graph.modules))
            for target in imported - {name}:
                graph.add_import(importer=name, imported=target)
        return graph, registered

    @cached_property
    def used(self) -> dict[str, set[str]]:
        """What each test file uses."""
        return {test: self.find_used(test) for test in self.tests}

    def find_used(self, test: str) -> set[str]:
        """Return the modules that a test file names, itself or in the support code that it uses."""
        parts = self.tests[test].split(".")
        waiting = [".".join(parts), *(".".join([*parts[:count], "conftest"]) for count in range(len(parts)))]
        seen, used = set(waiting), set()
        while waiting:
            name = waiting.pop()
            module, attribute = self._resolve(name)
            used.add(module or name)
            more: set[str] = set()
            if module == COMMAND:
                package = "packages/*" if test.startswith("tests/") else test.partition("/tests/")[0]
                for project in self.root.glob(f"{package}/pyproject.toml"):
                    more |= set(_MODULE_STRING.findall(project.read_text()))
            elif script := self.scripts.get(module):
                more |= script.statements
                if not attribute:
                    more = more.union(*script.definitions.values())
                elif attribute in script.definitions:
                    more |= script.definitions[attribute]
                elif attribute in script.aliases:
                    more.add(script.aliases[attribute])
            waiting += more - seen
            seen |= more
        return used

    def _resolve(self, dotted: str) -> tuple[str, str]:
        """Split a dotted name into a module and the attribute used of it; both are empty for other names."""
        attribute = ""
        while dotted and dotted not in self.modules and dotted not in self.scripts:
            dotted, _, attribute = dotted.rpartition(".")
        return dotted, attribute if dotted else ""

    def select(self, changed: Iterable[str], *, near: bool = False) -> set[str]:
        """Return the test files that can see a change of these files."""
        paths = {path: name for name, path in self.modules.items()}
        paths |= {script.path: name for name, script in self.scripts.items()}
        known = set(self.modules).union(*self.used.values())
        modules, selected = set(), set()
        for path in changed:
            folders = [parent.as_posix() for parent in Path(path).parents]
            if paths.get(path) in known:
                modules.add(paths[path])
            elif fnmatch(path, "packages/*/src/*"):
                # Data, or a deleted module: whatever is beside it is most likely to use it.
                beside = ({n for p, n in paths.items() if p.rpartition("/")[0] == own} for own in folders)
                modules |= next(filter(None, beside), set())
            elif any(fnmatch(path, pattern) for pattern in DOCS):
                selected |= self._list_tests("tests/docs")
            elif "tests" in folders or fnmatch(path, "packages/*/tests/*"):
                selected |= next(filter(None, map(self._list_tests, folders)), set())
            else:
                selected |= {test for test in self.tests if Path(path).name in (self.root / test).read_text()}
            if path.startswith("packages/"):
                selected |= {test for test in self._list_tests("tests") if self._reads_sources(test)}
        return selected | (self.find_users(modules, near=near) if modules else set())

    def _list_tests(self, folder: str) -> set[str]:
        return {test for test in self.tests if test.startswith(f"{folder}/")}

    def _reads_sources(self, test: str) -> bool:
        text = (self.root / test).read_text()
        return '"packages"' in text and "rglob(" in text


def _name_module(path: Path, base: Path) -> str:
    return ".".join(path.relative_to(base).with_suffix("").parts).removesuffix(".__init__")


def _mirrors(test: str, path: str) -> bool:
    """Return whether a test's folder has the name of a module's: tests/engine, src/vivant/engine."""
    package, _, inside = path.partition("/src/")
    folder = inside.partition("/")[2].rpartition("/")[0]
    return bool(folder) and test.startswith(f"{package}/tests/") and Path(test).parent.match(f"*/{folder}")


def list_changed(root: Path, revision: str) -> list[str]:
    """Return the files that differ from where this branch left a revision, and the untracked ones."""
    git = ("git", "-C", str(root))
    diff = (*git, "diff", "--name-only", "--no-renames", "--merge-base", "-z", revision)
    untracked = (*git, "ls-files", "--others", "--exclude-standard", "-z")
    changed: set[str] = set()
    for command in (diff, untracked):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            sys.exit(f"changed_tests: {done.stderr.strip()}")
        changed.update(filter(None, done.stdout.split("\0")))
    return sorted(changed)


def main(arguments: list[str], root: Path = ROOT) -> None:
    """Print the selected tests."""
    near = "--near" in arguments
    changed = list_changed(root, *([word for word in arguments if word != "--near"] or ["HEAD"]))
    if any(fnmatch(path, pattern) for path in changed for pattern in EVERYTHING):
        settings = tomllib.loads((root / "pyproject.toml").read_text())
        print(*settings["tool"]["pytest"]["ini_options"]["testpaths"], sep="\n")
    elif selected := sorted(Workspace(root).select(changed, near=near)):
        print(*selected, sep="\n")


if __name__ == "__main__":
    main(sys.argv[1:])
