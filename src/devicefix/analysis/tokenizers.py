"""What tokenizers return: encodings and tensors on the CPU."""

from __future__ import annotations

import ast
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


def token_ids(it: Interpreter, frame: Frame, node: ast.Call) -> Value:
    """``tokenizer.encode(text, return_tensors="pt")``: a tensor on the CPU."""
    origin = Origin("encoding", node, frame.scope(), detail="tensor")
    return Value(Kind.TENSOR, device=DEFAULT, dtype=DType.INT, rank=2, origins=(origin,))


#: methods of tokenizers that make an encoding, and those that make a tensor
ENCODERS = frozenset({"encode_plus", "batch_encode_plus", "pad", "prepare_for_model"})


ID_ENCODERS = frozenset({"encode"})
