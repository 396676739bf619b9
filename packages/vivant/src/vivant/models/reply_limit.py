"""The limit on a reply where a server allows less than the room for thoughts asks for.

A refusal of the limit says what would do. What holds for every request (the most that a model writes) is remembered.
What a window has left beside one request is not: the next request may be shorter and have more room.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from vivant.models.server_errors import RequestRefusedError
from vivant.models.thinking import Thinking, find_largest_limit

_TRIES = 4
"""A server that refuses the limit on a reply is asked so often with a lower one."""


class ReplyLimit:
    """The highest limit on a reply that a server allows, as far as it has said so."""

    def __init__(self, thinking: Thinking | None) -> None:
        self._adjusts = thinking is not None and thinking.room > 0 and not thinking.is_budget
        self._most: int | None = None

    async def send(self, post: Callable[[int | None], Awaitable[Any]], answer: int | None) -> Any:
        """Send a request, again with a lower limit where the server refuses its limit.

        Args:
            post: sends the request with a limit on the reply of at most this; None sends its own.
            answer: the answer's own limit, below which nothing is tried.
        """
        limit = self._most
        for _ in range(_TRIES):
            try:
                return await post(limit)
            except RequestRefusedError as refused:
                largest = find_largest_limit(str(refused), answer) if self._adjusts and answer else None
                if largest is None:
                    raise
                limit = largest.tokens
                if largest.lasting:
                    self._most = limit
        return await post(limit)
