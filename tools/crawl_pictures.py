"""Draw the pictures of the worked example in docs/mimic-pipeline.md: an invented crawl in TikTok's own form.

FOLDER/crawl gets `videos.jsonl`, `comments.json` and a drawn `ID.mp4` for each video, as a script around TikTokApi
leaves them; FOLDER/w is then built from it by the pipeline's own steps. What FOLDER already holds is used as it is.

    python tools/crawl_pictures.py FOLDER
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from textwrap import shorten

from vivant.benchmarks.mimic.format import iter_items
from vivant_build.mime.video import draw_contact_sheet
from vivant_build.mimic.audit import audit
from vivant_build.mimic.cleaning import clean
from vivant_build.mimic.ingestion import ingest
from vivant_build.mimic.selection import select_videos
from vivant_build.mimic.settings import AuditSettings, PipelineSettings, SelectSettings, TaskSettings
from vivant_build.mimic.split import split_videos
from vivant_build.mimic.tasks import make_tasks
from vivant_build.mimic.topics import make_topics
from vivant_build.mimic.world import WorldPlan
from vivant_build.mimic.world.web_items import write_web_crawl

PICTURES = Path(__file__).resolve().parents[1] / "docs" / "images"
PLAN = WorldPlan(videos=1000, comments=50_000, seed=0)
SETTINGS = PipelineSettings(
    select=SelectSettings(target=80, top={"*": 0.3}),
    tasks=TaskSettings(tasks=("title", "tag", "topic", "comment-match")),
    audit=AuditSettings(practice=200),
)
"""As the page has them."""
_SHOWN = 3


def main(folder: Path) -> None:
    """Make the crawl, build from it, and draw."""
    folder.mkdir(parents=True, exist_ok=True)
    crawl, work = folder / "crawl", folder / "w"
    if not crawl.exists():
        write_web_crawl(crawl, PLAN, render_first=PLAN.videos)
    ingest(work, [crawl], SETTINGS)
    clean(work, SETTINGS)
    make_topics(work, SETTINGS)
    for step in (select_videos, split_videos, make_tasks, audit):
        step(work, SETTINGS)
    titles: dict[str, str] = {}
    topics: dict[str, str] = {}
    for _, item in iter_items(work / "audit"):
        if item.key is not None and item.task in ("title", "topic"):
            (titles if item.task == "title" else topics)[item.video] = item.options[item.key].text
    # Those with a topic first; the font has Latin letters alone.
    shown = sorted(
        (ref for ref in titles if titles[ref].isascii()), key=lambda ref: (ref not in topics, ref)
    )[:_SHOWN]
    draw_contact_sheet(
        [crawl / f"{ref.partition('/')[2]}.mp4" for ref in shown],
        PICTURES / "tiktok-crawl.jpg",
        titles=[f"{shorten(titles[ref], 44, placeholder='…')}\n{topics.get(ref, '')}" for ref in shown],
        frames=6,
        crop=1.0,
    )
    shutil.copy(work / "audit" / "figures" / "videos.svg", PICTURES / "tiktok-crawl-videos.svg")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
