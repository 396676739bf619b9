"""A study in Firefox and WebKit, other engines than the one the other browser tests use."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest

from tests.support.browser_kit import run_apart, run_server
from tests.support.firefox_kit import BrowserTab, open_firefox
from tests.support.study_kit import tiny_study
from tests.support.study_web import build_app, open_served_store
from tests.support.webkit_kit import open_webkit
from vivant_study.store.people import invite


@pytest.mark.full
@pytest.mark.playback
@pytest.mark.parametrize("open_tab", [open_firefox, open_webkit], ids=["firefox", "webkit"])
def test_a_session_in_another_engine(
    tmp_path: Path, open_tab: Callable[[], AbstractAsyncContextManager[BrowserTab]]
) -> None:
    """Videos are watched, comments judged by keyboard, everything saved."""
    loaded = tiny_study(tmp_path / "study", "blind-comments", questions=())
    store = open_served_store(loaded)

    async def walk(address: str, token: str) -> str:
        async with open_tab() as tab:
            await tab.goto(f"{address}/join/{token}")
            await tab.run(
                "[document.querySelector('[name=agree]').click(), document.querySelector('button.main').click()]"
            )
            await tab.wait("!!document.querySelector('form[action$=begin]')")
            await tab.run("document.querySelector('button.main').click()")
            for _ in range(3):
                await tab.wait("!!document.querySelector('.one .strip button')")
                page = await tab.run("document.querySelector('[name=page]').value")
                assert await tab.run("document.getElementById('next').disabled"), "the video comes first"
                # As a person does: press play, and press it again where nothing moves.
                await tab.wait(
                    "(() => { const v = document.querySelector('video'); v.muted = true;"
                    " if (v.paused && !v.ended) v.play().catch(() => {});"
                    " return !document.getElementById('next').disabled; })()"
                )
                for number in range(3):
                    await tab.wait(f"document.querySelector('.counter').textContent === '{number + 1} of 3'")
                    await tab.press("h")
                    await tab.press(str(number))
                await tab.wait("document.getElementById('state').textContent === 'Saved'")
                assert await tab.run("document.documentElement.scrollWidth - innerWidth") <= 1
                await tab.run("document.getElementById('next').click()")
                await tab.wait(f"document.querySelector('[name=page]')?.value !== '{page}'")
            return str(await tab.run("document.querySelector('h1').textContent"))

    with run_server(build_app(loaded, store)) as address:
        assert run_apart(asyncio.run, walk(address, invite(store, 1)[0])) == "Thank you"
        result = list(store.judgements())
    assert [judgement.answer["realism"] for judgement in sorted(result, key=lambda j: j.given)] == [
        0,
        1,
        2,
    ] * 3
    assert {judgement.watched for judgement in result} == {"whole"}
