"""Tokenizers of checkpoints without any code of theirs: InternLM's sentencepiece files become fast tokenizers."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from vivant.models.base import ModelError
from vivant.models.transformers_engine import describe_loading_error
from vivant_train.backbones.files import open_checkpoint

_INTERNLM_CLASSES = ("InternLM2Tokenizer", "InternLM2TokenizerFast", "InternLM3Tokenizer")
INTERNLM2_SPECIAL = {
    "<unk>": 0,
    "<s>": 1,
    "</s>": 2,
    "<|plugin|>": 92538,
    "<|interpreter|>": 92539,
    "<|action_end|>": 92540,
    "<|action_start|>": 92541,
    "<|im_end|>": 92542,
    "<|im_start|>": 92543,
}
"""Where InternLM2's own tokenizer has its special tokens. Other converters append some at the end instead."""
_NORMAL, _CONTROL, _USER_DEFINED, _BYTE = 1, 3, 4, 6


class SentencePieceModel(Struct, frozen=True):
    """What a `tokenizer.model` holds."""

    pieces: tuple[tuple[str, float, int], ...]
    """Text, score and kind of each."""
    adds_dummy_prefix: bool


_FORMS = ("tokenizer.json", "tokenizer.model", "vocab.*", "*.model", "*.tiktoken", "tekken.json")
"""Files of which a tokenizer has at least one."""


def load_tokenizer(name: str | Path, *, trust_remote_code: bool = False) -> Any:
    """The tokenizer of a checkpoint, with a padding token and an end."""
    from transformers import AutoTokenizer

    files = open_checkpoint(str(name)) if not _is_finished_model(Path(name)) else None
    folder = files.folder if files else Path(name)
    if not trust_remote_code and not any(path for form in _FORMS for path in folder.glob(form)):
        raise ModelError(
            f"{name} holds no tokenizer (tokenizer.json or tokenizer.model): it is no language model, "
            "or only part of it was downloaded"
        )
    config = _read_json(folder / "tokenizer_config.json")
    try:
        if _needs_conversion(folder, config):
            tokenizer = convert_sentencepiece(folder, config)
        else:
            tokenizer = AutoTokenizer.from_pretrained(str(folder), trust_remote_code=trust_remote_code)
    except (OSError, ValueError, ImportError, KeyError) as error:
        raise ModelError(describe_loading_error(str(name), error)) from error
    if tokenizer.eos_token_id is None:
        raise ModelError(f"The tokenizer of {name} has no end token, so that no answer could end")
    if tokenizer.pad_token_id is None:
        tokenizer.pad_token = tokenizer.eos_token
    return tokenizer


def check_tokenizer(tokenizer: Any, rows: int, name: str, *, chat: bool) -> None:
    """Refuse a tokenizer that does not fit its language model, which has an embedding of so many rows."""
    if len(tokenizer) > rows:
        last = tokenizer.convert_ids_to_tokens(len(tokenizer) - 1)
        raise ModelError(
            f"The tokenizer of {name} has {len(tokenizer)} tokens, its language model a table of {rows}: "
            f"there is no vector for {last}"
        )
    if chat and not tokenizer.chat_template:
        raise ModelError(
            f"The tokenizer of {name} has no chat template; write model.language.chat: false, or use a chat model"
        )


def _is_finished_model(folder: Path) -> bool:
    return folder.is_dir() and not (folder / "config.json").is_file()


def _needs_conversion(folder: Path, config: Mapping[str, Any]) -> bool:
    if (folder / "tokenizer.json").is_file() or not (folder / "tokenizer.model").is_file():
        return False
    return config.get("tokenizer_class") in _INTERNLM_CLASSES


def convert_sentencepiece(folder: Path, config: Mapping[str, Any]) -> Any:
    """A fast tokenizer that cuts text as the sentencepiece file does; special tokens keep the ids they are given."""
    from tokenizers import AddedToken, Tokenizer, decoders, normalizers
    from tokenizers.models import BPE
    from transformers import PreTrainedTokenizerFast

    model = read_sentencepiece(folder / "tokenizer.model")
    vocabulary = {piece: index for index, (piece, _, _) in enumerate(model.pieces)}
    stated = {
        int(index): each["content"] if isinstance(each, Mapping) else str(each)
        for index, each in (config.get("added_tokens_decoder") or {}).items()
    }
    for index, content in stated.items():  # they lie over pieces that are never used
        if content not in vocabulary and index < len(model.pieces):
            vocabulary.pop(model.pieces[index][0], None)
            vocabulary[content] = index
    ranks = {piece: index for index, (piece, _, kind) in enumerate(model.pieces) if kind == _NORMAL}
    tokenizer = Tokenizer(
        BPE(vocabulary, _derive_merges(ranks), unk_token="<unk>", fuse_unk=True, byte_fallback=True)
    )
    steps: list[Any] = [normalizers.Prepend("▁")] if model.adds_dummy_prefix else []
    tokenizer.normalizer = normalizers.Sequence([*steps, normalizers.Replace(" ", "▁")])
    strip = [decoders.Strip(content=" ", left=1)] if model.adds_dummy_prefix else []
    tokenizer.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), *strip]
    )
    special = [p for p, _, kind in model.pieces if kind in (_CONTROL, _USER_DEFINED) and p in vocabulary]
    for content in [*special, *(stated[index] for index in sorted(stated))]:
        tokenizer.add_special_tokens([AddedToken(content, normalized=False, special=True)])
    names = {
        f"{kind}_token": _token_text(config.get(f"{kind}_token")) for kind in ("bos", "eos", "unk", "pad")
    }
    result = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        chat_template=config.get("chat_template") or _read_template(folder),
        **{kind: text for kind, text in names.items() if text},
    )
    _check_special_ids(result, stated, folder)
    return result


def _check_special_ids(tokenizer: Any, stated: Mapping[int, str], folder: Path) -> None:
    """A special token at another id would be learnt as another token: look, do not trust."""
    wanted = {content: index for index, content in stated.items()}
    if len(tokenizer) >= 92544:
        wanted = {**INTERNLM2_SPECIAL, **wanted}
    for content, index in wanted.items():
        real = tokenizer.convert_tokens_to_ids(content)
        if real != index:
            raise ModelError(f"The tokenizer in {folder} lacks {content} at {index}: it has {real}")


def _derive_merges(ranks: Mapping[str, int]) -> list[tuple[str, str]]:
    """The merges that make each piece of two others, in the order of the pieces, as sentencepiece merges."""
    merges: list[tuple[int, int, int, str, str]] = []
    for piece, rank in ranks.items():
        for cut in range(1, len(piece)):
            left, right = piece[:cut], piece[cut:]
            if left in ranks and right in ranks:
                merges.append((rank, ranks[left], ranks[right], left, right))
    return [(left, right) for _, _, _, left, right in sorted(merges)]


# ── the file of sentencepiece: a message of protocol buffers ──


def read_sentencepiece(path: Path) -> SentencePieceModel:
    """The pieces of a `tokenizer.model`. Raises ModelError."""
    pieces: list[tuple[str, float, int]] = []
    prefix = True
    try:
        for field, value in _iter_fields(path.read_bytes()):
            if field == 1 and isinstance(value, bytes):
                pieces.append(_read_piece(value))
            elif field == 3 and isinstance(value, bytes):  # how text is normalised
                prefix = all(v != 0 for f, v in _iter_fields(value) if f == 3)
    except (OSError, IndexError, struct.error, UnicodeDecodeError, ValueError) as error:
        raise ModelError(f"{path} is no sentencepiece file: {error}. Download it again") from error
    if not pieces:
        raise ModelError(f"{path} holds no pieces. Download it again")
    return SentencePieceModel(tuple(pieces), prefix)


def _read_piece(message: bytes) -> tuple[str, float, int]:
    text, score, kind = "", 0.0, _NORMAL
    for field, value in _iter_fields(message):
        if field == 1 and isinstance(value, bytes):
            text = value.decode()
        elif field == 2 and isinstance(value, bytes):
            score = struct.unpack("<f", value)[0]
        elif field == 3 and isinstance(value, int):
            kind = value
    return text, score, kind


def _iter_fields(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Field numbers and values: whole numbers, or bytes."""
    at = 0
    while at < len(message):
        key, at = _read_varint(message, at)
        field, kind = key >> 3, key & 7
        if kind == 0:
            value, at = _read_varint(message, at)
            yield field, value
            continue
        if kind == 2:
            size, at = _read_varint(message, at)
        elif kind in (1, 5):
            size = 8 if kind == 1 else 4
        else:
            raise ValueError(f"field {field} has the unknown kind {kind}")
        if at + size > len(message):
            raise ValueError("it ends too soon")
        yield field, message[at : at + size]
        at += size


def _read_varint(message: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = message[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at


def _read_json(path: Path) -> dict[str, Any]:
    try:
        content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except ValueError as error:
        raise ModelError(f"{path} cannot be read: {error}. Download it again") from error
    return content


def _read_template(folder: Path) -> str | None:
    file = folder / "chat_template.jinja"
    return file.read_text(encoding="utf-8") if file.is_file() else None


def _token_text(value: Any) -> str:
    return str(value.get("content", "")) if isinstance(value, Mapping) else str(value or "")
