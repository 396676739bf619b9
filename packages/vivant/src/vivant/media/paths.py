"""Media paths come from data files, so they may not leave the data root."""

# ruff: noqa: PTH100, PTH116, PTH117, PTH118 (every request passes here; pathlib takes ten times as long)

from __future__ import annotations

import os
import stat
from functools import lru_cache

from vivant.core.errors import MediaError


def resolve_media(root: str | os.PathLike[str], path: str) -> str:
    """The real path of `path` under `root`; refuses whatever leaves the root, links included.

    Raises MediaError, also where there is no such file or it is not a plain file (a pipe would stall a run).
    """
    folder = os.fspath(root)
    return _resolve(folder if folder.startswith(os.sep) else os.path.abspath(folder), path)


@lru_cache(maxsize=16_384)
def _resolve(root: str, path: str) -> str:
    if not path or "\0" in path:
        raise MediaError(f"{path!r} is no path; correct it in the data")
    if os.path.isabs(path):
        raise MediaError(f"{path} is an absolute path; media paths are relative to the data folder ({root})")
    base = _real_folder(root)
    folder, name = os.path.split(os.path.join(base, path))
    # Files of one folder share its resolution; a link at the end, or a name that is none, is resolved by itself.
    real = os.path.join(_real_folder(folder), name)
    is_plain = name not in ("", ".", "..") and _is_plain(real)
    if not is_plain:
        real = os.path.realpath(real)
    if real != base and not real.startswith(base if base.endswith(os.sep) else base + os.sep):
        raise MediaError(
            f"{path} leads out of the data folder {root}; move the file inside or name a wider folder"
        )
    if not is_plain:
        stat_file(real, path, f" from {root}")
    return real


def _is_plain(real: str) -> bool:
    """Whether it is a file, and no link to one."""
    try:
        return stat.S_ISREG(os.lstat(real).st_mode)
    except OSError:
        return False


@lru_cache(maxsize=1024)
def _real_folder(folder: str) -> str:
    return os.path.realpath(folder)


def stat_file(real: str, name: str, where: str = "") -> os.stat_result:
    """A plain file's status. Raises MediaError under `name` where it is missing or something else."""
    try:
        status = os.stat(real)
    except (FileNotFoundError, NotADirectoryError):
        raise MediaError(f"{name} is missing{where}") from None
    except OSError as error:
        raise MediaError(f"{name} cannot be read: {error.strerror}") from None
    if not stat.S_ISREG(status.st_mode):
        raise MediaError(f"{name} is a folder or device, not a file")
    return status
