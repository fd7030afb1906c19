"""What tokenizers return: encodings and tensors on the CPU."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from devicefix.analysis.devices import DEFAULT
from devicefix.analysis.values import UNKNOWN, DType, Kind, Obj, Origin, Value

if TYPE_CHECKING:
    from devicefix.analysis.frames import Arguments, Frame
    from devicefix.analysis.interpreter import Interpreter


def tokens(it: Interpreter, frame: Frame, node: ast.Call, args: Arguments) -> Value:
    """``tokenizer(text, return_tensors="pt")``: an encoding on the CPU that moves in place."""
    if not wants_tensors(args):
        return Value(Kind.MAPPING, element=Value(Kind.SEQUENCE, element=UNKNOWN))
    obj = Obj(None, external="transformers.BatchEncoding")
    origin = Origin("encoding", node, frame.scope(), detail="tokenizer")
    tensor = Value(Kind.TENSOR, device=DEFAULT, dtype=DType.INT, rank=2, origins=(origin,))
    obj.attrs["<items>"] = Value(Kind.MAPPING, items={"input_ids": tensor, "attention_mask": tensor}, element=tensor)
    obj.device = DEFAULT
    return Value(Kind.OBJECT, data=obj)


def wants_tensors(args: Arguments) -> bool:
    """Whether a tokenizer is asked for tensors of torch."""
    wanted = args.keywords.get("return_tensors")
    return wanted is not None and wanted.data == "pt"


def token_ids(it: Interpreter, frame: Frame, node: ast.Call, args: Arguments) -> Value:
    """``tokenizer.encode(text, return_tensors="pt")``: a tensor on the CPU; ``return_dict=True``: an encoding."""
    asked = args.keywords.get("return_dict")
    if asked is not None:
        return tokens(it, frame, node, args) if asked.data is True else UNKNOWN
    origin = Origin("encoding", node, frame.scope(), detail="tensor")
    return Value(Kind.TENSOR, device=DEFAULT, dtype=DType.INT, rank=2, origins=(origin,))


#: what the entries of an encoding are called, which tokenizers, processors and feature extractors make
ENTRY = re.compile(r"(?:^|_)(?:ids|mask|values|features|labels|boxes|bbox|positions)$")


#: methods of an encoding that are called like entries
METHODS = frozenset({"word_ids", "sequence_ids", "values"})


def entry(contents: Value, name: str) -> Value | None:
    """``encoding.pixel_values``: an entry that is read like an attribute; ``None`` for attributes proper."""
    if isinstance(contents.items, dict) and name in contents.items:
        found: Value = contents.items[name]
        return found
    element = contents.element
    if element is None or not element.is_tensor or not ENTRY.search(name) or name in METHODS:
        return None
    floating = name.endswith(("values", "features", "boxes"))
    return element.replace(dtype=DType.FLOAT) if floating else element


#: methods of tokenizers that make an encoding, and those that make a tensor
ENCODERS = frozenset({"encode_plus", "batch_encode_plus", "pad", "prepare_for_model"})


ID_ENCODERS = frozenset({"encode", "apply_chat_template"})
