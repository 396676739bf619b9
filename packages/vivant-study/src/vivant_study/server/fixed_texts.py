"""Templates of one language: what no request changes is put in when a template is compiled, not for every page."""

from __future__ import annotations

import re
from collections.abc import Mapping

from jinja2 import Environment
from jinja2.ext import Extension

from vivant.web.pages import page_environment
from vivant_study.server.interface import InterfaceTexts

_FIXED = re.compile(r"\{\{ (?:t\('(?P<text>\w+)'\)|(?P<name>\w+)) \}\}")


class FixedTexts(Extension):
    """Replaces `{{ t('name') }}` and names with one value by that text; Jinja escapes it."""

    def preprocess(self, source: str, name: str | None, filename: str | None = None) -> str:  # noqa: ARG002
        """A template's source with its fixed texts."""
        texts: InterfaceTexts = self.environment.fixed_texts  # type: ignore[attr-defined]
        values: Mapping[str, str] = self.environment.fixed_values  # type: ignore[attr-defined]

        def fill(match: re.Match[str]) -> str:
            if match["text"]:
                return f"{{{{ {_quote(texts(match['text']))} }}}}"
            return f"{{{{ {_quote(values[match['name']])} }}}}" if match["name"] in values else match[0]

        return _FIXED.sub(fill, source)


def _quote(text: str) -> str:
    escaped = text.encode("unicode_escape").decode("ascii").replace('"', '\\"')
    return f'"{escaped}"'


def make_fixed_environment(package: str, texts: InterfaceTexts, values: Mapping[str, str]) -> Environment:
    """A package's templates in a language.

    Args:
        package: where the templates are.
        texts: the language.
        values: names that have one value in all templates.
    """
    environment = page_environment(package)
    environment.extend(fixed_texts=texts, fixed_values=values)
    environment.add_extension(FixedTexts)
    return environment
