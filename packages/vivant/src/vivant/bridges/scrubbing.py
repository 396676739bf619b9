"""What must not be published: keys, and paths of this machine. Removed from every text, then looked for again."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from vivant.core.errors import DataError

KEY = "[key removed]"
PATH = "[path]"
_KEYS = re.compile(
    r"sk-[A-Za-z0-9_-]{16,}|hf_[A-Za-z0-9]{20,}|AIza[A-Za-z0-9_-]{30,}|gsk_[A-Za-z0-9]{20,}|xai-[A-Za-z0-9]{20,}"
    r"|AKIA[A-Z0-9]{16}|ghp_[A-Za-z0-9]{30,}|(?<=Bearer )[A-Za-z0-9._-]{16,}|(?<=[?&]key=)[A-Za-z0-9_-]{16,}"
)
_SECRET_NAME = re.compile(r"(_KEY|_TOKEN|_SECRET|_PASSWORD)$")
_LEAST_SECRET = 8


class Scrubber:
    """Knows the secrets and folders of this process, and removes them from texts and values."""

    def __init__(self, folders: Iterable[str | Path] = ()) -> None:
        self.secrets = sorted(
            {v for n, v in os.environ.items() if _SECRET_NAME.search(n) and len(v) >= _LEAST_SECRET},
            key=len,
            reverse=True,
        )
        known = {str(Path.home()), str(Path.cwd()), *(str(folder) for folder in folders)}
        # The root of the file system, or a folder right below it, is no secret, and stands in many texts.
        self.folders = sorted((f.rstrip("/") for f in known if len(Path(f).parts) > 2), key=len, reverse=True)
        own = str(Path.home()).rstrip("/")
        if len(Path(own).parts) == 2 and own not in self.folders:
            self.folders.append(own)

    def clean(self, value: Any) -> Any:
        """A value of JSON without secrets and local paths."""
        if isinstance(value, str):
            return self.clean_text(value)
        if isinstance(value, dict):
            return {self.clean(key): self.clean(each) for key, each in value.items()}
        return [self.clean(each) for each in value] if isinstance(value, list | tuple) else value

    def clean_text(self, text: str) -> str:
        """A text without secrets and local paths."""
        for secret in self.secrets:
            text = text.replace(secret, KEY)
        text = _KEYS.sub(KEY, text)
        for folder in self.folders:
            if folder in text:
                text = re.sub(rf"{re.escape(folder)}(?![\w.-])", PATH, text)
        return text

    def find(self, text: str) -> str:
        """What should not be in a text, without showing it; empty where nothing is."""
        if any(secret in text for secret in self.secrets) or _KEYS.search(text):
            return "a key"
        for folder in self.folders:
            if re.search(rf"{re.escape(folder)}(?![\w.-])", text):
                return "a path of this machine"
        return ""

    def check_folder(self, folder: Path) -> None:
        """Look through all text files; whatever is found stops the publication."""
        for path in sorted(folder.rglob("*")):
            if path.is_file() and path.suffix in (".json", ".jsonl", ".md", ".yaml", ".txt", ".csv"):
                problem = self.find(path.read_text(encoding="utf-8"))
                if problem:
                    raise DataError(f"{path.name} holds {problem}; nothing was published")
