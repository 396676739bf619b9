"""The columns of what ingest and clean write."""

from __future__ import annotations

import pyarrow as pa

_TIME = pa.timestamp("us")

VIDEOS = pa.schema(
    [
        ("ref", pa.string()),  # platform/id
        ("platform", pa.string()),
        ("id", pa.string()),
        ("uploader", pa.string()),  # a hash with the work folder's salt
        ("title", pa.string()),
        ("description", pa.string()),
        ("tags", pa.list_(pa.string())),
        ("topics", pa.list_(pa.string())),
        ("category", pa.string()),
        ("language", pa.string()),  # ISO 639, '' where unknown
        ("uploaded", _TIME),  # UTC, null where unknown; so are all figures below
        ("duration", pa.float64()),
        ("width", pa.int32()),
        ("height", pa.int32()),
        ("views", pa.int64()),
        ("likes", pa.int64()),
        ("comment_count", pa.int64()),
        ("licence", pa.string()),
        ("source", pa.string()),
        ("file", pa.string()),  # relative to the media root, '' where there is none
    ]
)

COMMENTS = pa.schema(
    [
        ("ref", pa.string()),  # the video's
        ("id", pa.string()),
        ("text", pa.string()),
        ("likes", pa.int64()),  # null where unknown
        ("time", _TIME),
        ("reply_to", pa.string()),  # '' for a comment that stands by itself
    ]
)

QUARANTINE = pa.schema(
    [("step", pa.string()), ("source", pa.string()), ("item", pa.string()), ("reason", pa.string())]
)

CLEAN_VIDEOS = VIDEOS.append(pa.field("dup_group", pa.int64()))
CLEAN_COMMENTS = COMMENTS.append(pa.field("language", pa.string()))
