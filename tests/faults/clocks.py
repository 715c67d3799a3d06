"""Faster clocks for one process: LAB_CLOCKS is JSON, {"package.module:NAME": value}, applied in its order.

A name that was imported elsewhere keeps its old value there, so the module that defines it comes first and
is set before those that use it are imported. A name that is not there ends the process: no scenario may
believe in a clock that the site no longer has.
"""

from __future__ import annotations

import json
import os
from importlib import import_module


def set_clocks() -> None:
    for place, value in json.loads(os.environ.get("LAB_CLOCKS", "{}")).items():
        module_name, _, name = place.partition(":")
        module = import_module(module_name)
        if not hasattr(module, name):
            raise SystemExit(f"LAB_CLOCKS: {module_name} has no {name}")
        setattr(module, name, value)
