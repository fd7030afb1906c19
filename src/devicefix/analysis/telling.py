"""Names that tell, before anything is known of values, what a piece of code may be about."""

from __future__ import annotations

import ast
from functools import cache

from devicefix.analysis.tree_index import last_name

#: names that make a function interesting wherever they stand in it
TELLING = frozenset(
    {"Generator", "DataLoader", "load", "load_url", "load_state_dict_from_url", "numpy", "asarray", "optim",
     "from_pretrained", "deepcopy", "set_default_device", "set_default_tensor_type", "DataParallel",
     "DistributedDataParallel",
     "RandomSampler", "random_split", "register_forward_pre_hook", "register_module_forward_pre_hook"}
)  # fmt: skip

#: distributions that are made of numbers alone and then draw on the default device
FROM_NUMBERS = frozenset(
    {"Normal", "Uniform", "Bernoulli", "Beta", "Gamma", "Exponential", "Laplace", "Gumbel", "Cauchy", "HalfNormal",
     "LogNormal", "Poisson", "StudentT"}
)  # fmt: skip

#: functions that are told the type of a device and put nothing on it
NAMING_A_TYPE = frozenset(
    {"autocast", "is_autocast_enabled", "is_autocast_available", "get_autocast_dtype", "startswith"}
)

#: how the parts of the name of a data loader begin
BATCH_WORDS = ("load", "data", "batch", "train", "test", "valid", "tqdm")


def counts(node: ast.expr) -> bool:
    """``range(…)``, ``tqdm(range(…))``: numbers."""
    while isinstance(node, ast.Call) and node.args and last_name(node.func) in ("enumerate", "tqdm", "trange"):
        node = node.args[0]
    return isinstance(node, ast.Call) and last_name(node.func) == "range"


@cache
def batch_word(name: str) -> bool:
    """Whether a name sounds like that of a data loader."""
    for word in name.lower().split("_"):
        if word.endswith(("loader", "dl", "iter", "bar")) or word.startswith(BATCH_WORDS) or word == "val":
            return True
    return False


def named_loader(name: str) -> bool:
    """Whether a parameter is called a data loader, outright."""
    return name.lower().replace("_", "").endswith("loader")
