"""From an error and the tensors that caused it to a `Mismatch`: where each came from and which rule repairs it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import torch

from devicefix.verify.mismatch import Involved, Mismatch
from devicefix.verify.sites import RawSite, Site, is_statement_of_its_own, resolve, user_frame, user_site
from devicefix.verify.tags import Tag, device_of, tag_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import FrameType

ATTACHED = "devicefix_mismatch"
_FACTORY = re.compile(
    r"\b(torch|np|numpy)\.(zeros|ones|empty|full|rand|randn|randint|randperm|arange|linspace|logspace|eye|tensor|as_tensor|"
    r"asarray|from_numpy|tril_indices|triu_indices|hann_window|hamming_window|scalar_tensor|normal|multinomial)\b"
)
_LEGACY = re.compile(r"\b(Float|Double|Half|BFloat16|Byte|Char|Short|Int|Long|Bool)Tensor\(|\btorch\.Tensor\(|\.new\(")
_REGISTERED = {"_parameters", "_buffers", "_modules"}  # reached by .to(), so not the mistake
_MOVE = re.compile(r"\.(to|cuda|cpu|half|float|double|bfloat16)\(")


def site_of_error(error: BaseException) -> RawSite | None:
    """The innermost user line in an exception's traceback, where there is one."""
    from devicefix.verify.sites import is_user_file

    found: RawSite | None = None
    traceback = error.__traceback__
    while traceback is not None:
        code = traceback.tb_frame.f_code
        if is_user_file(code.co_filename):
            found = code, traceback.tb_lasti
        traceback = traceback.tb_next
    return found


def explain(
    error: BaseException, tensors: Sequence[Any], where: RawSite | None = None, frame: FrameType | None = None
) -> Mismatch:
    """Build the mismatch, attach it to the error, and add its explanation to the error's notes (Python 3.11 and
    newer)."""
    involved = _distinct([_involved(tensor) for tensor in tensors])
    site = resolve(where or user_site())
    rules = suggest(str(error), involved, tensors, frame or user_frame())
    mismatch = Mismatch(str(error).split("\nCUDA kernel errors")[0], site, tuple(involved), tuple(rules))
    setattr(error, ATTACHED, mismatch)
    add_note = getattr(error, "add_note", None)
    if add_note is not None:
        for line in mismatch.explanation():
            add_note(f"devicefix: {line}")
    return mismatch


def attached_to(error: BaseException) -> Mismatch | None:
    """The explanation that an error already carries."""
    found = getattr(error, ATTACHED, None)
    return found if isinstance(found, Mismatch) else None


def _involved(tensor: Any) -> Involved:
    if not isinstance(tensor, torch.Tensor):  # a generator
        return Involved(str(tensor.device), (), "generator", None, None)
    tag = tag_of(tensor) or Tag(None)
    return Involved(
        str(device_of(tensor)),
        tuple(tensor.shape),
        str(tensor.dtype).replace("torch.", ""),
        resolve(tag.made),
        resolve(tag.moved),
        resolve(tag.copied),
        tag.how,
    )


def _distinct(involved: list[Involved]) -> list[Involved]:
    """One tensor per device, the accelerator's last: the CPU tensor is the one to look at."""
    by_device: dict[str, Involved] = {}
    for one in involved:
        by_device.setdefault(one.device, one)
    return sorted(by_device.values(), key=lambda one: one.device != "cpu")


def suggest(message: str, involved: Sequence[Involved], tensors: Sequence[Any], frame: FrameType | None) -> list[str]:
    """The codes of the rules that would repair the mistake, the likeliest first."""
    low = message.lower()
    if "for generator" in low:
        return ["DVF203"]
    if "numpy" in low:
        return ["DVF505"]
    if any(phrase in low for phrase in ("not compiled with cuda", "nvidia driver", "accelerator device when none")):
        return ["DVF401"]
    if "deserialize" in low:
        return ["DVF504"]
    if "indices should be either" in low:
        return ["DVF506"]
    if involved and all(one.device != "cpu" for one in involved):
        return ["DVF504"] if any(one.how == "loaded" and one.moved is None for one in involved) else ["DVF601"]
    culprit = next((one for one in involved if one.device == "cpu"), None)
    if culprit is None:
        return []
    value = next((t for t in tensors if isinstance(t, torch.Tensor) and str(device_of(t)) == "cpu"), None)
    return _by_origin(culprit, value, frame)


def _by_origin(culprit: Involved, value: Any, frame: FrameType | None) -> list[str]:
    if culprit.copied is not None and _MOVE.search(culprit.copied.text):
        return ["DVF101"] if is_statement_of_its_own(culprit.copied) else ["DVF104"]
    if culprit.how == "loaded":
        return ["DVF504"]
    if culprit.how == "batch":
        return ["DVF501"]
    holder = _holder_of(value, frame)
    if holder is not None:
        return [holder]
    if isinstance(value, torch.nn.Parameter):
        return ["DVF302", "DVF502"]
    text = culprit.made.text if culprit.made else ""
    if _LEGACY.search(text):
        return ["DVF202", "DVF201"]
    if _FACTORY.search(text):
        return ["DVF201"]
    if culprit.made is not None and _is_in_dataset(culprit.made):
        return ["DVF501"]
    return ["DVF201"] if culprit.made is not None else ["DVF501"]


def _is_in_dataset(site: Site) -> bool:
    return "__getitem__" in site.function or "collate" in site.function or "__iter__" in site.function


def _holder_of(value: Any, frame: FrameType | None) -> str | None:
    """Whether the tensor is kept by the module whose method was running, where ``.to()`` does not reach it."""
    owner = frame.f_locals.get("self") if frame is not None else None
    if value is None or not isinstance(owner, torch.nn.Module):
        return None
    address = _address(value)
    if address is None:
        return None
    for name, held in vars(owner).items():
        if name in _REGISTERED:
            continue
        if isinstance(held, torch.Tensor) and _address(held) == address:
            return "DVF301"
        if isinstance(held, (list, tuple, dict)):
            for item in held.values() if isinstance(held, dict) else held:
                if isinstance(item, torch.nn.Parameter) and _address(item) == address:
                    return "DVF303"
                if isinstance(item, torch.Tensor) and _address(item) == address:
                    return "DVF305"
                if isinstance(item, torch.nn.Module) and any(_address(p) == address for p in item.parameters()):
                    return "DVF302"
    return None


def _address(tensor: Any) -> int | None:
    try:
        return int(tensor.untyped_storage()._cdata)
    except (NotImplementedError, RuntimeError):
        return None
