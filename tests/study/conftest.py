"""What the tests of studies share: chance that is the same each time."""

from __future__ import annotations

import random
import secrets

import pytest


@pytest.fixture(autouse=True)
def _same_secrets(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a test draw the same secrets in every run: who gets which items, and in which order, follows from them."""
    generator = random.Random(request.node.nodeid)
    monkeypatch.setattr(secrets, "token_bytes", lambda count=32: generator.randbytes(count or 32))
