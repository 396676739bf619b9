"""Making MIME: mimed motions on capsule bodies, before backgrounds, from any angle, as videos.

Motions come from choreographies (`perform`) or from BVH files (`read_bvh`); `render_video` turns one into a
video, `build` turns a specification into an edition with its metadata, `build_mini` makes the bundled one.
"""

from __future__ import annotations

from vivant.build.mime.avatars import Avatar
from vivant.build.mime.bodies import AVATARS, make_avatar
from vivant.build.mime.bvh import write_bvh
from vivant.build.mime.camera import Camera
from vivant.build.mime.edition import MINI, Specification, build, build_mini, stage
from vivant.build.mime.motion import Motion
from vivant.build.mime.moves import ACTIONS, Action, perform
from vivant.build.mime.plan import VARIANTS, plan_shots
from vivant.build.mime.render import Renderer
from vivant.build.mime.retarget import read_bvh
from vivant.build.mime.scenes import SCENES, draw_background, read_background
from vivant.build.mime.take import Variation, vary
from vivant.build.mime.video import contact_sheet, encode, render_video

__all__ = [
    "ACTIONS",
    "AVATARS",
    "MINI",
    "SCENES",
    "VARIANTS",
    "Action",
    "Avatar",
    "Camera",
    "Motion",
    "Renderer",
    "Specification",
    "Variation",
    "build",
    "build_mini",
    "contact_sheet",
    "draw_background",
    "encode",
    "make_avatar",
    "perform",
    "plan_shots",
    "read_background",
    "read_bvh",
    "render_video",
    "stage",
    "vary",
    "write_bvh",
]
