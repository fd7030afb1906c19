"""What the user asked for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

OUTPUT_FORMATS = ("full", "concise", "json", "sarif", "github", "gitlab", "junit", "rdjson", "azure")


@dataclass(frozen=True, slots=True)
class Settings:
    """Every choice that a run depends on. Selectors are code prefixes (``DVF2``), codes, rule names, or ``ALL``."""

    select: tuple[str, ...] = ()  #: empty: the rules that are on by default
    ignore: tuple[str, ...] = ()
    extend_select: tuple[str, ...] = ()
    per_file_ignores: tuple[tuple[str, tuple[str, ...]], ...] = ()  #: (pattern, selectors)
    exclude: tuple[str, ...] = ()  #: patterns as in .gitignore
    unsafe_fixes: bool = False
    extend_safe_fixes: tuple[str, ...] = ()  #: rules whose unsafe fixes count as safe
    extend_unsafe_fixes: tuple[str, ...] = ()  #: rules whose safe fixes count as unsafe
    unfixable: tuple[str, ...] = ()  #: rules that are reported but never fixed
    torch_version: tuple[int, int] | None = None  #: oldest torch that the code must run on; None: any current one
    buffer_style: Literal["register_buffer", "nn.Buffer"] = "register_buffer"
    device_expression: Literal["cuda", "accelerator"] = "cuda"
    persistent_buffers: bool = False
    modules: tuple[str, ...] = ()  #: classes known to be modules
    in_place_containers: tuple[str, ...] = ()  #: classes whose ``to`` moves the object itself
    copying_containers: tuple[str, ...] = ()  #: classes whose ``to`` returns a moved copy
    output_format: str = "full"
    jobs: int = 0  #: worker processes; 0: as many as pay off
    root: str = ""  #: folder that patterns are relative to; empty: the current one

    def allows(self, release: tuple[int, int]) -> bool:
        """Whether rewrites may use what that release of torch brought."""
        return self.torch_version is None or self.torch_version >= release

    @property
    def selectors(self) -> tuple[str, ...]:
        """Every selector of rules that is used anywhere."""
        lists = (
            self.select,
            self.ignore,
            self.extend_select,
            self.extend_safe_fixes,
            self.extend_unsafe_fixes,
            self.unfixable,
            *(selectors for _, selectors in self.per_file_ignores),
        )
        return tuple(selector for selectors in lists for selector in selectors)
