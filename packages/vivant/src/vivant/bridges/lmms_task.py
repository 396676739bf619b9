"""One task of lmms-eval, built and called with guards.

Building a task may download a whole repository, end the process, and fail for want of a variable. Here each of these
is one line before anything is sent. What scoring leaves to chance is seeded by the sample, and counted.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from vivant.bridges.lmms_guards import VARIABLE, counted_random, known_columns, offline, quiet, without_judge
from vivant.bridges.lmms_index import TaskEntry, require_lmms_eval
from vivant.core.errors import DataError, UsageError, VivantError
from vivant.core.files import write_atomic
from vivant.core.paths import cache_root
from vivant.core.randomness import derive_seed

logger = logging.getLogger("vivant")
_CODE = ("trust_remote_code", "builder_script")
"""Options of a dataset that run code from its repository."""


class TaskSource(Struct, frozen=True, kw_only=True):
    """Where a task and its data come from, and what the user allows."""

    entry: TaskEntry
    data: Path | None = None
    """A local copy of the dataset, in place of the one that the task names."""
    download: bool = False
    trust: bool = False

    def check(self) -> None:
        """Refuse what will not be run or fetched. Nothing is imported to find out."""
        entry = self.entry
        name = f"lmms:{entry.name}"
        if entry.output_type != "generate_until":
            raise UsageError(
                f"{name} is of the type {entry.output_type}; Vivant runs tasks of the type generate_until"
            )
        if entry.foreign and not self.trust:
            raise UsageError(
                f"{name} runs code in {Path(entry.path).parent}; read it, then allow it with --trust-remote-code"
            )
        needs = [option for option in _CODE if entry.dataset_options.get(option)]
        if needs and self.data is None and not self.trust:
            raise UsageError(
                f"{name} runs code from the repository {entry.dataset} ({needs[0]}); read it, then allow it with "
                "--trust-remote-code"
            )
        folder = self.video_folder
        if folder is not None and not folder.exists() and not self.download:
            raise DataError(
                f"{name}: its videos are not in {folder}. Put them there, or let lmms-eval download the whole "
                f"repository {entry.dataset} and unpack it: --task-option download=true"
            )

    @property
    def video_folder(self) -> Path | None:
        """Where lmms-eval keeps the videos of this task."""
        options = self.entry.dataset_options
        if not options.get("video") or not options.get("cache_dir"):
            return None
        return get_hub_home() / str(options["cache_dir"])


def remember_source(source: TaskSource) -> None:
    """Note where a task came from, for scoring it later: a run directory holds no path that code is read from."""
    sources = _read_memory()
    if sources.get(source.entry.name) != source:
        _memory().parent.mkdir(parents=True, exist_ok=True)
        write_atomic(
            _memory(),
            msgspec.json.encode({**sources, source.entry.name: source}, enc_hook=str, order="sorted"),
        )


def recall_source(name: str) -> TaskSource | None:
    """Where this user's last run of a task took it from; None where its files are gone."""
    source = _read_memory().get(name)
    if source is None or not Path(source.entry.path).is_file():
        return None
    return None if source.data is not None and not source.data.exists() else source


def _memory() -> Path:
    return cache_root() / "lmms-sources.json"


def _read_memory() -> dict[str, TaskSource]:
    try:
        return msgspec.json.decode(
            _memory().read_bytes(), type=dict[str, TaskSource], dec_hook=lambda _, text: Path(text)
        )
    except (OSError, msgspec.MsgspecError):
        return {}


def get_hub_home() -> Path:
    """The hub's folder of caches: `HF_HOME`, or its default."""
    return Path(os.environ.get("HF_HOME") or "~/.cache/huggingface").expanduser()


class LmmsTask:
    """A task with its data, ready to be asked and scored."""

    def __init__(self, source: TaskSource) -> None:
        source.check()
        require_lmms_eval()
        self.name = source.entry.name
        self.source = source
        # Tasks read it when they are imported, and without it some fail.
        os.environ.setdefault("HF_HOME", str(get_hub_home()))
        with self._guard("cannot be built"), offline(allowed=source.download), quiet():
            self.task = _build(source)

    @property
    def docs(self) -> Any:
        """The questions with their media, as a dataset."""
        return self.task.eval_docs

    @property
    def scoring_docs(self) -> Any:
        """The questions as scoring sees them: lmms-eval takes the media out."""
        return self.task.eval_docs_no_media

    @property
    def config(self) -> Any:
        """The task's settings."""
        return self.task.config

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call the task's own code; what it raises is one line that names the task."""
        with self._guard("failed"), quiet():
            return function(*arguments)

    @contextmanager
    def guard_row(self, index: int, columns: Sequence[str]) -> Iterator[None]:
        """What the task's own code raises for a row is one line that names the row; a column that is not there comes
        with the nearest."""
        name = f"lmms:{self.name}, row {index}"
        with known_columns(name, columns):
            try:
                yield
            except VivantError as error:
                raise DataError(f"{name}: {error}") from error
            except (IndexError, TypeError, ValueError) as error:
                raise DataError(
                    f"{name}: the task cannot read it: {type(error).__name__}: {_shorten(error)}; does its key fit "
                    "its options?"
                ) from error

    def process_results(self, doc: Any, text: str, index: int) -> tuple[dict[str, dict[str, Any]], int]:
        """What each filter and metric gives a reply, and how often chance had a part in it."""
        seed = derive_seed(0, f"lmms/{self.name}", str(index))
        with counted_random(seed, Path(self.source.entry.path).parent) as used, without_judge(), quiet():
            results = {
                ensemble.name: self._process(doc, text, ensemble.filters) for ensemble in self.task._filters
            }
        return results, len(used)

    def _process(self, doc: Any, text: str, filters: Sequence[Any]) -> dict[str, Any]:
        from lmms_eval.api.reasoning import parse_reasoning_tags_config, strip_reasoning_tags

        responses: Any = [[text]]
        for each in filters:
            responses = each.apply(responses, [doc])
        response = next(iter(responses))
        tags = parse_reasoning_tags_config(
            cli_value=None, task_value=getattr(self.config, "reasoning_tags", None)
        )
        if tags is not None:
            if isinstance(response, str):
                response = strip_reasoning_tags(response, tags)
            else:
                response = [strip_reasoning_tags(r, tags) if isinstance(r, str) else r for r in response]
        # Without the decorator that tries five times, seconds apart: what fails once fails again.
        process = type(self.task).process_results
        result: dict[str, Any] = getattr(process, "__wrapped__", process)(self.task, doc, [response])
        return result

    @contextmanager
    def _guard(self, label: str) -> Iterator[None]:
        try:
            yield
        except VivantError:
            raise
        except SystemExit as error:
            raise DataError(f"lmms:{self.name} {label}: {_shorten(error)}") from error
        except ModuleNotFoundError as error:
            raise UsageError(f"lmms:{self.name} needs the package '{error.name}'; install it") from error
        except KeyError as error:
            key = str(error.args[0]) if error.args else ""
            if VARIABLE.fullmatch(key):
                raise UsageError(f"lmms:{self.name} needs the environment variable {key}; set it") from error
            raise DataError(f"lmms:{self.name} {label}: there is no {key!r}") from error
        except Exception as error:
            raise self._explain(error, label) from error

    def _explain(self, error: Exception, label: str) -> VivantError:
        kind = type(error).__name__
        if "Offline" in kind or "offline" in str(error).lower() or "couldn't find" in str(error).lower():
            return DataError(
                f"lmms:{self.name}: the dataset {self.source.entry.dataset} is not on this machine. Name a copy with "
                "--data PATH, or let it be downloaded with --task-option download=true"
            )
        return DataError(f"lmms:{self.name} {label}: {kind}: {_shorten(error)}")


def _shorten(error: BaseException) -> str:
    text = " ".join(str(error).split())
    return text if len(text) <= 240 else text[:239] + "…"


def _build(source: TaskSource) -> Any:
    """The task object, of the kind that chat models get."""
    from lmms_eval import utils
    from lmms_eval.api.task import ConfigurableMessagesTask, ConfigurableTask

    import_module("lmms_eval.api.metrics")  # registers the metrics that tasks name
    config = utils.load_yaml_config(source.entry.path, mode="full")
    options = dict(config.get("dataset_kwargs") or {})
    if options.get("token") is True and not _has_token():
        del options["token"]  # the hub's client refuses to start without one, even for local files
    if source.data is not None:
        config |= _locate_dataset(source.data, config.get("dataset_name"))
        options = {"load_from_disk": True} if config.pop("load_from_disk", False) else {}
    config["dataset_kwargs"] = options
    download = ConfigurableTask.download
    # Without the decorator that tries five times, seconds apart.
    ConfigurableTask.download = getattr(download, "__wrapped__", download)
    try:
        if "class" in config:
            return config["class"](config=config)
        task = ConfigurableMessagesTask.__new__(ConfigurableMessagesTask)
        columns: list[str] = []
        with known_columns(f"lmms:{source.entry.name}", columns):
            try:
                task.__init__(config=config, model_name=None)
            finally:  # it reads the first row once it has the data
                columns += getattr(task, "features", ())
        return task
    finally:
        ConfigurableTask.download = download


def _has_token() -> bool:
    from huggingface_hub import get_token

    return bool(get_token())


def _locate_dataset(data: Path, name: str | None) -> dict[str, Any]:
    """How to read a local copy: a dataset that was saved to disk, or a folder of Parquet, JSON or CSV files."""
    for folder in (data / name, data) if name else (data,):
        if (folder / "dataset_dict.json").is_file():
            return {"dataset_path": str(folder), "dataset_name": None, "load_from_disk": True}
    if (data / "state.json").is_file():
        raise DataError(f"{data} holds one split of a dataset; save all of it: DatasetDict.save_to_disk")
    if name and (data / name).is_dir() and not (data / "README.md").is_file():
        return {"dataset_path": str(data / name), "dataset_name": None}
    if name and (data / "README.md").is_file():
        return {"dataset_path": str(data), "dataset_name": name}
    return {"dataset_path": str(data), "dataset_name": None}


def read_target(task: Any, doc: Any) -> tuple[str, ...]:
    """The right answers as the task states them; scoring asks the task itself."""
    target = task.doc_to_target(doc)
    if isinstance(target, list | tuple):
        return tuple(str(value) for value in target)
    return () if target is None else (str(target),)


def aggregate(task: LmmsTask, metric: str, values: Sequence[Any]) -> float | None:
    """The task's own aggregate of a metric; None where it gives no number."""
    import inspect
    from argparse import Namespace
    from tempfile import TemporaryDirectory

    functions: Mapping[str, Callable[..., Any]] = task.task.aggregation()
    if metric not in functions:
        return None
    function = functions[metric]
    with TemporaryDirectory() as folder:  # some also write a file to submit elsewhere
        arguments = (
            {"args": Namespace(output_path=folder)} if _takes_args(inspect.signature(function)) else {}
        )
        value = task.call(lambda: function(list(values), **arguments))
    return (
        float(value) if isinstance(value, int | float) and not isinstance(value, bool) else _to_float(value)
    )


def _takes_args(signature: Any) -> bool:
    return "args" in signature.parameters


def _to_float(value: Any) -> float | None:
    """NumPy's numbers have `item`; anything else is no figure."""
    item = getattr(value, "item", None)
    try:
        return float(item()) if item is not None else None
    except (TypeError, ValueError):
        return None
