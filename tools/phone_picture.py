"""Draw the picture of the phone recording in docs/make-your-own-mime.md: videos, what MediaPipe sees, and the mimes.

The videos are rendered, since no person's may be shown; a phone's would go the same way. MediaPipe wants libraries of
its own, so ESTIMATOR is the Python of another environment, in which `pip install mediapipe==0.10.21` was run: that
version brings its weights.

    python tools/phone_picture.py ESTIMATOR docs/images/mime-phone.jpg
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw

from vivant_build.mime import ACTIONS, perform, render_video
from vivant_build.mime.clean import clean_file
from vivant_build.mime.rasterizer import Picture
from vivant_build.mime.video import read_frames, strip

SHOWN = (("JumpingJacks01", "worker", "gym", 0.0), ("GolfSwing001", "elder", "golf_course", 20.0))
"""Action, body, background and angle of each video."""
FPS, SIZE, MOMENTS, HEIGHT = 15.0, (640, 480), 8, 130
BONES = (
    *((11, 12), (11, 13), (13, 15), (12, 14), (14, 16), (11, 23), (12, 24), (23, 24)),
    *((23, 25), (25, 27), (27, 31), (24, 26), (26, 28), (28, 32)),
)
"""Pairs of MediaPipe's landmarks with a limb between them."""
WATCH = """
import json, sys
import cv2, mediapipe
video = cv2.VideoCapture(sys.argv[1])
pose = mediapipe.solutions.pose.Pose(model_complexity=1)
frames = []
while True:
    there, picture = video.read()
    if not there:
        break
    seen = pose.process(cv2.cvtColor(picture, cv2.COLOR_BGR2RGB))
    frames.append({
        name: [[p.x, p.y, p.z, p.visibility] for p in getattr(seen, name).landmark] if getattr(seen, name) else []
        for name in ("pose_world_landmarks", "pose_landmarks")
    })
json.dump({"fps": video.get(cv2.CAP_PROP_FPS), "frames": frames}, open(sys.argv[2], "w"))
"""
"""What a script around MediaPipe does: a video in, its landmarks out."""


def draw_landmarks(picture: Picture, landmarks: list[list[float]]) -> Picture:
    """A frame with the limbs that the estimator saw."""
    image = Image.fromarray(picture)
    pen = ImageDraw.Draw(image)
    for pair in BONES:
        ends = [(landmarks[n][0] * image.width, landmarks[n][1] * image.height) for n in pair]
        pen.line(ends, fill=(255, 60, 170), width=5)
    return np.asarray(image)


def draw_rows(
    work: Path, estimator: str, name: str, body: str, scene: str, angle: float
) -> list[Image.Image]:
    """Moments of a video with its landmarks, and the same moments of the mime made from them."""
    video, seen, mime = work / f"{name}.mp4", work / f"{name}.json", work / f"{name}-mime.mp4"
    render_video(perform(ACTIONS[name], FPS), body, scene, angle, SIZE, FPS, video)
    subprocess.run([estimator, "-c", WATCH, str(video), str(seen)], check=True, stderr=subprocess.DEVNULL)
    frames = json.loads(seen.read_text())["frames"]
    report = clean_file(seen, work / f"{name}.bvh", ends=False)
    print("\n".join(report.lines()))
    render_video(report.result, "woman", "blank", 0, SIZE, FPS, mime)
    moments = np.rint(np.linspace(0, len(report.result) - 1, MOMENTS)).astype(int).tolist()
    watched, made = read_frames(video), read_frames(mime)
    rows = (
        [draw_landmarks(watched[n], frames[n]["pose_landmarks"]) for n in moments],
        [made[n] for n in moments],
    )
    return [strip(row, HEIGHT, crop=0.55) for row in rows]


def main(arguments: list[str]) -> int:
    """Draw all rows below each other."""
    if len(arguments) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    estimator, out = arguments
    with tempfile.TemporaryDirectory() as folder:
        rows = [row for shown in SHOWN for row in draw_rows(Path(folder), estimator, *shown)]
    sheet = Image.new("RGB", (rows[0].width, len(rows) * (HEIGHT + 2) - 2), (255, 255, 255))
    for index, row in enumerate(rows):
        sheet.paste(row, (0, index * (HEIGHT + 2)))
    sheet.save(out, quality=80, optimize=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
