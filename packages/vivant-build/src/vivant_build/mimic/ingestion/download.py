"""yt-dlp's own download, for those who ask for it and accept the platform's terms. Nothing else here uses a network.

yt-dlp runs as a program of its own: what it does to a machine is its business, and a user may name another build.
"""

from __future__ import annotations

import importlib.util
import logging
import shlex
import subprocess
import sys
from pathlib import Path

from msgspec import Struct

from vivant.core.errors import UsageError
from vivant_build.mimic.steps import explain_errors

FOLDER = "downloads"
logger = logging.getLogger("vivant")


class DownloadRequest(Struct, frozen=True, kw_only=True):
    """What to fetch, and how gently."""

    urls: Path
    """A file with one address a line."""
    accept_terms: bool = False
    rate: str = "2M"
    """Bytes a second at most, as yt-dlp writes them."""
    pause: float = 2.0
    """Seconds between two videos, and half of that between requests."""
    cookies: Path | None = None
    archive: Path | None = None
    """Ids fetched before, which are passed over; default: a file in the work folder."""
    comments: int = 500
    """Comments a video at most; 0 for none."""
    height: int = 480
    """Of the picture, at most."""
    program: str = ""
    """The command; default: the yt-dlp of this Python."""


def download(request: DownloadRequest, work: Path) -> Path:
    """Fetch videos with metadata and comments into WORK/downloads, and return that folder."""
    if not request.accept_terms:
        raise UsageError(
            "--download fetches from platforms whose terms may forbid it; read them, and say --accept-terms if you may"
        )
    for name, path in (("list of addresses", request.urls), ("cookies file", request.cookies)):
        if path is not None and not path.is_file():
            raise UsageError(f"The {name} {path} is not there")
    folder = work / FOLDER
    with explain_errors(work, "ingest"):
        folder.mkdir(parents=True, exist_ok=True)
    command = [*_program(request.program), *_options(request, work, folder)]
    try:
        running = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
        )
    except OSError as error:
        raise UsageError(f"Cannot start {command[0]}: {error.strerror}") from error
    last = ""
    with running:
        assert running.stdout is not None
        for line in running.stdout:
            last = line.strip() or last
            if line.startswith(("ERROR", "WARNING")) or "Destination" in line:
                logger.info(line.strip())
    if running.returncode == 2:
        raise UsageError(f"yt-dlp did not understand its options: {last}")
    if running.returncode:  # it has gone on after errors; what came is there
        logger.warning("yt-dlp could not fetch everything (exit code %d): %s", running.returncode, last)
    return folder


def _program(named: str) -> list[str]:
    if named:
        return shlex.split(named)
    if importlib.util.find_spec("yt_dlp") is None:
        raise UsageError("--download needs yt-dlp: pip install 'vivant-build[download]'")
    return [sys.executable, "-m", "yt_dlp"]


def _options(request: DownloadRequest, work: Path, folder: Path) -> list[str]:
    archive = request.archive or work / "downloaded.txt"
    options = [
        "--ignore-config", "--no-progress", "--ignore-errors", "--no-overwrites", "--continue", "--no-playlist",
        "--write-info-json", "--restrict-filenames",
        "--batch-file", str(request.urls),
        "--download-archive", str(archive),
        "--limit-rate", request.rate,
        "--sleep-interval", f"{request.pause:g}", "--sleep-requests", f"{request.pause / 2:g}",
        "--format", f"bv*[height<={request.height}]+ba/b[height<={request.height}]/b",
        "--output", str(folder / "%(extractor_key)s" / "%(id)s.%(ext)s"),
    ]  # fmt: skip
    if request.comments:
        options += ["--write-comments", "--extractor-args", f"youtube:max_comments={request.comments}"]
    if request.cookies:
        options += ["--cookies", str(request.cookies)]
    return options
