"""All parameters of the pipeline, with their defaults: one section a step, each declared beside its step."""

from __future__ import annotations

from pathlib import Path

import msgspec
from msgspec import Struct, field

from vivant.build.mimic.clean_settings import Clean
from vivant.build.mimic.ingest_settings import Ingest
from vivant.build.mimic.task_settings import Audit, Pool, Publish, Select, Split, Tasks, Train
from vivant.core.errors import DataError


class Settings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A settings file. Whatever it does not name has its default; an unknown name is refused."""

    seed: int = 0
    memory: str = "2GB"
    """What DuckDB may hold in memory before it goes to disk; the whole process takes about 1 GB more."""
    workers: int = 2
    """Threads of DuckDB, and processes where files are read or videos decoded."""
    ingest: Ingest = field(default_factory=Ingest)
    clean: Clean = field(default_factory=Clean)
    select: Select = field(default_factory=Select)
    split: Split = field(default_factory=Split)
    tasks: Tasks = field(default_factory=Tasks)
    audit: Audit = field(default_factory=Audit)
    pool: Pool = field(default_factory=Pool)
    train: Train = field(default_factory=Train)
    publish: Publish = field(default_factory=Publish)


def read_settings(path: Path | None) -> Settings:
    """The settings in a YAML file, or the defaults."""
    if path is None:
        return Settings()
    import yaml

    try:
        values = yaml.safe_load(path.read_text(encoding="utf-8"))
        return msgspec.convert(values or {}, Settings)
    except OSError as error:
        raise DataError(f"Cannot read the settings {path}: {error.strerror}") from error
    except (yaml.YAMLError, UnicodeDecodeError, msgspec.ValidationError) as error:
        raise DataError(f"{path}: {' '.join(str(error).split())}") from error
