"""Calls: who is called, with what, and what comes back."""

from __future__ import annotations

import ast
from collections.abc import Hashable
from typing import TYPE_CHECKING

from devicefix import torch_api
from devicefix.analysis import (
    autograd_functions,
    builtins,
    datasets,
    decorators,
    encodings,
    external,
    instances,
    opaque,
    records,
    tensor_methods,
    tokenizers,
    workers,
)
from devicefix.analysis.annotated import annotated as annotated
from devicefix.analysis.bound_arguments import bind, hand_back
from devicefix.analysis.device_arguments import one_of
from devicefix.analysis.evidence import path_of, shows_tensor
from devicefix.analysis.facts import HostRead, Move
from devicefix.analysis.frames import Arguments, Frame
from devicefix.analysis.interpreter import MAXIMUM_DEPTH
from devicefix.analysis.joins import any_element, join_all
from devicefix.analysis.loaders import entry, item
from devicefix.analysis.meeting import loaded_origins, meet_loaded
from devicefix.analysis.module_calls import call_alternatives, call_instance
from devicefix.analysis.module_methods import call_unknown_module_method
from devicefix.analysis.module_moves import escape, move_object, moved_itself
from devicefix.analysis.object_methods import call_object_method
from devicefix.analysis.passed_functions import PARTIAL, call_partial
from devicefix.analysis.tensor_methods import gives_tensor
from devicefix.analysis.tensor_moves import move_target
from devicefix.analysis.values import NONE, UNKNOWN, Closure, Kind, Value

if TYPE_CHECKING:
    from devicefix.analysis.interpreter import Interpreter
    from devicefix.analysis.model import FunctionInfo


#: methods whose result is where the receiver is, and a tensor if that is one
AS_IT_WAS = frozenset(
    {"float", "double", "half", "long", "int", "bool", "detach", "clone", "contiguous", "view", "reshape"}
)


def call(it: Interpreter, frame: Frame, node: ast.Call) -> Value:
    """The value of a call expression."""
    function = it.evaluate(frame, node.func)
    args = arguments(it, frame, node)
    result = apply(it, frame, node, function, args)
    if result.is_module:
        it.records.values[node].append(result)
    elif result.kind is Kind.OBJECT and function.kind is not Kind.CLASS:
        encodings.mark_encoding(it, frame, node, result)
    elif result.kind is Kind.UNKNOWN and not _looked_into(function):
        escape(it, args.every())
        if datasets.is_told_device(args):
            result = datasets.told_device(frame, node, result)
    return result


def _looked_into(function: Value) -> bool:
    """Whether what a call does to the modules it is given is known: everything but code that was not seen."""
    if function.kind is Kind.EXTERNAL:
        return str(function.data).partition(".")[0] in ("torch", "builtins", "copy", "numpy", "math")
    if function.kind is Kind.METHOD:
        receiver = function.data[0]
        if len(function.data) == 3 or receiver.kind not in (Kind.UNKNOWN, Kind.OBJECT):
            return True
        return receiver.kind is Kind.OBJECT and bool(receiver.data.is_module)
    return function.kind is not Kind.UNKNOWN


def arguments(it: Interpreter, frame: Frame, node: ast.Call) -> Arguments:
    """Evaluate the arguments of a call; splats of known contents are spread."""
    args = Arguments()
    for argument in node.args:
        if isinstance(argument, ast.Starred):
            value = it.evaluate(frame, argument.value)
            if isinstance(value.items, tuple) and not args.splat:
                args.positional.extend(value.items)
                args.nodes.extend([argument] * len(value.items))
            else:
                args.splat = True
                args.positional.append(
                    any_element(value)
                    if value.kind is Kind.SEQUENCE
                    else Value(Kind.UNKNOWN, device=value.device, sources=value.sources)
                )
                args.nodes.append(argument)
            continue
        args.positional.append(it.evaluate(frame, argument))
        args.nodes.append(argument)
    for keyword in node.keywords:
        value = it.evaluate(frame, keyword.value)
        if keyword.arg is not None:
            args.keywords[keyword.arg] = value
            args.keyword_nodes[keyword.arg] = keyword.value
            continue
        contents = value
        if value.kind is Kind.OBJECT and "<items>" in value.data.attrs:
            contents = value.data.attrs["<items>"]
        if (
            isinstance(contents.items, dict)
            and contents.element is None
            and all(isinstance(k, str) for k in contents.items)
        ):
            for name, inner in contents.items.items():
                args.keywords.setdefault(name, inner)
                args.keyword_nodes.setdefault(name, keyword.value)
        else:
            args.keyword_splat = True
            element = any_element(contents) if contents.kind is Kind.MAPPING else entry(contents)
            if element is not None and (element.is_tensor or opaque.is_batch_element(element)):
                args.keywords.setdefault("**", element)
                args.keyword_nodes.setdefault("**", keyword.value)
    return args


def apply(it: Interpreter, frame: Frame, node: ast.Call, function: Value, args: Arguments) -> Value:
    """Call a value."""
    kind = function.kind
    if records.is_record_type(function):
        return records.make(function, args)
    if kind is Kind.EXTERNAL:
        return external.call(it, frame, node, str(function.data), args, function)
    if kind is Kind.FUNCTION:
        return call_closure(it, frame, function.data, args, node=node)
    if kind is Kind.METHOD:
        return call_method(it, frame, node, function, args)
    if kind is Kind.CLASS:
        return instances.instantiate(it, frame, node, function.data, args)
    if kind is Kind.OBJECT:
        return call_instance(it, frame, node, function, args)
    if kind is Kind.MODULE:
        return call_alternatives(it, frame, node, function, args)
    if kind is Kind.UNKNOWN:
        return unknown_call(it, frame, node, function, args)
    return UNKNOWN


def unknown_call(it: Interpreter, frame: Frame, node: ast.Call, function: Value, args: Arguments) -> Value:
    """A call of something unknown. Methods that only tensors have still give tensors."""
    if loaded_origins(function):  # a whole module from a file
        meet_loaded(it, frame, node, [function, *args.every()], called=True, strict=True)
    if isinstance(node.func, ast.Attribute) and function.sources:
        base, name = function.sources[0], node.func.attr
        if base.kind is Kind.OBJECT and base.data.is_module:
            opaque.meet_inputs(it, frame, node, base, node.func.value, args)
            return Value(
                Kind.UNKNOWN, device=base.data.device, ident=("call", node), flags=frozenset({"likely_tensor"})
            )
        if name in torch_api.MOVE_METHODS:
            device, _dtype, moves = move_target(name, args)
            result = Value(
                Kind.UNKNOWN,
                device=device if moves else base.device,
                ident=("moved", base.ident, node),
                flags=frozenset({"moved"}),
            )
            path = path_of(node.func.value)
            if moves and frame.function is not None and path in frame.function.evidence.called:
                # what is moved and called is a module, and `.to` moves it in place
                result = result.replace(kind=Kind.MODULE)
                if path in frame.names:
                    frame.names[path] = result
            it.records.moves.append(Move(node, name, base, result, device if moves else None, frame.scope()))
            return result
        if base.has("likely_tensor") and base.device is not None and shows_tensor(name):
            return tensor_methods.call_method(it, frame, node, opaque.as_tensor(base), name, args)
        if name == "numpy" and base.has("moved"):
            it.records.host_reads.append(HostRead(node, name, base, frame.scope(), without_card=it.host_only > 0))
            return Value(Kind.NDARRAY)
        if name in ("size", "dim", "numel"):
            return Value(Kind.SIZE, sources=(base,))
        if name in ("item", "tolist", "keys"):
            return UNKNOWN
        if name in ("items", "values") and not args.positional:
            inner = Value(Kind.UNKNOWN, device=base.device, ident=("item", base.ident, None))
            if name == "values":
                return Value(Kind.SEQUENCE, element=inner)
            pair = (Value(Kind.UNKNOWN, ident=("key", base.ident)), inner)
            return Value(Kind.SEQUENCE, element=Value(Kind.SEQUENCE, items=pair, data="tuple"))
        if name in AS_IT_WAS:
            flags = frozenset({"likely_tensor"})
            return Value(Kind.UNKNOWN, device=base.device, flags=flags, origins=loaded_origins(base))
        key = args.positional[0].data if args.positional else None
        if name in ("get", "pop") and isinstance(key, str) and (base.origins or base.has("likely_tensor")):
            return item(base, key, key)
        if loaded_origins(base) and (name in ("get", "pop") or gives_tensor(name)):
            return Value(Kind.UNKNOWN, device=base.device, ident=("call", node), origins=loaded_origins(base))
    if tokenizers.wants_tensors(args):  # only tokenizers and processors have such a parameter
        name = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        if name in tokenizers.ID_ENCODERS:
            return tokenizers.token_ids(it, frame, node, args)
        if not name or name in tokenizers.ENCODERS or name in ("tokenizer", "processor"):
            return tokenizers.tokens(it, frame, node, args)
    opaque.note_companions(it, frame, node, args)
    return Value(Kind.UNKNOWN, ident=("call", node), device=None)


def call_method(it: Interpreter, frame: Frame, node: ast.Call, function: Value, args: Arguments) -> Value:
    """``receiver.name(…)``."""
    receiver: Value = function.data[0]
    name: str = function.data[1]
    if receiver.kind in (Kind.SEQUENCE, Kind.EXTERNAL) and records.field_names(receiver):
        return records.call_method(receiver, name, args) or builtins.call_method(it, frame, node, receiver, name, args)
    if name == PARTIAL:
        return call_partial(it, frame, node, receiver, args)
    if len(function.data) == 3:  # a method of the project
        result = call_closure(it, frame, Closure(function.data[2]), args, receiver, node=node)
        if name in torch_api.MOVE_METHODS and receiver.kind is Kind.OBJECT:
            it.records.moves.append(Move(node, name, receiver, result, None, frame.scope()))
            if not receiver.data.is_module:
                moved = result if result.kind is Kind.OBJECT else receiver
                moved_itself(it, moved.data, move_target(name, args)[0])
            if receiver.data.is_module and receiver.data.device is None:
                move_object(it, frame, node, receiver, move_target(name, args)[0])
        return result
    if receiver.is_tensor:
        return tensor_methods.call_method(it, frame, node, receiver, name, args)
    if receiver.kind is Kind.OBJECT:
        return call_object_method(it, frame, node, receiver, name, args)
    if receiver.kind is Kind.CLASS and name == "apply":
        return autograd_functions.apply(it, frame, node, receiver.data, args)
    if receiver.kind is Kind.MODULE:
        return call_unknown_module_method(it, frame, node, receiver, name, args)
    return builtins.call_method(it, frame, node, receiver, name, args)


def call_closure(
    it: Interpreter,
    frame: Frame,
    closure: Closure,
    args: Arguments,
    receiver: Value | None = None,
    node: ast.AST | None = None,
) -> Value:
    """Call a function of the project: interpret its body with these arguments."""
    info = closure.function
    body = info.node
    instead = decorators.stand_in(it, closure, receiver)
    if instead is not None:
        return decorators.call_instead(it, frame, instead, args, receiver, node)
    if body in it.active:
        it.recursive[info] = closure
        return passed_over(receiver, node)
    if closure.bare and receiver is None and info.cls is not None:
        receiver, args = decorators.receiver_apart(info, args)
    given = args.every()
    own = [] if receiver is None or info.name == "__init__" else [receiver]
    if frame.depth >= MAXIMUM_DEPTH or it.budget <= it.reserve or not it.worth(closure, [*given, *own]):
        escape(it, given if receiver is None or not info.places else [*given, receiver])
        return passed_over(receiver, node)
    key = _key(it, closure, args, receiver)
    known = it.results.get(key)
    if known is not None and known[0] == it.heap_version and not _makes_module(frame, known[1], args, receiver):
        return known[1]
    names = bind(it, frame, info, args, receiver)
    inner = Frame(
        info.module,
        info,
        names,
        outer=closure.names if closure.names is not None or info.cls is None else info.cls.outer,
        self_object=receiver.data if receiver is not None and receiver.kind is Kind.OBJECT else None,
        depth=frame.depth + 1,
        assumed=frame.assumed,
    )
    inner.parent, inner.call = frame, node
    result = run_body(it, inner, info)
    if not hand_back(it, frame, inner, args, receiver):
        it.results[key] = (it.heap_version, result)
    return result


def passed_over(receiver: Value | None, node: ast.AST | None) -> Value:
    """The result of a call that is not followed: of a module, most likely something where the module is."""
    if receiver is not None and receiver.is_module and receiver.kind is Kind.OBJECT:
        return Value(Kind.UNKNOWN, device=receiver.data.device, flags=frozenset({"likely_tensor"}))
    return Value(Kind.UNKNOWN, ident=("call", node))


def _makes_module(frame: Frame, result: Value, args: Arguments, receiver: Value | None) -> bool:
    """Whether a function gives a new module at each call.

    Layers that a constructor asks for stay together; one stands for all.
    """
    if result.kind is not Kind.OBJECT or not result.data.is_module:
        return False
    if frame.function is not None and frame.function.name == "__init__":
        return False
    given = (*args.every(), receiver) if receiver is not None else args.every()
    return all(value.data is not result.data for value in given)


def run_body(it: Interpreter, frame: Frame, info: FunctionInfo) -> Value:
    """Interpret the body of a function and return what it returns."""
    it.active.append(info.node)
    it.interpreted.add(info.node)
    if info.cls is not None and info.name in workers.ITEM_METHODS:
        workers.record_item_method(it, info)
    contexts = len(it.default_devices)
    try:
        if isinstance(info.node, ast.Lambda):
            return it.evaluate(frame, info.node.body)
        falls_through = it.run(frame, info.node.body)
        if info.is_generator:
            return Value(Kind.SEQUENCE, element=join_all(frame.yields), data="generator")
        returns = frame.returns
        if falls_through and returns and not isinstance(info.node.body[-1], (ast.With, ast.Try)):
            returns = [*returns, NONE]
        elif falls_through and not returns:
            return NONE
        return one_of(returns)
    finally:
        it.active.pop()
        del it.default_devices[contexts:]


def _key(it: Interpreter, closure: Closure, args: Arguments, receiver: Value | None) -> Hashable:
    return (
        closure.function.node,
        id(closure.names) if closure.names is not None else 0,
        receiver.key() if receiver is not None else None,
        tuple(v.key() for v in args.positional),
        tuple((k, v.key()) for k, v in args.keywords.items()),
        args.splat,
        tuple(it.default_devices),
    )
