"""What is near: kernels, the space they see, and quantiles weighted by them."""

from plcp.locality.kernels import BoxKernel, GaussianKernel

__all__ = ["BoxKernel", "GaussianKernel"]
