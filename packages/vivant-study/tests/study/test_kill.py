"""`kill -9` while people answer: whatever a browser was told is saved is there after the restart."""

from __future__ import annotations

import http.client
import json
import re
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

from tests.support.study_kit import tiny_study
from tests.support.study_process import StudyProcess
from vivant_study.store import open_store
from vivant_study.store.people import invite, make_annotator_name

PEOPLE = 5
PATIENCE = 600
"""Seconds after which something hangs."""


class Browser:
    """Saves one answer after the other, as fast as they are acknowledged."""

    def __init__(self, address: str, token: str) -> None:
        self._address, self.token = address, token
        self._opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
        self._page = self._ask(f"/join/{token}")
        for step, fields in (("consent", {"agree": "yes"}), ("about", {"about.age": "0"}), ("begin", {})):
            self._page = self._ask(f"/study/{step}", {"form": self._field("form"), **fields})
        self.acknowledged = self.sent = -1
        self.count = 0

    def _ask(self, path: str, fields: dict[str, str] | None = None) -> str:
        body = None if fields is None else urllib.parse.urlencode(fields).encode()
        with self._opener.open(self._address + path, body, timeout=PATIENCE) as answer:
            return str(answer.read().decode())

    def _field(self, name: str) -> str:
        result = re.search(rf'name="{name}" value="([^"]+)"', self._page)
        assert result is not None, self._page
        return result.group(1)

    def answer(self) -> None:
        """Until the server is gone."""
        form, page = self._field("form"), self._field("page")
        while True:
            self.sent = (self.sent + 1) % 4
            body = {"form": form, "page": page, "fields": {"choice": str(self.sent)}}
            headers = {"Content-Type": "application/json", "Accept": "application/json"}
            request = urllib.request.Request(
                f"{self._address}/study/save", json.dumps(body).encode(), headers
            )
            try:
                with self._opener.open(request, timeout=PATIENCE) as answer:
                    if json.load(answer) == {"saved": True}:
                        self.acknowledged = self.sent
                        self.count += 1
            except urllib.error.HTTPError as error:
                error.close()
                if error.code != 429:
                    raise
                # Faster than any person; the others may be behind.
                time.sleep(0.2)
            except (OSError, http.client.HTTPException):
                return


def test_every_acknowledged_answer_survives(tmp_path: Path, url: str | None) -> None:
    study = tiny_study(tmp_path / "study", count=3, judgements_per_item=PEOPLE, watch_whole=False)
    with open_store(study.path, url) as store:
        tokens = invite(store, PEOPLE)
    with StudyProcess(study.path, url) as server:
        browsers = [Browser(server.address, token) for token in tokens]
        threads = [threading.Thread(target=browser.answer) for browser in browsers]
        for thread in threads:
            thread.start()
        while min(browser.count for browser in browsers) < 3:
            assert all(thread.is_alive() for thread in threads)
            time.sleep(0.01)
        server.kill()
        for thread in threads:
            thread.join()
        server.start()
        with open_store(study.path, url) as store:
            kept = {judgement.annotator: judgement for judgement in store.judgements()}
            assert len(list(store.judgements())) == len(kept) == PEOPLE
            for browser in browsers:
                judgement = kept[make_annotator_name(store.secret, "link", browser.token)]
                place = judgement.shown.index(judgement.answer)
                # The one under way may have arrived before the kill, unheard.
                assert place in (browser.acknowledged, browser.sent)
                assert judgement.revised >= browser.count - 1
