"""Animations of glTF files (.glb, .gltf), VRM models and VRM animations, read as a skeleton's frames.

Of a file only the nodes, the skin and one animation are read; meshes and textures are passed over, so compressed
meshes do not matter. The rest pose is the skin's bind pose where the nodes stand in it, else the nodes' own pose.
"""

from __future__ import annotations

import base64
import binascii
import json
import struct
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from vivant.core.errors import DataError
from vivant_build.mime.bad_frames import describe_bad
from vivant_build.mime.bvh import Bvh
from vivant_build.mime.recording import build_bvh, choose_animation
from vivant_build.mime.rotation import Array, between, from_quaternion, to_quaternion, unit

_TYPES = {5120: "i1", 5121: "u1", 5122: "<i2", 5123: "<u2", 5125: "<u4", 5126: "<f4"}
_WIDTHS = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4, "MAT4": 16}
_RATES = (24.0, 25.0, 30.0, 48.0, 50.0, 60.0, 100.0, 120.0, 240.0)
_USUAL = 30.0
"""Frames a second of an animation whose keys do not follow a rate."""


def load_gltf(file: Path, animation: str | None = None) -> Bvh:
    """Read one animation of a glTF file; `animation` names it where there are several."""
    try:
        scene = _Scene(file)
        return scene.read(choose_animation(file, scene.list_animations(), animation))
    except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
        raise DataError(f"{file}: is not whole glTF ({type(error).__name__}: {error})") from None


def list_gltf_animations(file: Path) -> tuple[str, ...]:
    """The names of a file's animations; one without a name, or with another's, goes by its number."""
    try:
        return _Scene(file).list_animations()
    except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
        raise DataError(f"{file}: is not whole glTF ({type(error).__name__}: {error})") from None


class _Scene:
    def __init__(self, file: Path) -> None:
        self._file = file
        self._document, self._chunk = _read_document(file)
        version = str(self._document.get("asset", {}).get("version", ""))
        if not version.startswith("2"):
            raise DataError(f"{file}: is glTF {version or 'of no version'}; only glTF 2 is read")
        self._buffers: dict[int, bytes] = {}
        self._notes: list[str] = []
        self._nodes: list[dict[str, Any]] = self._document.get("nodes", [])
        self._parents = [-1] * len(self._nodes)
        for index, node in enumerate(self._nodes):
            for child in node.get("children", ()):
                self._parents[child] = index

    def read(self, name: str) -> Bvh:
        animation = self._document["animations"][self.list_animations().index(name)]
        order = self._order()
        channels = self._channels(animation)
        if not channels:
            raise DataError(f"{self._file}: the animation {name} moves no node; export it with its bones")
        times = self._times(name, channels)
        still = {index: _rest(self._nodes[index]) for index in order}
        positions, turned = self._pose(order, still, channels, times.values)
        _, turns = self._pose(order, still, {}, np.zeros(1))
        used = self._used(order, channels)
        rest = self._bind(turns[0], order, used)
        columns = [order.index(index) for index in used]
        rotations = turned[:, columns] @ np.swapaxes(rest[columns], -1, -2)
        names = self._names(used)
        parents = [self._nearest(index, used) for index in used]
        bvh = build_bvh(names, parents, positions[:, columns], rotations, times.fps, str(self._file))
        return replace(bvh, notes=tuple(self._notes))

    def list_animations(self) -> tuple[str, ...]:
        names: list[str] = []
        for index, entry in enumerate(self._document.get("animations", [])):
            name = str(entry.get("name") or index)
            names.append(name if name not in names else f"{name} ({index})")
        return tuple(names)

    def _order(self) -> list[int]:
        """The nodes, each after its parent."""
        result: list[int] = []
        seen: set[int] = set()
        stack = [index for index, parent in enumerate(self._parents) if parent < 0][::-1]
        while stack:
            index = stack.pop()
            if index in seen:
                raise DataError(f"{self._file}: node {index} is its own ancestor")
            seen.add(index)
            result.append(index)
            stack.extend(self._nodes[index].get("children", ())[::-1])
        return result

    def _channels(self, animation: dict[str, Any]) -> dict[tuple[int, str], _Curve]:
        curves = {}
        for channel in animation["channels"]:
            target = channel["target"]
            if "node" not in target or target["path"] not in ("translation", "rotation", "scale"):
                continue
            sampler = animation["samplers"][channel["sampler"]]
            keys, values = self._accessor(sampler["input"])[:, 0], self._accessor(sampler["output"])
            kind = sampler.get("interpolation", "LINEAR")
            if not len(keys) or np.any(np.diff(keys) <= 0) or not np.isfinite(keys).all():
                raise DataError(f"{self._file}: key times of node {target['node']} do not rise")
            keys, values = self._drop_bad_keys(target["node"], keys, values)
            curves[target["node"], target["path"]] = _Curve(keys, values, kind, target["path"] == "rotation")
        return curves

    def _drop_bad_keys(self, node: int, keys: Array, values: Array) -> tuple[Array, Array]:
        """The keys whose values are finite: a curve bridges the others."""
        rows = values.reshape(len(keys), -1)
        bad = np.flatnonzero(~np.isfinite(rows).all(axis=1))
        reasons = [f"key {key + 1} of node {node}: a value is no finite number" for key in bad.tolist()]
        self._notes += describe_bad(str(self._file), reasons, len(keys), "keys")
        return np.delete(keys, bad), np.delete(rows, bad, axis=0).reshape(-1, values.shape[1])

    def _times(self, name: str, channels: dict[tuple[int, str], _Curve]) -> _Times:
        keys = np.unique(np.concatenate([curve.keys for curve in channels.values()]).round(5))
        start, end = float(keys[0]), float(keys[-1])
        if end <= start:
            raise DataError(f"{self._file}: the animation {name} is one pose; nothing moves")
        # The slowest rate whose frames hold all keys is the one that it was recorded at.
        fps = next(
            (r for r in _RATES if np.abs((keys - start) * r - np.rint((keys - start) * r)).max() < 0.02),
            _USUAL,
        )
        count = round((end - start) * fps) + 1
        return _Times(fps, start + np.arange(count) / fps)

    def _pose(
        self,
        order: list[int],
        still: dict[int, dict[str, Array]],
        channels: dict[tuple[int, str], _Curve],
        times: Array,
    ) -> tuple[Array, Array]:
        """Global positions and rotations of all nodes; scales carry on to children's places, not to their turns."""
        world = np.empty((len(times), len(order), 4, 4))
        turned = np.empty((len(times), len(order), 3, 3))
        places = {index: place for place, index in enumerate(order)}
        for place, index in enumerate(order):
            parts = {}
            for path, value in still[index].items():
                curve = channels.get((index, path))
                parts[path] = (
                    np.broadcast_to(value, (len(times), len(value))) if curve is None else curve(times)
                )
            turn = from_quaternion(unit(parts["rotation"])[:, [3, 0, 1, 2]])
            local = np.zeros((len(times), 4, 4))
            local[:, :3, :3] = turn * parts["scale"][:, None, :]
            local[:, :3, 3], local[:, 3, 3] = parts["translation"], 1.0
            parent = self._parents[index]
            above = places[parent] if parent >= 0 else -1
            world[:, place] = local if above < 0 else world[:, above] @ local
            turned[:, place] = turn if above < 0 else turned[:, above] @ turn
        return world[:, :, :3, 3], turned

    def _used(self, order: list[int], channels: dict[tuple[int, str], _Curve]) -> list[int]:
        """The skeleton: the skin's joints, and all that moves where there is no skin or only that of a part."""
        bones = set(self._humanoid().values())
        for skin in self._document.get("skins", []):
            bones |= set(skin["joints"])
        moving = {index for index, _ in channels}
        if len(bones & moving) < len(moving) / 2:
            bones |= moving
        return [index for index in order if index in bones]

    def _bind(self, turns: Array, order: list[int], used: list[int]) -> Array:
        """Rest rotations of all nodes: the skin's bind pose, turned as the nodes' root stands, or the nodes' own."""
        rest = turns.copy()
        places = {index: place for place, index in enumerate(order)}
        bind: dict[int, Array] = {}
        for skin in self._document.get("skins", [])[::-1]:
            if "inverseBindMatrices" not in skin:
                continue
            matrices = self._accessor(skin["inverseBindMatrices"]).reshape(-1, 4, 4).swapaxes(-1, -2)
            for joint, matrix in zip(skin["joints"], matrices, strict=False):
                left, _, right = np.linalg.svd(matrix[:3, :3])
                bind[joint] = (left @ right).T
        if not bind or not set(bind) >= set(used):
            return rest
        apart = [turns[places[joint]] @ bind[joint].T for joint in used]
        # Equal everywhere: the nodes stand in the bind pose. If not, the first bone tells which axis is up in it.
        if max(float(np.abs(each - apart[0]).max()) for each in apart) < 0.02:
            return rest
        up = apart[0].T @ np.array([0.0, 1.0, 0.0])
        main = int(np.argmax(np.abs(up)))
        turn = between(np.eye(3)[main] * np.sign(up[main]), [0.0, 1.0, 0.0])
        for joint in used:
            rest[places[joint]] = turn @ bind[joint]
        return rest

    def _humanoid(self) -> dict[str, int]:
        """VRM's own table: humanoid bone → node."""
        extensions = self._document.get("extensions", {})
        for name in ("VRMC_vrm", "VRMC_vrm_animation"):
            bones = extensions.get(name, {}).get("humanoid", {}).get("humanBones", {})
            if bones:
                return {bone: entry["node"] for bone, entry in bones.items()}
        older = extensions.get("VRM", {}).get("humanoid", {}).get("humanBones", [])
        return {entry["bone"]: entry["node"] for entry in older}

    def _names(self, used: list[int]) -> list[str]:
        humanoid = {node: bone for bone, node in self._humanoid().items()}
        names: list[str] = []
        for index in used:
            name = humanoid.get(index) or str(self._nodes[index].get("name") or f"node {index}")
            names.append(name if name not in names else f"{name} ({index})")
        return names

    def _nearest(self, index: int, used: list[int]) -> int:
        index = self._parents[index]
        while index >= 0 and index not in used:
            index = self._parents[index]
        return used.index(index) if index >= 0 else -1

    def _accessor(self, index: int) -> Array:
        accessor = self._document["accessors"][index]
        width, code = _WIDTHS[accessor["type"]], _TYPES[accessor["componentType"]]
        kind = np.dtype(code)
        count = int(accessor["count"])
        if "sparse" in accessor or "bufferView" not in accessor:
            raise DataError(
                f"{self._file}: an animation's values are sparse, which is not read; export it anew"
            )
        view = self._document["bufferViews"][accessor["bufferView"]]
        data = self._buffer(int(view["buffer"]))
        start = int(view.get("byteOffset", 0)) + int(accessor.get("byteOffset", 0))
        stride = int(view.get("byteStride", 0)) or width * kind.itemsize
        if count and start + (count - 1) * stride + width * kind.itemsize > len(data):
            raise DataError(f"{self._file}: its buffer ends before the animation does; the file is cut off")
        array = np.ndarray((count, width), kind, data, start, (stride, kind.itemsize)).astype(float)
        if accessor.get("normalized") and kind.kind in "iu":
            array = np.maximum(array / np.iinfo(kind).max, -1.0)
        return array

    def _buffer(self, index: int) -> bytes:
        if index not in self._buffers:
            uri = self._document["buffers"][index].get("uri")
            self._buffers[index] = self._chunk if uri is None else self._fetch(uri)
        return self._buffers[index]

    def _fetch(self, uri: str) -> bytes:
        if uri.startswith("data:"):
            try:
                return base64.b64decode(uri.partition(",")[2], validate=True)
            except binascii.Error:
                raise DataError(f"{self._file}: a buffer inside it is no base64") from None
        from urllib.parse import unquote

        path = (self._file.parent / unquote(uri)).resolve()
        if not path.is_relative_to(self._file.parent.resolve()):
            raise DataError(f"{self._file}: its buffer '{uri[:60]}' lies outside of its folder")
        try:
            return path.read_bytes()
        except OSError as error:
            raise DataError(f"{self._file}: its buffer {path} cannot be read ({error.strerror})") from None


class _Times:
    def __init__(self, fps: float, values: Array) -> None:
        self.fps, self.values = fps, values


class _Curve:
    """The keys of one node's translation, rotation or scale; called with times, it gives the values there."""

    def __init__(self, keys: Array, values: Array, kind: str, turns: bool) -> None:
        self.keys, self._kind, self._turns = keys, kind, turns
        self._tangents: Array | None = None
        if kind == "CUBICSPLINE":
            triples = values.reshape(len(keys), 3, -1)
            self._tangents, values = triples[:, [0, 2]], triples[:, 1]
        if len(values) != len(keys):
            raise ValueError(f"{len(keys)} key times and {len(values)} values")
        if turns:
            # The shorter way round: neighbouring keys on one side.
            flips = np.sign(np.sum(values[1:] * values[:-1], axis=1))
            signs = np.cumprod(np.concatenate([[1.0], np.where(flips < 0, -1.0, 1.0)]))
            values = values * signs[:, None]
            if self._tangents is not None:
                self._tangents = self._tangents * signs[:, None, None]
        self._values = values

    def __call__(self, times: Array) -> Array:
        clock = np.clip(times, self.keys[0], self.keys[-1])
        left = np.clip(np.searchsorted(self.keys, clock, side="right") - 1, 0, max(len(self.keys) - 2, 0))
        right = np.minimum(left + 1, len(self.keys) - 1)
        gap = np.maximum(self.keys[right] - self.keys[left], 1e-9)
        s = ((clock - self.keys[left]) / gap)[:, None]
        a, b = self._values[left], self._values[right]
        if self._kind == "STEP":
            return np.where(s >= 1, b, a)
        if self._tangents is not None:
            out, into = self._tangents[left, 1] * gap[:, None], self._tangents[right, 0] * gap[:, None]
            return np.asarray(
                (2 * s**3 - 3 * s**2 + 1) * a
                + (s**3 - 2 * s**2 + s) * out
                + (3 * s**2 - 2 * s**3) * b
                + (s**3 - s**2) * into
            )
        # Keys lie densely: the chord between two unit quaternions is near enough to the arc once it is normalised.
        return np.asarray(a * (1 - s) + b * s)


def _rest(node: dict[str, Any]) -> dict[str, Array]:
    """A node's own pose; a matrix is taken apart."""
    if "matrix" in node:
        matrix = np.array(node["matrix"], dtype=float).reshape(4, 4).T
        scale = np.linalg.norm(matrix[:3, :3], axis=0)
        left, _, right = np.linalg.svd(matrix[:3, :3] / np.where(scale > 0, scale, 1.0))
        return {
            "translation": matrix[:3, 3],
            "rotation": to_quaternion(left @ right)[[1, 2, 3, 0]],
            "scale": scale,
        }
    return {
        "translation": np.array(node.get("translation", (0.0, 0.0, 0.0)), dtype=float),
        "rotation": np.array(node.get("rotation", (0.0, 0.0, 0.0, 1.0)), dtype=float),
        "scale": np.array(node.get("scale", (1.0, 1.0, 1.0)), dtype=float),
    }


def _read_document(file: Path) -> tuple[dict[str, Any], bytes]:
    try:
        content = file.read_bytes()
    except OSError as error:
        raise DataError(f"{file}: cannot be read ({error.strerror or error})") from None
    chunk = b""
    text = content
    if content[:4] == b"glTF":
        if len(content) < 20:
            raise DataError(f"{file}: is cut off")
        if struct.unpack_from("<I", content, 4)[0] != 2:
            raise DataError(f"{file}: is glTF 1; only glTF 2 is read")
        length = struct.unpack_from("<I", content, 12)[0]
        text = content[20 : 20 + length]
        if 20 + length + 8 <= len(content):
            size = struct.unpack_from("<I", content, 20 + length)[0]
            chunk = content[28 + length : 28 + length + size]
    try:
        document = json.loads(text.decode("utf-8-sig"))
    except (UnicodeDecodeError, json.JSONDecodeError):
        raise DataError(f"{file}: is no glTF, neither binary nor text") from None
    if not isinstance(document, dict):
        raise DataError(f"{file}: is no glTF, neither binary nor text")
    return document, chunk
