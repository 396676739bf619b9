"""Second pass over comments: those of one video beside each other."""

from __future__ import annotations

import io
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
from msgspec import Struct
from numpy.typing import NDArray

from vivant.core.errors import DataError
from vivant_build.mimic.cleaning.comment_partitions import DEALT, LEFT, NO_LETTERS
from vivant_build.mimic.cleaning.languages import load_detector
from vivant_build.mimic.cleaning.minhash import compute_signatures, group_near_duplicates
from vivant_build.mimic.cleaning.tokens import U64, tokenize
from vivant_build.mimic.cleaning.videos import LATIN
from vivant_build.mimic.schema import CLEAN_COMMENTS
from vivant_build.mimic.settings import CleanSettings
from vivant_build.part_store import PartStore

_LONG = 8
"""Words from which near copies are looked for: shorter ones are alike by nature."""
_BANDS = 8
_BATCH = 20_000
GONE = "its video was left out"
PASTED = "spam: the same text under many videos"
SAME = "the same words under one video"
NEARLY = "nearly the same words under one video"
FEW = "its video has too few comments"


KEPT_VIDEOS = f"{DEALT}/videos.npz"
"""The videos that stay so far: `hashes` in order, and `codes` of their languages."""
PASTED_KEYS = f"{DEALT}/pasted.npy"
"""The keys of texts that stand under too many videos, in order."""


class ThreadJob(Struct, frozen=True):
    """What the second pass needs to know."""

    store: str
    """Holds KEPT_VIDEOS and PASTED_KEYS."""
    settings: CleanSettings
    inputs: str
    """A digest of KEPT_VIDEOS and PASTED_KEYS: a part that was done with others is done again."""


class ThreadReport(Struct):
    """What became of one part."""

    kept: int = 0
    left: dict[str, int] = {}
    inputs: str = ""


def clean_threads(number: int, job: ThreadJob) -> ThreadReport:
    """Second pass over one part; one that was done before from the same is not done again."""
    store = PartStore(job.store)
    done = f"{DEALT}/part-{number:04d}.json"
    before = store.read_report(done, ThreadReport)
    if before is not None and before.inputs == job.inputs:
        return before
    table = store.read_tables(f"{DEALT}/{number:04d}")
    report = ThreadReport() if table is None else _clean_table(table.combine_chunks(), number, job, store)
    report.inputs = job.inputs
    store.write(done, msgspec.json.encode(report))
    return report


def _load(store: PartStore, name: str) -> Any:
    content = store.read(name)
    if content is None:
        raise DataError(f"{store.location.partition('?')[0]}/{name} is gone; run the step again with --force")
    return np.load(io.BytesIO(content))


def _clean_table(table: pa.Table, number: int, job: ThreadJob, store: PartStore) -> ThreadReport:
    video = table.column("video").to_numpy()
    with _load(store, KEPT_VIDEOS) as stored:
        hashes, codes = stored["hashes"], stored["codes"]
    index = np.minimum(np.searchsorted(hashes, video), max(len(hashes) - 1, 0))
    stays = hashes[index] == video if len(hashes) else np.zeros(len(video), bool)
    reason = np.zeros(len(table), np.int64)
    reasons = ("", GONE, PASTED, SAME, NEARLY, FEW)
    reason[~stays] = 1
    pasted = _load(store, PASTED_KEYS)
    if len(pasted):
        key = table.column("key").to_numpy()
        long = table.column("long").to_numpy(zero_copy_only=False)
        at = np.minimum(np.searchsorted(pasted, key), len(pasted) - 1)
        reason[(pasted[at] == key) & long & (reason == 0)] = 2
    likes = table.column("likes").fill_null(-1).to_numpy()
    _mark_same(reason, table, video, likes)
    _mark_nearly(reason, table, video, likes, job.settings)
    _mark_few(reason, table, video, job.settings.fewest_comments)

    removed = np.flatnonzero(reason)
    names = pa.array(reasons).take(pa.array(reason[removed]))
    lost = pa.table({"ref": table.column("ref").take(pa.array(removed)), "reason": names})
    counted = lost.group_by(["ref", "reason"]).aggregate([([], "count_all")])
    store.write_table(f"{LEFT}/part-{number:04d}.parquet", counted)
    good = np.flatnonzero(reason == 0)
    order = good[np.argsort(video[good], kind="stable")]
    kept = table.take(pa.array(order))
    language = _name_languages(kept.column("code").to_numpy(), codes[index[order]] if len(hashes) else order)
    cleaned = kept.drop_columns(["code", "key", "words", "video", "long"]).append_column("language", language)
    store.write_table(
        f"comments/{number:04d}.parquet",
        cleaned.cast(CLEAN_COMMENTS),
        compression="zstd",
        compression_level=1,
        use_dictionary=["ref", "language", "reply_to"],
    )
    reasons_left = {
        reasons[code]: int(count) for code, count in enumerate(np.bincount(reason)) if code and count
    }
    return ThreadReport(kept=len(kept), left=reasons_left)


def _mark_same(reason: Any, table: pa.Table, video: U64, likes: Any) -> None:
    """Of comments with the same words the most-liked stays."""
    rows = np.flatnonzero(reason == 0)
    key = table.column("key").to_numpy()[rows]
    order = np.lexsort((-likes[rows], key, video[rows]))
    again = (key[order][1:] == key[order][:-1]) & (video[rows][order][1:] == video[rows][order][:-1])
    reason[rows[order][1:][again]] = 3


def _mark_nearly(reason: Any, table: pa.Table, video: U64, likes: Any, settings: CleanSettings) -> None:
    rows = np.flatnonzero((reason == 0) & (table.column("words").to_numpy() >= _LONG))
    if not len(rows):
        return
    # The most-liked first, so that it is the one that stays.
    rows = rows[np.argsort(-likes[rows], kind="stable")]
    column = table.column("text")
    signatures = np.concatenate(
        [
            compute_signatures(
                tokenize(column.take(pa.array(rows[start : start + _BATCH])).combine_chunks()), _BANDS
            )
            for start in range(0, len(rows), _BATCH)
        ]
    )
    first = group_near_duplicates(signatures, np.ones(len(rows), bool), settings.near_duplicate, video[rows])
    reason[rows[first != np.arange(len(rows))]] = 4


def _mark_few(reason: Any, table: pa.Table, video: U64, fewest: int) -> None:
    good = np.flatnonzero(reason == 0)
    if not len(good):
        return
    top = (table.column("reply_to").to_numpy(zero_copy_only=False) == "")[good]
    _, number = np.unique(video[good], return_inverse=True)
    enough = np.bincount(number, top) >= fewest
    reason[good[~enough[number]]] = 5


def _name_languages(code: NDArray[np.uint8], of_video: NDArray[Any]) -> pa.Array:
    """Names of languages; where Latin letters say nothing, the video's own language if it is written in them."""
    names = load_detector().languages
    chosen = code.astype(np.int64)
    latin = np.isin(np.array(names)[of_video], LATIN) if len(of_video) else np.zeros(0, bool)
    chosen = np.where((chosen == 0) & latin, of_video, chosen)
    chosen[code == NO_LETTERS] = 0
    return pa.array(names).take(pa.array(chosen))
