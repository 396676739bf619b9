"""A server that speaks the part of S3 that pyarrow uses: objects by range, lists, uploads in parts, deletions."""

from __future__ import annotations

import hashlib
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

from msgspec import Struct, field


class ObjectStorage(Struct):
    """What is stored, and how it is reached."""

    port: int = 0
    objects: dict[str, bytes] = field(default_factory=dict)
    """`bucket/key` → content."""
    requests: list[str] = field(default_factory=list)
    uploads: dict[str, dict[int, bytes]] = field(default_factory=dict)

    def address(self, place: str) -> str:
        """The address of a folder, as a user writes it for a server of their own."""
        return f"s3://{place}?scheme=http&endpoint_override=127.0.0.1:{self.port}&region=us-east-1"


@contextmanager
def serve_objects() -> Iterator[ObjectStorage]:
    """Run a server on a free port."""
    storage = ObjectStorage()
    lock = threading.Lock()

    class Handler(_Handler):
        def handle_request(self) -> tuple[int, bytes, dict[str, str]]:
            body = self.read_body()
            if "aws-chunked" in self.headers.get("Content-Encoding", ""):
                body = _join_chunks(body)
            with lock:
                storage.requests.append(f"{self.command} {unquote(self.path)}")
                return _answer(storage, self.command, self.path, body, self.headers.get("Range", ""))

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    storage.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield storage
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def handle_request(self) -> tuple[int, bytes, dict[str, str]]:
        raise NotImplementedError

    def read_body(self) -> bytes:
        """What was sent, whole or in HTTP's chunks."""
        if self.headers.get("Transfer-Encoding", "") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        body = b""
        while size := int(self.rfile.readline().split(b";")[0], 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return body

    def _serve(self) -> None:
        status, body, headers = self.handle_request()
        self.send_response(status)
        headers.setdefault("Content-Length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    do_GET = do_PUT = do_POST = do_HEAD = do_DELETE = _serve  # noqa: N815 - names that http.server asks for

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - as in http.server
        pass


def _join_chunks(body: bytes) -> bytes:
    """The content of a body whose chunks have sizes of their own before them."""
    content = b""
    while body:
        head, _, body = body.partition(b"\r\n")
        size = int(head.split(b";")[0] or b"0", 16)
        if not size:
            break
        content, body = content + body[:size], body[size + 2 :]
    return content


def _answer(
    storage: ObjectStorage, method: str, address: str, body: bytes, span: str
) -> tuple[int, bytes, dict[str, str]]:
    parts = urlsplit(address)
    query = {name: values[0] for name, values in parse_qs(parts.query, keep_blank_values=True).items()}
    path = unquote(parts.path).removeprefix("/")
    bucket, _, key = path.partition("/")
    if method == "POST" and "delete" in query:
        for name in re.findall(r"<Key>(.*?)</Key>", body.decode()):
            storage.objects.pop(f"{bucket}/{name}", None)
        return _xml("<DeleteResult/>")
    if method == "POST" and "uploads" in query:
        storage.uploads[path] = {}
        return _xml(
            f"<InitiateMultipartUploadResult><Bucket>{bucket}</Bucket><Key>{escape(key)}</Key><UploadId>u</UploadId>"
            "</InitiateMultipartUploadResult>"
        )
    if method == "POST" and "uploadId" in query:
        pieces = storage.uploads.pop(path)
        storage.objects[path] = b"".join(pieces[number] for number in sorted(pieces))
        return _xml(
            f'<CompleteMultipartUploadResult><ETag>"{_tag(path)}"</ETag></CompleteMultipartUploadResult>'
        )
    if method == "PUT":
        if "partNumber" in query:
            storage.uploads[path][int(query["partNumber"])] = body
        else:
            storage.objects[path] = body
        return 200, b"", {"ETag": f'"{_tag(path)}"'}
    if method == "DELETE":
        storage.objects.pop(path, None)
        return 204, b"", {}
    if method == "GET" and not key:
        return _list(storage, bucket, query)
    if not key and method == "HEAD":
        return 200, b"", {}
    if path not in storage.objects:
        return 404, b"", {}
    return _give(storage.objects[path], span, path)


def _give(content: bytes, span: str, path: str) -> tuple[int, bytes, dict[str, str]]:
    headers = {"ETag": f'"{_tag(path)}"', "Last-Modified": "Wed, 01 Jan 2025 00:00:00 GMT"}
    wanted = re.fullmatch(r"bytes=(\d+)-(\d*)", span)
    if not wanted:
        return 200, content, headers
    first, last = int(wanted[1]), min(int(wanted[2] or len(content) - 1), len(content) - 1)
    headers["Content-Range"] = f"bytes {first}-{last}/{len(content)}"
    return 206, content[first : last + 1], headers


def _list(storage: ObjectStorage, bucket: str, query: dict[str, str]) -> tuple[int, bytes, dict[str, str]]:
    prefix, delimiter = query.get("prefix", ""), query.get("delimiter", "")
    most = int(query.get("max-keys", "1000"))
    keys = sorted(
        name.partition("/")[2]
        for name in storage.objects
        if name.startswith(f"{bucket}/{prefix}") and name.partition("/")[2] > query.get("start-after", "")
    )
    folders = sorted(
        {
            prefix + key[len(prefix) :].partition(delimiter)[0] + delimiter
            for key in keys
            if delimiter in key[len(prefix) :]
        }
        if delimiter
        else set()
    )
    files = [key for key in keys if not delimiter or delimiter not in key[len(prefix) :]][:most]
    content = "".join(
        f"<Contents><Key>{escape(key)}</Key><Size>{len(storage.objects[f'{bucket}/{key}'])}</Size>"
        "<LastModified>2025-01-01T00:00:00.000Z</LastModified></Contents>"
        for key in files
    )
    content += "".join(
        f"<CommonPrefixes><Prefix>{escape(name)}</Prefix></CommonPrefixes>" for name in folders
    )
    return _xml(
        f"<ListBucketResult><Name>{bucket}</Name><KeyCount>{len(files) + len(folders)}</KeyCount>"
        f"<IsTruncated>false</IsTruncated>{content}</ListBucketResult>"
    )


def _tag(path: str) -> str:
    return hashlib.md5(path.encode(), usedforsecurity=False).hexdigest()


def _xml(content: str) -> tuple[int, bytes, dict[str, str]]:
    body = f'<?xml version="1.0" encoding="UTF-8"?>{content}'.encode()
    return 200, body, {"Content-Type": "application/xml"}
