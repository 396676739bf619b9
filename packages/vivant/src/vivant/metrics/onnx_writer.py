"""Write small ONNX graphs without the package `onnx`, which weighs 30 MB: the few messages that a graph consists of,
in protobuf's wire format. Field numbers are those of the public schema, `onnx.proto`.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

FLOAT, INT64 = 1, 7
_TYPES = {np.dtype(np.float32): FLOAT, np.dtype(np.int64): INT64}
_VARINT, _BYTES, _FIXED32 = 0, 2, 5
_EXTERNAL = 1
_FLOAT_ATTRIBUTE, _INT_ATTRIBUTE = 1, 2


def _varint(value: int) -> bytes:
    value &= (1 << 64) - 1  # negative numbers are written as 64-bit two's complement
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3 | _VARINT) + _varint(value)


def _block(field: int, content: bytes | str) -> bytes:
    data = content.encode() if isinstance(content, str) else content
    return _varint(field << 3 | _BYTES) + _varint(len(data)) + data


def write_node(
    operator: str, inputs: Sequence[str], output: str, attributes: Mapping[str, Any], domain: str = ""
) -> bytes:
    """A NodeProto with one output; attributes are integers and floats."""
    parts = [_block(1, name) for name in inputs]
    parts += [_block(2, output), _block(3, output), _block(4, operator)]
    for name, value in attributes.items():
        if isinstance(value, float):
            body = _varint(2 << 3 | _FIXED32) + struct.pack("<f", value) + _number(20, _FLOAT_ATTRIBUTE)
        else:
            body = _number(3, value) + _number(20, _INT_ATTRIBUTE)
        parts.append(_block(5, _block(1, name) + body))
    parts.append(_block(7, domain))
    return b"".join(parts)


def write_tensor(name: str, array: NDArray[Any], *, external: bool) -> bytes:
    """A TensorProto. Where it is external, its numbers are handed to the session in memory."""
    parts = [_number(1, size) for size in array.shape]
    parts += [_number(2, _TYPES[array.dtype]), _block(8, name)]
    if external:
        parts.append(_block(13, _block(1, "location") + _block(2, "supplied-in-memory")))
        parts.append(_number(14, _EXTERNAL))
    else:
        parts.append(_block(9, array.tobytes()))
    return b"".join(parts)


def write_value(name: str, kind: int, shape: Sequence[str | int]) -> bytes:
    """A ValueInfoProto: an input or output with its type and shape; a text stands for any size."""
    sizes = [_block(1, _number(1, size) if isinstance(size, int) else _block(2, size)) for size in shape]
    tensor = _number(1, kind) + _block(2, b"".join(sizes))
    return _block(1, name) + _block(2, _block(1, tensor))


def write_model(
    nodes: Sequence[bytes],
    tensors: Sequence[bytes],
    inputs: Sequence[bytes],
    outputs: Sequence[bytes],
    *,
    opsets: Mapping[str, int],
    ir_version: int,
) -> bytes:
    """A ModelProto of one graph, as a session reads it."""
    graph = [_block(1, node) for node in nodes]
    graph.append(_block(2, "graph"))
    graph += [_block(5, tensor) for tensor in tensors]
    graph += [_block(11, value) for value in inputs]
    graph += [_block(12, value) for value in outputs]
    versions = [_block(8, _block(1, domain) + _number(2, version)) for domain, version in opsets.items()]
    return _number(1, ir_version) + _block(7, b"".join(graph)) + b"".join(versions)
