"""Pushing a dataset to a hub repository: checked against its checksums, announced, private unless told otherwise."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct

from vivant.core.checksums import verify_sums
from vivant.core.disk_space import format_size
from vivant.core.errors import DataError, UsageError, is_connection_fault

logger = logging.getLogger("vivant")
_REPO = re.compile(r"[A-Za-z0-9][\w.-]{0,95}/[A-Za-z0-9][\w.-]{0,95}")


class Push(Struct, frozen=True, kw_only=True):
    """What is about to be pushed, and where."""

    folder: Path
    repo: str
    private: bool
    files: int
    bytes: int
    endpoint: str

    def line(self) -> str:
        """The announcement."""
        seen = "private" if self.private else "PUBLIC"
        return (
            f"Pushing {self.files} files, {format_size(self.bytes)}, from {self.folder} to "
            f"{self.endpoint}/datasets/{self.repo} ({seen})"
        )


def prepare_push(folder: Path, repo: str, *, private: bool = True) -> Push:
    """Check a dataset and the name of a repository; nothing is sent yet."""
    from huggingface_hub import constants

    if not _REPO.fullmatch(repo) or "--" in repo or ".." in repo:
        raise UsageError(f"The repository '{repo}': write OWNER/NAME, in letters, digits, '-', '_' and '.'")
    if not os.environ.get("HF_TOKEN"):
        raise UsageError("Pushing needs a token with write access: set HF_TOKEN")
    sizes = verify_sums(folder)
    return Push(
        folder=folder,
        repo=repo,
        private=private,
        files=len(sizes),
        bytes=sum(sizes.values()),
        endpoint=constants.ENDPOINT,
    )


def push(ready: Push) -> str:
    """Create the repository where there is none, upload the folder, and return the page's address.

    What the hub holds already is not sent again, so a push that broke off goes on when it is run again.
    """
    from huggingface_hub import HfApi
    from huggingface_hub.utils import disable_progress_bars  # type: ignore[attr-defined]  # documented there

    disable_progress_bars()
    api = HfApi(endpoint=ready.endpoint, token=os.environ["HF_TOKEN"])
    with _clear_errors(ready):
        api.create_repo(ready.repo, repo_type="dataset", private=ready.private, exist_ok=True)
        info = api.repo_info(ready.repo, repo_type="dataset")
        if ready.private and info.private is False:
            raise UsageError(
                f"{ready.repo} exists and is public; name another one, or pass --public if everyone may see this"
            )
        logger.info("The repository is there; sending %s", format_size(ready.bytes))
        api.upload_folder(
            repo_id=ready.repo,
            repo_type="dataset",
            folder_path=ready.folder,
            # Hidden files are notes of unfinished work.
            ignore_patterns=[".*", "**/.*"],
            commit_message=f"Add {ready.files} files made with Vivant",
        )
    return f"{ready.endpoint}/datasets/{ready.repo}"


@contextmanager
def _clear_errors(ready: Push) -> Iterator[None]:
    """The hub's refusals in one line each, with what to do; a token is never shown."""
    from huggingface_hub import errors

    try:
        yield
    except errors.HfHubHTTPError as error:
        status = error.response.status_code if error.response is not None else 0
        if status == 401:
            raise UsageError(
                f"{ready.endpoint} does not know the token in HF_TOKEN; make a new one there"
            ) from None
        if status == 403:
            owner = ready.repo.partition("/")[0]
            raise UsageError(
                f"The token in HF_TOKEN may not write for '{owner}'; use one that may"
            ) from error
        raise DataError(
            f"{ready.endpoint} refused {ready.repo} ({status}); run the same command again to go on"
        ) from error
    except (ValueError, RuntimeError) as error:
        # A README whose head is refused, an endpoint that is no hub, a large file that did not arrive.
        reason = " ".join(str(error).split())[:160]
        raise DataError(
            f"{ready.endpoint} did not take {ready.repo}: {reason}; run the same command again to go on"
        ) from error
    except Exception as error:
        if not isinstance(error, OSError | errors.OfflineModeIsEnabled) and not is_connection_fault(error):
            raise
        raise DataError(
            f"{ready.endpoint} cannot be reached ({type(error).__name__}); run the same command again to go on"
        ) from error
