"""Functions of other libraries that take or make tensors, in the notation of ``_generated.py``."""

from __future__ import annotations

from typing import Final

_EINOPS = {
    "rearrange": "(tensor:t*, pattern) tensor out=input",
    "reduce": "(tensor:t*, pattern, reduction) tensor out=input",
    "repeat": "(tensor:t*, pattern) tensor out=input",
    "einsum": "(*tensors_and_pattern:t*) tensor mix=strict one_dtype out=input",
    "pack": "(tensors:t*, pattern) list mix=strict out=input",
    "unpack": "(tensor:t, packed_shapes, pattern) tensors out=input",
}
_SCATTER = "(src:t, index:t, dim, out:t, dim_size) tensor mix=strict out=input"
_SCATTER_PAIR = "(src:t, index:t, dim, out:t, dim_size) tensors mix=strict fields=out:input/arg_out:int"

FUNCTIONS: Final[dict[str, str]] = {
    **{f"einops.{name}": row for name, row in _EINOPS.items()},
    **{
        f"torch_scatter.{name}": _SCATTER
        for name in (
            "scatter",
            "scatter_sum",
            "scatter_add",
            "scatter_mean",
            "scatter_mul",
            "scatter_softmax",
            "scatter_std",
        )
    },
    **{f"torch_scatter.{name}": _SCATTER_PAIR for name in ("scatter_max", "scatter_min")},
    "torch_cluster.knn": "(x:t, y:t, k, batch_x:t, batch_y:t, cosine) tensor mix=strict out=int",
    "torch_cluster.radius": "(x:t, y:t, r, batch_x:t, batch_y:t, max_num_neighbors) tensor mix=strict out=int",
    "torch_geometric.utils.add_self_loops": "(edge_index:t, edge_attr:t, fill_value, num_nodes) tensors mix=strict",
    "torch_geometric.utils.degree": "(index:t, num_nodes, dtype) tensor dtype",
    "torch_geometric.utils.to_dense_adj": "(edge_index:t, batch:t, edge_attr:t, max_num_nodes) tensor mix=strict "
    "out=float",
    "torch_geometric.utils.to_dense_batch": "(x:t, batch:t, fill_value, max_num_nodes) tensors mix=strict",
    "torch_geometric.utils.softmax": "(src:t, index:t, ptr:t, num_nodes, dim) tensor mix=strict out=float rank=same",
    **dict.fromkeys(
        (
            "torch_geometric.nn.global_mean_pool",
            "torch_geometric.nn.global_add_pool",
            "torch_geometric.nn.global_max_pool",
        ),
        "(x:t, batch:t, size) tensor mix=strict out=input rank=some",
    ),
    "torch.nn.Transformer.generate_square_subsequent_mask": "(sz, device, dtype) tensor creates device dtype out=float "
    "rank=some",
    "torchvision.ops.nms": "(boxes:t, scores:t, iou_threshold) tensor mix=strict one_dtype out=int rank=some",
    "torchvision.ops.batched_nms": "(boxes:t, scores:t, idxs:t, iou_threshold) tensor mix=strict out=int rank=some",
    "torchvision.ops.box_iou": "(boxes1:t, boxes2:t) tensor mix=strict out=float rank=some",
    "torchvision.ops.generalized_box_iou": "(boxes1:t, boxes2:t) tensor mix=strict out=float rank=some",
    "torchvision.ops.roi_align": "(input:t, boxes:t*, output_size, spatial_scale, sampling_ratio, aligned) tensor "
    "mix=strict one_dtype out=input "
    "rank=same",
    "torchvision.ops.sigmoid_focal_loss": "(inputs:t, targets:t, alpha, gamma, reduction) tensor mix=same out=float",
    "torchvision.utils.make_grid": "(tensor:t*, nrow, padding, normalize) tensor mix=strict out=input rank=some",
    "torchvision.utils.save_image": "(tensor:t*, fp, format) none",
    "torchvision.io.read_image": "(path, mode) tensor creates cpu out=int rank=some",
    "torchvision.transforms.functional.to_tensor": "(pic) tensor creates cpu out=float rank=some",
    "torchvision.transforms.functional.normalize": "(tensor:t, mean, std, inplace) tensor out=input rank=same",
    "torchvision.transforms.functional.resize": "(img:t, size, interpolation) tensor out=input rank=same",
    "torchaudio.load": "(uri) tensors creates cpu fields=waveform:float/sample_rate:number",
    "kornia.filters.gaussian_blur2d": "(input:t, kernel_size, sigma, border_type) tensor out=input rank=same",
    "timm.utils.accuracy": "(output:t, target:t, topk) list mix=same",
    "xformers.ops.memory_efficient_attention": "(query:t, key:t, value:t, attn_bias:t, p, scale) tensor mix=strict "
    "one_dtype out=input rank=same",
    "transformers.set_seed": "(seed) none",
    "lightning.pytorch.seed_everything": "(seed, workers) int",
}
