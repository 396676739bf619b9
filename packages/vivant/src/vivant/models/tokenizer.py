"""A checkpoint's own tokenizer, to count and cut text as the model will. Needs no torch, and fetches nothing."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

from vivant.core.errors import UsageError
from vivant.core.types import Tokenizer

_FILE = "tokenizer.json"


def load_tokenizer(checkpoint: str, revision: str | None = None) -> Tokenizer | None:
    """The tokenizer in a folder, or of a name on the hub that was fetched before; None where there is none."""
    file = Path(checkpoint) / _FILE if Path(checkpoint).is_dir() else _find_cached(checkpoint, revision)
    if file is None or not file.is_file():
        return None
    from tokenizers import Tokenizer as Words

    try:
        tokenizer = Words.from_file(str(file))
    except Exception as error:  # the library raises nothing narrower
        raise UsageError(f"{file} cannot be read as a tokenizer: {error}") from error

    def pieces(text: str) -> list[str]:
        """By where tokens begin, so that the pieces joined are the text again, spaces and all."""
        begins = [start for start, _ in tokenizer.encode(text, add_special_tokens=False).offsets]
        return (
            [text[a:b] for a, b in pairwise([0, *begins[1:], len(text)])] if begins else [text] * bool(text)
        )

    return pieces


def _find_cached(name: str, revision: str | None) -> Path | None:
    from huggingface_hub import try_to_load_from_cache
    from huggingface_hub.errors import HFValidationError

    try:
        path = try_to_load_from_cache(name, _FILE, revision=revision)
    except HFValidationError:
        return None
    return Path(path) if isinstance(path, str) else None
