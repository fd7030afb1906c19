"""One module per rule. A module in this folder that defines ``RULE`` is a rule; there is nothing to register."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from devicefix.rules.base import Rule


@cache
def all_rules() -> tuple[Rule, ...]:
    """Every rule, sorted by code."""
    found: list[Rule] = []
    for module in pkgutil.iter_modules(__path__):
        rule = getattr(importlib.import_module(f"{__name__}.{module.name}"), "RULE", None)
        if rule is not None:
            found.append(rule)
    return tuple(sorted(found, key=lambda rule: rule.code))
