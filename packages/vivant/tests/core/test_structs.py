"""Structs are known to msgspec before threads decode them."""

from __future__ import annotations

import subprocess
import sys

_THREADS = """
import sys, threading, types
import msgspec
from vivant.core.structs import learn_structs

SOURCE = '''
from __future__ import annotations
from msgspec import Struct
class Inner(Struct):
    x: int = 0
    y: dict[str, tuple[int, ...]] = {}
class Outer(Struct):
    a: list[Inner] = []
    b: dict[str, Inner] = {}
    c: float | None = None
    d: array = None
class Whole(Struct):
    outer: list[Inner] = []
    named: dict[str, Inner] = {}
'''
sys.setswitchinterval(1e-6)
for number in range(60):
    module = types.ModuleType(f"vivant.made_up_{number}")
    sys.modules[module.__name__] = module
    exec(SOURCE, module.__dict__)
    learn_structs()
    barrier, results = threading.Barrier(4), []

    def decode():
        barrier.wait()
        results.append(msgspec.json.decode(b'{"outer":[{"x":1,"y":{"k":[1,2]}}]}', type=module.Whole))

    threads = [threading.Thread(target=decode) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [result.outer[0].x for result in results] == [1, 1, 1, 1]
print("fine")
"""


def test_threads_may_decode_a_type_at_once() -> None:
    """Without `learn_structs` this ends in a segmentation fault. `Outer` cannot be decoded, and does no harm."""
    done = subprocess.run([sys.executable, "-c", _THREADS], capture_output=True, text=True, timeout=600)
    assert (done.returncode, done.stdout) == (0, "fine\n"), done.stderr
