"""Mamba-2's state space in chunks (SSD: Dao and Gu 2024, arXiv 2405.21060, section 6), and the plain recurrence."""
import torch
import torch.nn.functional as F


def recurrence(x, dt, decay, b, c):
    """The result of ssd, computed position by position, for tests."""
    per_group = x.shape[2] // b.shape[2]
    b, c = b.repeat_interleave(per_group, 2), c.repeat_interleave(per_group, 2)
    state, rows = torch.zeros(*x.shape[:1], *x.shape[2:], b.shape[-1], dtype=x.dtype), []
    for t in range(x.shape[1]):
        state = state * (dt[:, t] * decay).exp()[..., None, None]
        state = state + (dt[:, t, :, None] * x[:, t])[..., None] * b[:, t, :, None]
        rows.append((state * c[:, t, :, None]).sum(-1))
    return torch.stack(rows, 1)


def ssd(x, dt, decay, b, c, chunk=64):
    """For each head: state <- exp(dt decay) state + dt x b^T and y = state c, starting from a state of zeros.

    x: [batch, time, heads, width]; dt: [batch, time, heads], above 0; decay: [heads], below 0;
    b, c: [batch, time, groups, states]; head i reads group i // (heads / groups). Returns y, as x.
    """
    batch, time, heads, width = x.shape
    groups, states = b.shape[2:]
    pad = -time % chunk
    if pad:
        x, dt, b, c = (F.pad(each, [0, 0] * (each.ndim - 2) + [0, pad]) for each in (x, dt, b, c))
    count = (time + pad) // chunk

    def cut(each):
        """[batch, time, n, ...] as [batch, chunks, n, time of a chunk, ...]."""
        return each.reshape(batch, count, chunk, *each.shape[2:]).transpose(2, 3)

    log = cut(dt * decay).cumsum(-1)
    x, b, c = cut(x * dt[..., None]), cut(b), cut(c)
    seen = torch.ones(chunk, chunk, dtype=torch.bool).tril()
    fade = (log[..., :, None] - log[..., None, :]).masked_fill(~seen, float('-inf')).exp()
    scores = c @ b.transpose(-1, -2)
    fade = fade.view(batch, count, groups, -1, chunk, chunk) * scores[:, :, :, None]
    y = fade.view(batch, count, heads, chunk, chunk) @ x
    # The state after a chunk, per group: [width of its heads, states].
    left = x * (log[..., -1:] - log).exp()[..., None]
    left = left.view(batch, count, groups, -1, chunk, width).transpose(-1, -2).flatten(3, 4)
    left = (left @ b).view(batch, count, heads, width, states)
    kept = log[..., -1].exp()[..., None, None]
    state, before = torch.zeros_like(left[:, 0]), []
    for i in range(count):
        before.append(state)
        state = state * kept[:, i] + left[:, i]
    before = torch.stack(before, 1).view(batch, count, groups, -1, states)
    from_before = (c @ before.transpose(-1, -2)).view(batch, count, groups, chunk, -1, width).transpose(3, 4)
    y = y + from_before.reshape(y.shape) * log.exp()[..., None]
    return y.transpose(2, 3).reshape(batch, time + pad, heads, width)[:, :time]
