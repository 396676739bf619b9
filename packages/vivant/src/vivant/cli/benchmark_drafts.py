"""What `vivant benchmarks new` does with data, and `vivant benchmarks check` with a benchmark."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from vivant.benchmarks import registry
from vivant.benchmarks.checks import SHOWN, check_task, format_sample, pick_samples
from vivant.benchmarks.declarative.draft import draft_description
from vivant.benchmarks.declarative.draft_files import choose_media, choose_tables, make_name, make_pattern
from vivant.benchmarks.declarative.spec import BenchmarkSpec
from vivant.benchmarks.editions import compare_size, find_edition
from vivant.benchmarks.plugin_files import is_description
from vivant.cli.output import print_message
from vivant.core.errors import DataError, UsageError, unknown_name_error
from vivant.core.progress import log_progress
from vivant.core.yaml_files import list_field_errors, write_text
from vivant.engine.options import RunOptions
from vivant.engine.run_planning import select_questions


def draft_from_data(data: Path, path: Path | None) -> None:
    """Write a description of a local file or folder."""
    data = data.expanduser()
    if data.is_file():
        folder, names = data.parent, [data.name]
    elif data.is_dir():
        folder = data
        names = [file.relative_to(data).as_posix() for file in sorted(data.rglob("*")) if file.is_file()]
        names = [name for name in names if not any(part.startswith(".") for part in name.split("/"))]
    else:
        raise UsageError(f"{data} does not exist")
    tables = choose_media(names) or choose_tables(names)
    beside = names if data.is_dir() else [file.name for file in folder.iterdir() if file.is_file()]
    target = path or Path(f"{make_name(data.stem)}.yaml")
    _write(target, [folder / name for name in tables], make_pattern(tables[0]), beside)
    inside = target.resolve().parent == folder.resolve()
    print_message(f"Next: vivant benchmarks check ./{target}" + ("" if inside else f" --data {folder}"))


def draft_from_hub(identity: str, path: Path | None, file: str) -> None:
    """Look at a dataset on the hub and write a description of it."""
    from vivant.fetch.hub_sample import fetch_sample

    if identity.count("/") != 1:
        raise UsageError(f"--from-hub {identity}: write ORG/NAME")
    name = make_name(path.stem if path else identity.rpartition("/")[2])
    target = path or Path(f"{name}.yaml")
    _check_target(target)
    sample = fetch_sample(identity, registry.data_root() / name, file, log_progress())
    print_message(f"Looked at {sample.file}")
    others = [pattern for pattern in sample.tables if pattern != sample.pattern]
    if others:
        print_message(
            f"Other data files: {', '.join(others[:8])}"
            + (" …" if len(others) > 8 else "")
            + " (--file PATTERN)"
        )
    _write(target, [sample.file], sample.pattern, sample.names, identity)
    print_message(
        f"Next: read it over, then vivant data get ./{target} and vivant benchmarks check ./{target}"
    )


def _check_target(path: Path) -> None:
    if path.exists():
        raise UsageError(f"{path} exists already; choose another name")
    if path.suffix not in (".yaml", ".yml"):
        raise UsageError(f"{path}: the name of a description ends in .yaml")


def _write(path: Path, files: list[Path], pattern: str, media: Sequence[str], hub: str = "") -> None:
    _check_target(path)
    text, doubts = draft_description(make_name(path.stem), files, pattern, media, hub)
    write_text(path, text)
    print_message(f"Written: {path}")
    for doubt in doubts:
        print_message(f"Look at this: {doubt}")


def check_benchmarks(options: RunOptions) -> bool:
    """Print what is read and ten questions of each benchmark's first task; whether all is well."""
    for name in options.selectors:
        if is_description(name) and Path(name).is_file():
            errors = list_field_errors(Path(name), BenchmarkSpec)
            for error in errors[1:]:
                print(error)
            if errors:
                raise DataError(errors[0])
    selections = select_questions(options)
    well = all([_check_selection(selection, options.style) for selection in selections])  # noqa: C419
    short = ", ".join(name.rpartition("/")[2] for name in options.selectors)
    verb = "is" if len(options.selectors) == 1 else "are"
    command = " ".join(("vivant run", *options.selectors, *_repeat_arguments(options), "--model random"))
    print_message(f"{short} {verb} fine. Next: {command}" if well else "See the lines above.")
    return well


def _check_selection(selection: registry.Selection, style: str | None) -> bool:
    benchmark, root = selection.benchmark, selection.root
    if style is not None and style not in benchmark.styles:
        raise unknown_name_error(f"style of {benchmark.name}", style, benchmark.styles)
    well = True
    pools = {}
    for task in selection.tasks:
        checked = check_task(benchmark, root, task, style)
        pools[checked.task] = checked.samples
        print(f"{checked.task}: {len(checked.samples):,} questions")
        if len(pools) == 1:
            for number, sample in enumerate(pick_samples(checked.samples, SHOWN), 1):
                print("\n".join(format_sample(sample, number)))
        for problem in checked.problems:
            print(problem)
            well = False
    edition = find_edition(benchmark, root)
    size = compare_size(benchmark.name, edition, pools) if edition is not None else None
    if size is not None:
        print_message(size.line)
    return well


def _repeat_arguments(options: RunOptions) -> Iterator[str]:
    """The options that a run of the same questions needs as well, as the user writes them."""
    yield from (f"--data {path}" for path in options.data)
    if options.style:
        yield f"--style {options.style}"
    yield from (f"--task-option {name}={value}" for name, value in options.task_options.items())
    if options.trust_remote_code:
        yield "--trust-remote-code"
