"""The paper's networks, without their last layer; they learn the width of their input by looking.

Their weights are drawn where they are first used: by ``fit``, from its ``random_state``.
"""

from torch import nn


def mlp(*widths: int) -> nn.Sequential:
    """Layers of ReLU units of these widths; ``mlp(200, 100)`` is the paper's, for census data.

    Examples
    --------
    >>> import torch
    >>> mlp(200, 100)(torch.zeros(3, 7)).shape
    torch.Size([3, 100])
    """
    layers: list[nn.Module] = [nn.Flatten()]
    for width in widths:
        layers += [nn.LazyLinear(width), nn.ReLU()]
    return nn.Sequential(*layers)


def small_cnn() -> nn.Sequential:
    """Three convolutions, of 8, 16 and 16 channels, and a layer of 64 units; for MNIST.

    The layer that `TorchPartition` or `TorchQuantile` puts on top is the second of the paper's two.
    Strides stand for pooling: two to three times cheaper, and no worse.

    Examples
    --------
    >>> import torch
    >>> small_cnn()(torch.zeros(3, 1, 28, 28)).shape
    torch.Size([3, 64])
    """
    return nn.Sequential(
        nn.LazyConv2d(8, kernel_size=5, stride=2, padding=2),
        nn.ReLU(),
        nn.LazyConv2d(16, kernel_size=3, stride=2, padding=1),
        nn.ReLU(),
        nn.LazyConv2d(16, kernel_size=3, padding=1),
        nn.ReLU(),
        nn.Flatten(),
        nn.LazyLinear(64),
        nn.ReLU(),
    )


def one_conv() -> nn.Sequential:
    """One convolution of 8 channels, which the layer on top reads; the paper's, for RxRx1.

    Examples
    --------
    >>> import torch
    >>> one_conv()(torch.zeros(3, 1, 28, 28)).shape
    torch.Size([3, 1568])
    """
    return nn.Sequential(
        nn.LazyConv2d(8, kernel_size=5, stride=2, padding=2), nn.ReLU(), nn.Flatten()
    )
