"""A device mismatch as a thing: what torch said, where, which tensors met and where each came from.

Nothing here imports torch, so that reports can be read and written without it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from devicefix.verify.sites import Site, shown_path

if TYPE_CHECKING:
    from collections.abc import Sequence

RULE_NAMES = {
    "DVF101": "dropped-move",
    "DVF104": "stale-alias",
    "DVF201": "factory-device",
    "DVF202": "legacy-constructor",
    "DVF203": "generator-device",
    "DVF301": "tensor-attribute",
    "DVF302": "unregistered-modules",
    "DVF303": "unregistered-parameters",
    "DVF305": "tensor-collection",
    "DVF401": "scattered-cuda",
    "DVF501": "batch-not-moved",
    "DVF502": "module-not-moved",
    "DVF503": "optimizer-before-move",
    "DVF504": "load-without-map-location",
    "DVF505": "numpy-of-device-tensor",
    "DVF506": "index-on-device",
    "DVF601": "cross-device",
}


@dataclass(frozen=True)
class Involved:
    """One of the tensors that met."""

    device: str
    shape: tuple[int, ...]
    dtype: str
    made: Site | None
    moved: Site | None
    copied: Site | None = None
    how: str = ""

    def origin(self) -> str:
        """``model.py:31 `torch.zeros(1, 128)` (in Net.forward)``."""
        site = self.moved or self.made
        if site is None:
            return "somewhere that was not tracked"
        inside = f" (in {site.function})" if site.function else ""
        text = f" `{site.text}`" if site.text else ""
        via = (
            {"batch": " as part of a batch", "loaded": " as part of a loaded file"}.get(self.how, "")
            if not self.moved
            else ""
        )
        return f"{site.short}{text}{via}{inside}"

    def as_dict(self) -> dict[str, Any]:
        """For json."""
        return {
            "device": self.device,
            "shape": list(self.shape),
            "dtype": self.dtype,
            "how": self.how or "made",
            "made": self.made.as_dict() if self.made else None,
            "moved": self.moved.as_dict() if self.moved else None,
        }


@dataclass(frozen=True)
class Mismatch:
    """One device error of a run."""

    message: str
    where: Site | None
    tensors: tuple[Involved, ...] = ()
    rules: tuple[str, ...] = ()

    @property
    def culprit(self) -> Involved | None:
        """The tensor whose line most likely has to change: the one that is not on the accelerator, if there is one."""
        return next((t for t in self.tensors if t.device == "cpu"), self.tensors[0] if self.tensors else None)

    @property
    def repair_path(self) -> str | None:
        """The file that ``devicefix --diff`` should look at."""
        culprit = self.culprit
        site = (culprit.made or culprit.moved) if culprit else None
        site = site or self.where
        return None if site is None or site.path.startswith("<") else shown_path(site.path)

    def explanation(self) -> list[str]:
        """The lines that devicefix adds to torch's message."""
        lines = []
        parts = [
            f"the {t.device} {'generator' if t.dtype == 'generator' else 'tensor'} {'comes ' if not index else ''}from "
            f"{t.origin()}"
            for index, t in enumerate(self.tensors)
        ]
        if parts:
            lines.append(", ".join(parts))
        culprit = self.culprit
        if culprit is not None and culprit.copied is not None:
            lines.append(
                f"a copy of it was moved at {culprit.copied.short} `{culprit.copied.text}`, but that copy is not what "
                "is used here"
            )
        if self.rules:
            named = " or ".join(f"{code} ({RULE_NAMES[code]})" for code in self.rules)
            offer = f"; see: devicefix --diff {self.repair_path}" if self.repair_path else ""
            lines.append(f"repaired by {named}{offer}")
        return lines

    def as_dict(self) -> dict[str, Any]:
        """For json."""
        return {
            "message": self.message,
            "where": self.where.as_dict() if self.where else None,
            "tensors": [t.as_dict() for t in self.tensors],
            "rules": list(self.rules),
            "repair": self.repair_path,
        }

    def identity(self) -> tuple[Any, ...]:
        """Equal for the same mistake met again, in the next step of a training loop say."""
        return (self.message, self.where, tuple((t.device, t.made, t.moved) for t in self.tensors))


@dataclass
class Log:
    """The mismatches of a run. With ``keep_going`` the simulator records instead of raising."""

    keep_going: bool = False
    mismatches: list[Mismatch] = field(default_factory=list)
    repeats: dict[tuple[Any, ...], int] = field(default_factory=dict)

    def record(self, mismatch: Mismatch) -> None:
        """Add a mismatch; the same mistake met again is only counted."""
        identity = mismatch.identity()
        if identity not in self.repeats:
            self.mismatches.append(mismatch)
        self.repeats[identity] = self.repeats.get(identity, 0) + 1

    def times(self, mismatch: Mismatch) -> int:
        """How often a mismatch was met."""
        return self.repeats.get(mismatch.identity(), 1)


DEVICE_ERROR_PHRASES: Sequence[str] = (
    "expected all tensors to be on the same device",
    "should be the same",
    "on the same device",
    "same device type",
    "are not at the same device",
    "to have the same device",
    "device type for generator but found",
    "to numpy. use tensor.cpu",
    "torch not compiled with cuda enabled",
    "found no nvidia driver",
    "no nvidia driver on your system",
    "attempting to deserialize object on",
    "expected device",
    "tensor to be on the same device",
    "1d cpu int64 tensor",
    "cpu scalars to non-cpu kernel",
    "only dense cpu tensors can be pinned",
    "with device type",
    "must be on the same device",
    "no cuda gpus are available",
    "accelerator device when none",
    "invalid device ordinal",
    "gradient with device type",
    "should have same device type",
    "cuda-capable device",
    "tensor on device",
    "device mismatch",
)


def is_device_error(error: BaseException) -> bool:
    """Whether an exception says that tensors, generators or files are on the wrong device."""
    return is_device_message(type(error).__name__, str(error))


def is_device_message(kind: str, message: str) -> bool:
    """Whether an exception of this class with this message is about devices."""
    if kind not in ("RuntimeError", "TypeError", "ValueError", "AssertionError", "AcceleratorError"):
        return False
    low = message.lower()
    if "should be the same" in low and "input type" not in low:
        return False
    return any(phrase in low for phrase in DEVICE_ERROR_PHRASES)
