"""Mamba's convolution and selective scan as differentiable functions, computed by scan.c (compiled on first use)."""
import ctypes
import os
import subprocess
import tempfile
from functools import lru_cache
from pathlib import Path

import torch

STATES, WIDTH, CHUNK = 16, 4, 16


@lru_cache(maxsize=None)
def library():
    """scan.c as a shared library for this machine's vector units."""
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / 'scan.so'
        # not -ffast-math: rounding by adding and subtracting a large number must survive
        subprocess.run([os.environ.get('CC', 'cc'), '-O3', '-march=native', '-ffp-contract=fast', '-shared', '-fPIC',
                        '-o', target, Path(__file__).with_name('scan.c')], check=True)
        return ctypes.CDLL(str(target))


def run(name, shape, *tensors):
    """Calls a function of scan.c over [batch, time, channels]; all tensors are contiguous f32."""
    assert all(t.is_contiguous() and t.dtype == torch.float32 for t in tensors)
    getattr(library(), name)(*map(ctypes.c_int, shape), *(ctypes.c_void_p(t.data_ptr()) for t in tensors))


class Conv(torch.autograd.Function):
    """silu of a causal convolution by channel: x [batch, time, channels], weight [WIDTH, channels], bias [channels]."""

    @staticmethod
    def forward(ctx, x, weight, bias):
        ctx.save_for_backward(x, weight, bias)
        out = torch.empty_like(x)
        run('conv_forward', x.shape, x, weight, bias, out)
        return out

    @staticmethod
    def backward(ctx, grad):
        x, weight, bias = ctx.saved_tensors
        grads = torch.empty_like(x), torch.zeros_like(weight), torch.zeros_like(bias)
        run('conv_backward', x.shape, x, weight, bias, grad.contiguous(), *grads)
        return grads


class Scan(torch.autograd.Function):
    """
    The gated selective scan: x, raw step sizes and gate z [batch, time, channels], B and C side by side
    [batch, time, 2 * STATES], A [STATES, channels], D [channels].
    """

    @staticmethod
    def forward(ctx, x, raw, z, bc, a, d):
        batch, time, channels = x.shape
        out = torch.empty_like(x)
        states = torch.empty(batch * -(-time // CHUNK) * channels * STATES)
        run('scan_forward', x.shape, x, raw, z, bc, a, d, out, states)
        ctx.save_for_backward(x, raw, z, bc, a, d, states)
        return out

    @staticmethod
    def backward(ctx, grad):
        *inputs, states = ctx.saved_tensors
        x, _, _, bc, a, d = inputs
        grads = (*(torch.empty_like(x) for _ in range(3)), torch.empty_like(bc), torch.zeros_like(a), torch.zeros_like(d))
        run('scan_backward', x.shape, *inputs, states, grad.contiguous(), *grads, torch.empty(a.shape))
        return grads
