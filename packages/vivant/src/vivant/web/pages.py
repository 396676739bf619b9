"""Server-rendered pages: Jinja2 templates and static files of a package."""

from __future__ import annotations

from importlib.resources import files

from jinja2 import Environment
from starlette.routing import Mount
from starlette.staticfiles import StaticFiles

from vivant.core.templates import template_environment


def page_environment(package: str) -> Environment:
    """The templates of a package, and `document.html`, which they extend. They escape everything."""
    return template_environment(package, "vivant.web", autoescape=True, auto_reload=False)


def static_route(package: str) -> Mount:
    """The package's folder `static` under /static."""
    return Mount("/static", StaticFiles(directory=str(files(package) / "static")), name="static")
