"""Addresses of pages, files and pictures: those of a server. `export.py` has those of a folder of files."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import quote, urlencode


class Links:
    """Addresses as templates write them; an empty one is not linked."""

    is_export = False

    def static(self, name: str) -> str:
        """A script or a style sheet."""
        return f"/static/{name}"

    def home(self) -> str:
        """The matrix of scores."""
        return "/"

    def runs(self) -> str:
        """The list of runs."""
        return "/runs"

    def run(self, rid: str, query: str = "") -> str:
        """The samples of a run."""
        return f"/run/{quote(rid)}{'?' if query else ''}{query}"

    def breakdown(self, rid: str, task: str = "") -> str:
        """Where a run is right and where it is not."""
        return f"/run/{quote(rid)}/breakdown{'?' + urlencode({'task': task}) if task else ''}"

    def sample(self, rid: str, key: str, query: str = "") -> str:
        """One sample, with the filter that it was found by."""
        return f"/run/{quote(rid)}/sample?{query}{'&' if query else ''}{urlencode({'key': key})}"

    def compare(self, rids: Sequence[str], **params: str | int) -> str:
        """Several runs on the same samples."""
        return f"/compare?{_runs_query(rids, params)}"

    def compare_sample(self, rids: Sequence[str], key: str) -> str:
        """One sample in several runs."""
        return f"/compare/sample?{_runs_query(rids, {'key': key})}"

    def list_comparisons(self) -> list[tuple[list[str], str]]:
        """Comparisons that are all there are, with the runs of each; a server makes any."""
        return []

    def text(self, rid: str, key: str, part: str) -> str:
        """A long text, not cut."""
        return f"/run/{quote(rid)}/text?{urlencode({'key': key, 'part': part})}"

    def media(self, rid: str, key: str, index: int) -> str:
        """A file that a sample names."""
        return f"/media/{quote(rid)}/{index}?{urlencode({'key': key})}"

    def sent_picture(self, rid: str, key: str, index: int) -> str:
        """A picture that the model was sent."""
        return f"/seen/{quote(rid)}/{index}?{urlencode({'key': key})}"

    def state(self, rids: Sequence[str] = ()) -> str:
        """What a page asks to know whether something is new; without runs, of all of them."""
        return f"/state?{_runs_query(rids, {})}"


def _runs_query(rids: Sequence[str], params: dict[str, str | int]) -> str:
    pairs: list[tuple[str, str | int]] = [("run", rid) for rid in rids]
    return urlencode(pairs + [(name, value) for name, value in params.items() if value != ""])
