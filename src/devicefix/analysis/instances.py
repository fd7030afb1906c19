"""Constructor calls."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from devicefix.analysis import records
from devicefix.analysis.classes import ancestry, bases, find_method, is_dataclass, is_module_class, is_named_tuple
from devicefix.analysis.frames import Arguments
from devicefix.analysis.values import UNKNOWN, Closure, Kind, Obj, Origin, Value

if TYPE_CHECKING:
    from devicefix.analysis.frames import Frame
    from devicefix.analysis.interpreter import Interpreter
    from devicefix.analysis.model import ClassInfo


def instantiate(it: Interpreter, frame: Frame, node: ast.Call | None, cls: ClassInfo, args: Arguments) -> Value:
    """``Class(…)``."""
    from devicefix.analysis.calls import call_closure

    module = is_module_class(it, cls)
    obj = Obj(cls, is_module=module, arguments=(tuple(args.positional), dict(args.keywords)))
    if module and node is not None:
        obj.origins = (Origin("module", node, frame.scope(), detail=cls.name, owner=obj),)
        it.records.built.append(obj.origins[0])
        obj.stateful = any(name != "torch.nn.Module" for name in ancestry(it, cls)[1])
    value = Value(Kind.OBJECT, data=obj)
    it.records.classes.setdefault(cls, []).append(obj)
    initialiser = find_method(it, cls, "__init__")
    if initialiser is not None:
        call_closure(it, frame, Closure(initialiser), args, value, node=node)
    elif is_dataclass(cls) or is_named_tuple(it, cls):
        _bind_fields(it, frame, cls, obj, args)
        if not cls.methods and is_named_tuple(it, cls):
            return records.record(tuple(obj.attrs), tuple(obj.attrs.values()))
    else:
        _external_base(it, cls, obj, args)
    if initialiser is None and module:
        obj.children.extend(v for v in args.positional if v.is_module)
    return value


def _bind_fields(it: Interpreter, frame: Frame, cls: ClassInfo, obj: Obj, args: Arguments) -> None:
    from devicefix.analysis.calls import annotated
    from devicefix.analysis.evidence import annotation_kind

    fields: list[str] = []
    for c in reversed(ancestry(it, cls)[0]):
        fields.extend(name for base in bases(it, c) for name in records.field_names(base))
        fields.extend(c.annotations)
    for i, name in enumerate(dict.fromkeys(fields)):
        value = args.get(i, name)
        if args.splat and i >= len(args.positional) and name not in args.keywords:
            value = args.positional[-1]  # one of those in the list that was spread
        if value is None:
            value = annotated(
                Value(Kind.UNKNOWN, ident=("field", id(obj), name)),
                annotation_kind(cls.annotations.get(name), cls.module),
            )
        obj.attrs[name] = value
    post = find_method(it, cls, "__post_init__")
    if post is not None:
        from devicefix.analysis.calls import call_closure

        call_closure(it, frame, Closure(post), Arguments(), Value(Kind.OBJECT, data=obj))


MAPPING_BASES = frozenset(
    {"dict", "UserDict", "OrderedDict", "builtins.dict", "collections.UserDict", "collections.OrderedDict"}
)


def _external_base(it: Interpreter, cls: ClassInfo, obj: Obj, args: Arguments) -> None:
    """A class that inherits its constructor from another library: a dict-like keeps what it was given."""
    outside = ancestry(it, cls)[1]
    bases = {getattr(base, "id", None) for c in ancestry(it, cls)[0] for base in c.node.bases}
    if not (bases & MAPPING_BASES or set(outside) & MAPPING_BASES):
        return
    given = args.get(0)
    if given is not None and given.kind is Kind.MAPPING:
        contents = given
    elif args.keywords:
        contents = Value(Kind.MAPPING, items=dict(args.keywords))
    else:
        contents = Value(Kind.MAPPING, items={}, element=UNKNOWN if args.positional or args.keyword_splat else None)
    user_dict = "UserDict" in bases or "collections.UserDict" in outside
    obj.attrs["data" if user_dict else "<items>"] = contents
