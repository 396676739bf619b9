"""The notebooks of the documents run in a real kernel, from their first cell to their last; so does Ctrl-C."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from tests.support.helpers import questions

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))
pytestmark = [
    # Of the kernel's client: sockets that it closes late, and a notice on encryption.
    pytest.mark.filterwarnings(
        "ignore::ResourceWarning", "ignore::DeprecationWarning", "ignore::RuntimeWarning"
    ),
]


@pytest.fixture(autouse=True)
def _sources(monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel imports what is tested here."""
    paths = [str(ROOT / "packages" / "vivant" / "src"), os.environ.get("PYTHONPATH", "")]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, paths)))


def _execute(notebook: Any, folder: Path) -> None:
    from nbclient import NotebookClient

    client = NotebookClient(notebook, kernel_name="python3", timeout=600)
    client.resources = {"metadata": {"path": str(folder)}}
    client.execute()


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_run_to_their_end(path: Path, tmp_path: Path) -> None:
    pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    import nbformat

    notebook = nbformat.read(path, as_version=4)
    assert not any(cell.get("outputs") for cell in notebook.cells), "outputs are not kept in the repository"
    _execute(notebook, tmp_path)
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    first = cells[0]
    assert len([line for line in first.source.splitlines() if line.strip()]) <= 3
    progress, shown = first.outputs
    assert progress.output_type == "display_data"
    assert progress.data["text/plain"].startswith("40/40 samples"), "one line, with its final figures"
    assert "<table>" in shown.data["text/html"]
    assert len(str(shown.data)) < 20_000
    assert not [output for cell in cells for output in cell.outputs if output.output_type == "stream"]


SLOW = """
import asyncio
class M:
    async def generate(self, request):
        await asyncio.sleep(0.2)
        return "A"
"""
CALL = (
    "import vivant; run = vivant.evaluate('mine.jsonl', 'slow.py:M', out='run', concurrency=1, cache='off')"
)


def test_interrupting_a_cell_keeps_what_is_done_and_the_next_one_resumes(tmp_path: Path) -> None:
    pytest.importorskip("ipykernel")
    from jupyter_client.manager import start_new_kernel

    questions(tmp_path, 12, pictures=False)
    (tmp_path / "slow.py").write_text(SLOW)
    manager, client = start_new_kernel(cwd=str(tmp_path))
    try:
        # Without this, the kernel also drops cells that arrive shortly after one that failed.
        request = client.execute(CALL, stop_on_error=False)
        while True:  # the line of progress has counted a sample: the run is under way
            message = client.get_iopub_msg(timeout=600)
            if message["msg_type"] == "update_display_data":
                break
        manager.interrupt_kernel()
        reply = _wait_for_reply(client, request)
        assert (reply["status"], reply.get("ename")) == ("error", "KeyboardInterrupt")
        done = len((tmp_path / "run" / "log.jsonl").read_text().splitlines())
        assert 0 < done < 12
        assert (
            _wait_for_reply(client, client.execute(CALL + "; assert len(run.records()) == 12"))["status"]
            == "ok"
        )
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


def _wait_for_reply(client: Any, request: str) -> Any:
    while True:
        message = client.get_shell_msg(timeout=600)
        if message["parent_header"].get("msg_id") == request:
            return message["content"]
