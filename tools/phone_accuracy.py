"""Measure how far a mime made from MediaPipe's landmarks is from the motion that was filmed.

Four actions are rendered from the front and from 45°, and MediaPipe watches the videos (`phone_picture.py` tells what
ESTIMATOR is). What `vivant build mime clean` makes of its landmarks is compared with the motion itself: elbows, hands,
knees and feet around the hips, after one turn a video about the vertical, since an estimator does not know the stage.

    python tools/phone_accuracy.py ESTIMATOR
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from phone_picture import FPS, SIZE, WATCH
from vivant_build.mime import ACTIONS, Motion, perform, render_video
from vivant_build.mime.clean import clean_file
from vivant_build.mime.rotation import Array
from vivant_build.mime.skeleton import INDEX, Skeleton

FILMED = ("Boxing001", "JumpingJacks01", "GolfSwing001", "Sweeping01")
ANGLES = (0.0, 45.0)
BODY, SCENE = "worker", "gym"
ENDS = [INDEX[side + bone] for side in ("Left", "Right") for bone in ("ForeArm", "Hand", "Leg", "Foot")]


def measure_gap(result: Motion, motion: Motion) -> float:
    """Metres between elbows, hands, knees and feet of the two on average, around the hips."""
    count = min(len(result), len(motion))
    ours, theirs = (_around_hips(each)[:count] for each in (motion, result))
    # The one turn about the vertical that brings them nearest, in closed form.
    across = float((theirs[..., 2] * ours[..., 0] - theirs[..., 0] * ours[..., 2]).sum())
    along = float((theirs[..., 0] * ours[..., 0] + theirs[..., 2] * ours[..., 2]).sum())
    turn = np.arctan2(across, along)
    sine, cosine = np.sin(turn), np.cos(turn)
    turned = np.stack(
        [
            cosine * theirs[..., 0] + sine * theirs[..., 2],
            theirs[..., 1],
            cosine * theirs[..., 2] - sine * theirs[..., 0],
        ],
        axis=-1,
    )
    return float(np.linalg.norm(turned - ours, axis=-1).mean())


def _around_hips(motion: Motion) -> Array:
    positions, _ = motion.joints(Skeleton())
    return np.asarray(positions[:, ENDS] - positions[:, :1])


def main(estimator: str) -> None:
    """Print a line for each video, by world landmarks and by those of the picture."""
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        seen_frames = frames = 0
        for name in FILMED:
            for angle in ANGLES:
                motion = perform(ACTIONS[name], FPS)
                video, seen = work / "video.mp4", work / "seen.json"
                render_video(motion, BODY, SCENE, angle, SIZE, FPS, video)
                subprocess.run(
                    [estimator, "-c", WATCH, str(video), str(seen)], check=True, stderr=subprocess.DEVNULL
                )
                document = json.loads(seen.read_text())
                frames += len(document["frames"])
                seen_frames += sum(bool(frame["pose_landmarks"]) for frame in document["frames"])
                loose, world = (
                    clean_file(seen, work / "world.bvh", ends=False, keep_heading=True, hold_feet=hold)
                    for hold in (False, True)
                )
                for frame in document["frames"]:
                    del frame["pose_world_landmarks"]
                document |= {"width": SIZE[0], "height": SIZE[1]}
                seen.write_text(json.dumps(document))
                flat = clean_file(seen, work / "flat.bvh", ends=False, keep_heading=True)
                gaps = [100 * measure_gap(each.result, motion) for each in (loose, world, flat)]
                print(
                    f"{name} from {angle:g}°: {gaps[1]:.1f} cm by world landmarks ({gaps[0]:.1f} before feet are "
                    f"locked), {gaps[2]:.1f} by the picture's; feet slide {100 * world.sliding.worst:.1f} cm at most "
                    f"({100 * loose.sliding.worst:.1f} before)",
                    flush=True,
                )
        print(f"a person is seen in {seen_frames} of {frames} frames")


if __name__ == "__main__":
    main(sys.argv[1])
