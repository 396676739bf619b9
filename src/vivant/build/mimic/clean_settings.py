"""Parameters of the step clean."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

Share = Annotated[float, Meta(ge=0, le=1)]
Number = Annotated[int, Meta(ge=0)]


class Clean(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is left out, and when two things are the same."""

    languages: tuple[str, ...] = ()
    """ISO 639 codes of videos to keep; empty for all."""
    shortest: Annotated[float, Meta(ge=0)] = 1.0
    """Seconds."""
    longest: Annotated[float, Meta(ge=0)] = 3600.0
    """Seconds."""
    title_characters: tuple[int, int] = (3, 300)
    comment_characters: tuple[int, int] = (2, 500)
    fewest_comments: Number = 5
    """Comments by themselves (no replies) that a video must keep after cleaning."""
    near_duplicate: Share = 0.8
    """Estimated Jaccard similarity of word shingles from which texts count as the same."""
    rules: str = ""
    """A YAML file of content rules, beside the settings; empty for the bundled ones."""
    hash_distance: Number = 6
    """Bits of 64 by which the frame hashes of two copies of a video may differ."""
