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
    near_duplicate: Share = 0.7
    """Estimated Jaccard similarity of runs of three words from which texts count as nearly the same."""
    longest_run: Annotated[int, Meta(ge=3)] = 8
    """A comment with a character more often in a row is spam."""
    pasted: tuple[int, int] = (60, 20)
    """A comment of so many characters whose words stand under so many videos is spam."""
    rules: str = ""
    """A YAML file of content rules; empty for the bundled ones."""
    need_files: bool = False
    """Whether videos without a file are left out."""
    hash_distance: Number = 26
    """Bits of 256 by which the frame hashes of two copies of a video may differ, on average of five frames."""
