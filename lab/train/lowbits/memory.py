"""What makes training fast on a CPU: memory that is used again, and products in the type that the processor multiplies fastest."""
import ctypes

import torch

#: Parameters of glibc's mallopt.
TRIM_THRESHOLD, MMAP_MAX = -1, -4


def reuse_memory():
    """Keeps freed memory in the process. By default, glibc returns each large tensor's pages to the system, and the kernel
    clears them again for the next one. Does nothing with other C libraries."""
    mallopt = getattr(ctypes.CDLL(None), 'mallopt', None)
    if mallopt is not None:
        mallopt(MMAP_MAX, 0)
        mallopt(TRIM_THRESHOLD, 2 ** 31 - 1)


def product_type():
    """bf16 if the processor has tiles (AMX), else f32: without them, bf16 is slower than f32."""
    return torch.bfloat16 if torch.cpu._is_amx_tile_supported() else torch.float32


def fast_products():
    """A context in which linear layers multiply in product_type."""
    return torch.autocast('cpu', torch.bfloat16, enabled=product_type() == torch.bfloat16)
