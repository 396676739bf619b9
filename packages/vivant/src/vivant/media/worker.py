"""The worker process: does one task at a time, and dies with the process that started it.

Everything that libav touches runs here, so that a file which hangs or crashes it costs one sample.
"""

from __future__ import annotations

import gc
import os
import queue
import sys
import threading
import traceback
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from vivant.core.errors import MediaError, VivantError
from vivant.media.worker_protocol import (
    FramesTask,
    ProbeTask,
    SoundTask,
    Task,
    TaskResult,
    VerifyTask,
    receive,
    send,
)


def main() -> None:
    """Read tasks from standard input and answer on what was standard output."""
    # Whatever a library prints must not get between the answers.
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    tasks: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(sys.stdin.buffer, tasks), daemon=True).start()
    send(out, _ready())
    decoder = msgspec.msgpack.Decoder(Task)
    while True:
        send(out, _answer(decoder.decode(tasks.get())))
        # libav's objects refer to each other in circles; what they hold is large, so it goes now.
        gc.collect()


def _listen(stream: BinaryIO, tasks: queue.SimpleQueue[bytes]) -> None:
    """Queue tasks; end the process at once when nobody is left to hear the answers, even amid a task."""
    while (message := receive(stream)) is not None:
        tasks.put(message)
    os._exit(0)


def _ready() -> TaskResult:
    try:
        import vivant.media.extraction  # noqa: F401 (loads libav now, so that no task's time pays for it)
    except ImportError as error:
        return TaskResult(
            error=f"Video cannot be decoded here: {error}; install 'av' and 'simplejpeg'", kind="usage"
        )
    return TaskResult()


def _answer(task: Task) -> TaskResult:
    try:
        return TaskResult(result=_do(task))
    except MediaError as error:
        return TaskResult(error=str(error))
    except VivantError as error:
        return TaskResult(error=str(error), kind="usage")
    except MemoryError:
        return TaskResult(error=f"{task.name} needs more memory than there is")
    except OSError as error:
        return TaskResult(error=f"{task.name} cannot be read: {error.strerror or error}")
    except Exception as error:
        frame = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{Path(frame.filename).name}:{frame.lineno}"
        return TaskResult(error=f"{task.name}: {type(error).__name__}: {error} ({where})", kind="bug")


def _do(task: Task) -> Any:
    from vivant.media.extraction import extract_frames, extract_sound
    from vivant.media.frame_cache import FrameCache
    from vivant.media.integrity import find_stream_problem
    from vivant.media.scan import scan_video

    match task:
        case FramesTask():
            cache = FrameCache(Path(task.cache))
            return extract_frames(cache, task.sha256, task.path, task.name, task.wants, task.threads)
        case SoundTask():
            cache = FrameCache(Path(task.cache))
            return extract_sound(
                cache, task.sha256, task.path, task.name, task.start, task.end, task.with_pictures
            )
        case ProbeTask():
            return scan_video(task.path, task.name).table.info
        case VerifyTask():
            return find_stream_problem(task.path, task.name)


if __name__ == "__main__":
    main()
