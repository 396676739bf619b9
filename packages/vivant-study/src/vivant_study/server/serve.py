"""Start a study's server: on this machine alone unless told otherwise."""

from __future__ import annotations

import gc
import os
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, urlsplit

from vivant.core.errors import UsageError
from vivant.web.server import base_url, bind, is_loopback, require_modules, run_app
from vivant_study.default_texts import is_placeholder_consent
from vivant_study.loading import LoadedStudy, load_study
from vivant_study.platforms import format_query

if TYPE_CHECKING:
    from vivant_study.server.connections import ConnectionLimits
    from vivant_study.store import StudyStore

TOKEN_FILE = "admin.token"
ADDRESS = "address"
"""The setting that holds where participants open the study."""
_SHORTEST = 16


def check_dependencies() -> None:
    """Say what to install where a part is missing."""
    names = ("starlette", "uvicorn", "jinja2", "sqlalchemy", "alembic")
    require_modules(*names, problem="Studies need a web server and a database", extra="study")


def load_admin_token(study: Path, file: Path | None) -> tuple[str, Path]:
    """The researcher's token and its file; made on first use, readable by this user alone."""
    path = file or study / TOKEN_FILE
    try:
        if file is None and not path.exists():
            handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(handle, "w") as out:
                out.write(secrets.token_urlsafe(24) + "\n")
        token = path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"Cannot read the admin token from {path}: {error}") from error
    if len(token) < _SHORTEST:
        raise UsageError(
            f"The admin token in {path} is shorter than {_SHORTEST} characters; write a longer one"
        )
    return token, path


def serve(
    folder: Path,
    *,
    database: str | None = None,
    host: str = "127.0.0.1",
    port: int = 8770,
    public: str = "",
    admin_file: Path | None = None,
    anonymous: bool = False,
    preview: bool = False,
    placeholder_consent: bool = False,
    connections: ConnectionLimits | None = None,
    ready: Callable[[str, str], None] = lambda _what, _address: None,
) -> None:
    """Serve a study until stopped.

    Args:
        folder: the study.
        database: where answers are kept; default: SQLite in the study's folder.
        host: where to listen.
        port: where to listen.
        public: the address that participants open, where a proxy stands before the server.
        admin_file: holds the researcher's token; default: a file in the study's folder, made on first use.
        anonymous: whether the open link lets people in who bring no identifiers of a platform.
        placeholder_consent: whether to serve although a consent text is as it came.
        connections: how long requests may take to arrive, and how many connections there may be.
        preview: record nothing: the store is gone with the process.
        ready: called with what can be opened, and where.
    """
    check_dependencies()
    from starlette.responses import PlainTextResponse

    from vivant.web.security import LocalHostOnly
    from vivant_study.server.app import create_app
    from vivant_study.server.connections import AT_ONCE, ConnectionLimits, make_protocol
    from vivant_study.server.context import ServerSettings
    from vivant_study.store.met_items import note_items
    from vivant_study.store.store import open_memory_store, open_store

    loaded = load_study(folder)
    if not preview and not placeholder_consent:
        check_consent(loaded)
    parts = _parse_public(public)
    token, token_file = ("", None) if preview else load_admin_token(folder, admin_file)
    store = open_memory_store(folder) if preview else open_store(folder, database)
    try:
        store.raise_target(loaded.study.judgements_per_item)
        check_known_items(loaded, store)
        note_items(store, loaded)
        settings = ServerSettings(
            root=parts.path.rstrip("/"),
            origin=f"{parts.scheme}://{parts.netloc}" if parts.netloc else "",
            secure=parts.scheme == "https",
            preview=preview,
            anonymous=anonymous,
            admin_token=token,
        )
        app = create_app(loaded, store, settings)
        if is_loopback(host) and not public:
            text = "Only for this machine. For participants elsewhere, start it with --url ADDRESS"
            app = LocalHostOnly(app, PlainTextResponse(text, 403))
        listener = bind(host, port)
    except BaseException:
        store.close()
        raise
    address = public.rstrip("/") or base_url(host, listener)
    if not preview:
        store.write_setting(ADDRESS, address)
    if preview:
        ready("preview", f"{address}/")
    else:
        _announce_links(ready, loaded, store, address, anonymous=anonymous)
        ready("token", str(token_file))
        if not public and not is_loopback(host):
            ready("plain", address)
    # What is loaded stays: the garbage collector need not search it again and again while people wait.
    gc.collect()
    gc.freeze()
    try:
        run_app(
            app, listener, http=make_protocol(connections or ConnectionLimits()), backlog=AT_ONCE, server_header=False,
            # A proxy's idle connections must not be closed while it sends on them.
            timeout_keep_alive=75, forwarded_allow_ips="127.0.0.1,::1",
        )  # fmt: skip
    finally:
        store.close()


def _announce_links(
    ready: Callable[[str, str], None],
    loaded: LoadedStudy,
    store: StudyStore,
    address: str,
    *,
    anonymous: bool,
) -> None:
    """Name the links that let people in, and the admin page."""
    first_path = first_link_path(store)
    if first_path:
        ready("person", f"{address}{first_path}")
    ready("more" if first_path else "used", str(loaded.path))
    open_link = f"{address}{open_link_path(store.secret)}"
    if anonymous:
        ready("anonymous", open_link)
    ready("open", open_link + format_query(loaded.study.platform))
    ready("admin", f"{address}/admin")


def read_address(store: StudyStore) -> str:
    """Where participants open the study: as it was last served. Raises UsageError where it never was."""
    address = store.read_setting(ADDRESS)
    if address is None:
        raise UsageError(
            f"{store.study} has not been served yet, so its address is not known; name it with --url, or start "
            f"'vivant study serve {store.study}' first"
        )
    return address


def check_consent(loaded: LoadedStudy) -> None:
    """Refuse a consent text that is as it came: it must say who is responsible."""
    for language, texts in loaded.texts.items():
        if is_placeholder_consent(texts.consent):
            raise UsageError(
                f"{loaded.path}/consent.{language}.md is as it came and names nobody: say who is responsible and how "
                "to reach them. For a trial: --placeholder-consent"
            )


def first_link_path(store: StudyStore) -> str:
    """A personal link that is printed at every start until it is used; empty once it is."""
    from vivant_study.store.people import first_link_token, is_first_link_open

    return f"/join/{first_link_token(store.secret)}" if is_first_link_open(store) else ""


def open_link_path(secret: bytes) -> str:
    """The study's open link, below its address."""
    from vivant_study.server.tokens import Tokens

    return f"/start/{Tokens(secret).door()}"


def check_known_items(loaded: LoadedStudy, store: StudyStore) -> None:
    """Refuse a database whose items the study lacks."""
    missing = sorted(store.list_assigned_items() - loaded.by_id.keys())
    if missing:
        raise UsageError(
            f"The database holds answers to the item '{missing[0]}', which {loaded.path} lacks; "
            "put the item back, or give this study a database of its own: --database"
        )


def _parse_public(address: str) -> SplitResult:
    parts = urlsplit(address)
    if address and (
        parts.scheme not in ("http", "https") or not parts.netloc or parts.query or parts.fragment
    ):
        raise UsageError(
            f"--url should be the address that participants open, such as https://lab.example/study: {address}"
        )
    return parts
