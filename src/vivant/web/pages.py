"""Server-rendered pages: Jinja2 templates and static files of a package."""

from __future__ import annotations

from importlib.resources import files

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.routing import Mount
from starlette.staticfiles import StaticFiles


def template_environment(package: str) -> Environment:
    """The templates of a package. They escape everything, and a missing variable is an error."""
    return Environment(
        loader=PackageLoader(package), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True, auto_reload=False,
    )  # fmt: skip


def static_route(package: str) -> Mount:
    """The package's folder `static` under /static."""
    return Mount("/static", StaticFiles(directory=str(files(package) / "static")), name="static")
