"""`vivant build mime render` whose workers finish some videos, and hold each further one before it is whole."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any
from unittest.mock import patch

from vivant.cli.main import main
from vivant_build.mime import jobs, local_executor
from vivant_build.mime.video_check import examine_video

FINISHED = 4


def work(task: tuple[jobs.RenderJob, Path]) -> Any:
    """Do a job, or never finish it."""
    job, out = task

    def hold(part: Path, **expected: Any) -> list[str]:
        while len(list(out.glob("[!.]*.mp4"))) >= FINISHED:
            time.sleep(0.05)
        return examine_video(part, **expected)

    with patch.object(jobs, "examine_video", hold):
        return jobs.do_job(job, out)


def run(*arguments: str) -> None:
    """Run the command with workers that hold."""
    local_executor._work = work
    sys.argv = ["vivant", "build", "mime", "render", *arguments]
    main()
