"""What can be said of comments without asking anyone: each figure for a model stands beside people's own.

None of them is a score. They show tell-tales: comments longer than people's, always the same opening, few
distinct words, or the description of the video told again.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from statistics import fmean, median

from msgspec import Struct

from vivant.core.randomness import derive_generator
from vivant.metrics.text import normalise_text

_EMOJI = re.compile(
    "[\U0001f1e6-\U0001f1ff\U0001f300-\U0001faff\u2600-\u27bf\u2b05-\u2b07\u2b1b\u2b1c\u2b50\u2b55"
    "\u231a\u231b\u23e9-\u23fa\u203c\u2049\u3030\u303d]"
)
_QUESTION = re.compile("[?？؟⁇⁈‽]")
# Scripts that write no spaces count a character as a word.
_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\u0e00-\u0e7f]|[^\W_]+(?:['’][^\W_]+)*")


class ComparedComment(Struct, frozen=True, kw_only=True):
    """A comment with what it is compared to."""

    text: str
    description: str = ""
    others: tuple[str, ...] = ()
    """People's comments under the same video, itself left out."""
    spare: bool = False
    """One of `others` is to be left out in turn, so that a model is compared with as many as a person is."""


class TextFigures(Struct, frozen=True, kw_only=True):
    """Means over the comments of one source; None where there is nothing to compare with."""

    n: int
    characters: float
    """Median."""
    words: float
    """Median."""
    emoji: float
    """Share with at least one."""
    questions: float
    """Share that ask something."""
    repeated: float
    """Share that this source wrote, word for word, more than once."""
    opening: float
    """Share that begin with this source's most frequent first two words."""
    distinct_1: float
    """Distinct words as a share of all words."""
    distinct_2: float
    """Distinct pairs of neighbouring words as a share of all pairs."""
    to_description: float | None
    """Cosine to the video's description (MiniLM)."""
    to_human: float | None
    """Cosine to the nearest of people's other comments under the same video."""


def split_words(text: str) -> list[str]:
    """Lower-case words; in scripts without spaces, characters."""
    return _WORD.findall(text.casefold())


def has_emoji(text: str) -> bool:
    """Whether any pictograph stands in it."""
    return bool(_EMOJI.search(text))


def count_emoji(text: str) -> int:
    """How many pictographs stand in it."""
    return len(_EMOJI.findall(text))


def has_question(text: str) -> bool:
    """Whether it has a question mark, in any script."""
    return bool(_QUESTION.search(text))


class TextVectors:
    """MiniLM vectors of every text that several sources need, each computed once."""

    def __init__(self, sources: Iterable[Sequence[ComparedComment]]) -> None:
        from vivant.metrics.similarity import load_encoder

        self._indices: dict[str, int] = {}
        for comments in sources:
            for comment in comments:
                for text in (comment.text, comment.description, *comment.others):
                    self._indices.setdefault(text, len(self._indices))
        self._vectors = load_encoder().encode(list(self._indices))

    def compute_cosines(self, text: str, others: Sequence[str]) -> list[float]:
        """How near a text is to each of the others, the nearest first."""
        vector = self._vectors[self._indices[text]]
        cosines = self._vectors[[self._indices[other] for other in others]] @ vector
        return sorted(map(float, cosines), reverse=True)


def compute_text_figures(
    comments: Sequence[ComparedComment], vectors: TextVectors | None = None
) -> TextFigures | None:
    """The figures of one source; without `vectors`, those that need no model."""
    if not comments:
        return None
    tokens = [split_words(comment.text) for comment in comments]
    plain_texts = Counter(normalise_text(comment.text) for comment in comments)
    openings = Counter(" ".join(each[:2]) for each in tokens if each)
    return TextFigures(
        n=len(comments),
        characters=float(median(len(comment.text) for comment in comments)),
        words=float(median(map(len, tokens))),
        emoji=fmean(has_emoji(comment.text) for comment in comments),
        questions=fmean(has_question(comment.text) for comment in comments),
        repeated=sum(count for count in plain_texts.values() if count > 1) / len(comments),
        opening=max(openings.values(), default=0) / len(comments),
        distinct_1=_distinct_share(tokens, 1),
        distinct_2=_distinct_share(tokens, 2),
        to_description=_compare_to_description(comments, vectors) if vectors else None,
        to_human=_compare_to_human(comments, vectors) if vectors else None,
    )


def pick_one_per_video(comments: Sequence[Sequence[ComparedComment]], seed: int = 0) -> list[ComparedComment]:
    """One comment of each video by seed: figures of variety mean nothing between sets of unequal size."""
    chance = derive_generator(seed, "mimic", "one human comment a video")
    return [group[chance.randrange(len(group))] for group in comments if group]


def pair_human_comments(description: str, texts: Sequence[str]) -> list[ComparedComment]:
    """Each of the comments of a video, with the others to compare it to."""
    return [
        ComparedComment(text=text, description=description, others=(*texts[:index], *texts[index + 1 :]))
        for index, text in enumerate(texts)
    ]


def _distinct_share(tokens: Sequence[list[str]], size: int) -> float:
    grams = [gram for each in tokens for gram in _iter_ngrams(each, size)]
    return len(set(grams)) / len(grams) if grams else 0.0


def _iter_ngrams(tokens: list[str], size: int) -> Iterator[tuple[str, ...]]:
    return zip(*(tokens[start:] for start in range(size)), strict=False)


def _compare_to_description(comments: Sequence[ComparedComment], vectors: TextVectors) -> float | None:
    cosines = [
        vectors.compute_cosines(c.text, (c.description,))[0] for c in comments if c.description.strip()
    ]
    return fmean(cosines) if cosines else None


def _compare_to_human(comments: Sequence[ComparedComment], vectors: TextVectors) -> float | None:
    cosines: list[float] = []
    for comment in comments:
        count = len(comment.others)
        if count < (2 if comment.spare else 1):
            continue
        nearest = vectors.compute_cosines(comment.text, comment.others)
        # With one to spare: the mean of the nearest over all ways to leave one out.
        cosines.append(((count - 1) * nearest[0] + nearest[1]) / count if comment.spare else nearest[0])
    return fmean(cosines) if cosines else None
