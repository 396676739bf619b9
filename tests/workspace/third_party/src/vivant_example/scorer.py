from collections.abc import Sequence


def score_first_word(reply: str, accepted: Sequence[str]) -> float:
    return float(any(reply.lower().startswith(answer.lower()) for answer in accepted))
