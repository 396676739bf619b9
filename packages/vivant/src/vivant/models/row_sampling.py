"""Sampling for batches: every reply is drawn by its own request's seed, whatever else is in the batch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from vivant.core.types import Request


class RowSampler:
    """A logits processor of the transformers library that leaves each row the one token which its seed draws.

    Args:
        requests: of the rows in order; they share their decoding.
    """

    def __init__(self, requests: Sequence[Request]) -> None:
        import torch

        self._torch = torch
        self._temperature = requests[0].decoding.temperature or 1.0
        self._top_p = requests[0].decoding.top_p or 1.0
        self._generators = [torch.Generator().manual_seed(request.seed % 2**63) for request in requests]

    def __call__(self, _: Any, scores: Any) -> Any:
        """[rows, vocabulary] → the same with one finite score in each row."""
        torch = self._torch
        logits = scores.float() / self._temperature
        if self._top_p < 1:
            ordered, places = logits.sort(dim=-1, descending=True)
            shares = ordered.softmax(dim=-1)
            before = shares.cumsum(dim=-1) - shares
            logits = logits.scatter(-1, places, ordered.masked_fill(before >= self._top_p, -torch.inf))
        # The largest of logits with Gumbel noise is a draw by their softmax.
        draws = torch.stack([torch.rand(logits.shape[1], generator=each) for each in self._generators])
        noise = -(-draws.clamp(min=1e-30).log()).log()
        chosen = (logits + noise.to(logits.device)).argmax(dim=-1, keepdim=True)
        return torch.full_like(scores, -torch.inf).scatter(-1, chosen, 0.0)
