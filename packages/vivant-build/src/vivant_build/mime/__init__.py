"""Making MIME: mimed motions on dressed bodies, before backgrounds, from any angle, as videos.

Motions come from choreographies (`perform`) or from BVH files (`read_bvh`); `render_video` turns one into a
video, `build` turns a plan (`load_plan`) into an edition with its metadata; `MINI` is the bundled one's plan.
"""

from __future__ import annotations

from vivant_build.mime.bundled_characters import CHARACTERS, make_character
from vivant_build.mime.bvh import write_bvh
from vivant_build.mime.camera import Camera
from vivant_build.mime.characters import Character
from vivant_build.mime.choreography import ACTIONS, Action, perform
from vivant_build.mime.edition import MINI, Edition, read_edition, stage
from vivant_build.mime.jobs import build, run_jobs
from vivant_build.mime.motion import Motion
from vivant_build.mime.plan import VARIANTS, plan_shots
from vivant_build.mime.plan_file import Specification, load_plan
from vivant_build.mime.rasterizer import Painter
from vivant_build.mime.renderers import Performance, Renderer, find_renderer
from vivant_build.mime.retarget import read_bvh
from vivant_build.mime.scenes import SCENES, draw_background, read_background
from vivant_build.mime.take import Variation, vary
from vivant_build.mime.video import draw_contact_sheet, encode, render_video

__all__ = [
    "ACTIONS",
    "CHARACTERS",
    "MINI",
    "SCENES",
    "VARIANTS",
    "Action",
    "Camera",
    "Character",
    "Edition",
    "Motion",
    "Painter",
    "Performance",
    "Renderer",
    "Specification",
    "Variation",
    "build",
    "draw_background",
    "draw_contact_sheet",
    "encode",
    "find_renderer",
    "load_plan",
    "make_character",
    "perform",
    "plan_shots",
    "read_background",
    "read_bvh",
    "read_edition",
    "render_video",
    "run_jobs",
    "stage",
    "vary",
    "write_bvh",
]
