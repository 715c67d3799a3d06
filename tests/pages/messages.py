"""Finds every translatable message of the tree as Django would, for the test that none lacks its Chinese."""

from __future__ import annotations

import ast
import io
import re
from collections.abc import Iterator
from pathlib import Path

from babel.messages.extract import extract_python
from django.utils.translation.template import templatize

_FUNCTIONS = ("gettext", "gettext_lazy", "gettext_noop", "ngettext", "ngettext_lazy", "_")
# templatize blanks everything out but calls such as ` gettext('…') `, with literals as repr writes them.
_CALL = re.compile(r"\b(?:n?gettext|_)\(\s*u?('(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")", re.DOTALL)


def messages_in_tree(root: Path) -> Iterator[tuple[str, str]]:
    """(message id, file) of each message; a plural message comes as its singular."""
    for path in sorted(root.glob("templates/**/*.html")):
        for call in _CALL.finditer(templatize(path.read_text(), origin=str(path))):
            yield ast.literal_eval(call.group(1)), str(path)
    for folder in ("apps", "interview_site"):
        for path in sorted((root / folder).rglob("*.py")):
            if "migrations" not in path.parts:
                yield from _in_python(path)


def _in_python(path: Path) -> Iterator[tuple[str, str]]:
    keywords = dict.fromkeys(_FUNCTIONS)
    for _line, _name, message, _comments in extract_python(
        io.BytesIO(path.read_bytes()), keywords, [], {"encoding": "utf-8"}
    ):
        first = message if isinstance(message, str) else message[0]
        if first:
            yield str(first), str(path)
