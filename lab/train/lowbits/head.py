"""The distillation loss of a model's final states, with its gradients, a few positions at a time.

Logits of 1,024 positions of a vocabulary of 49,152 take 200 MB, and autograd keeps about ten such tensors. Here each chunk's
logits become gradients at once, so that its tensors are used again.
"""
import torch

from lowbits.memory import product_type

#: Positions whose logits exist at once.
CHUNK = 128


def chunk_of(ours, theirs, gamma):
    """Confidence-aware KL summed over positions, from logits [positions, vocabulary], and its gradient to ours."""
    s, t = torch.log_softmax(ours, -1), torch.log_softmax(theirs, -1)
    odds, wanted = s.exp(), t.exp()
    apart = s.sub_(t)
    backward, forward = torch.linalg.vecdot(odds, apart), -torch.linalg.vecdot(wanted, apart)
    slope = odds.mul_(apart.sub_(backward[:, None]).mul_(gamma).add_(1 - gamma)).sub_(wanted, alpha=1 - gamma)
    return float((gamma * backward + (1 - gamma) * forward).sum()), slope


class Divergence(torch.autograd.Function):
    """compress.losses.cakld of the logits of states [positions, hidden] with tables [vocabulary, hidden]."""

    @staticmethod
    def forward(ctx, states, table, theirs, their_table, gamma):
        ours, weights, theirs = (each.detach().to(product_type()) for each in (states, table, theirs))
        slopes, total = torch.empty(len(ours), len(weights), dtype=product_type()), 0.0
        for at in range(0, len(ours), CHUNK):
            own = slice(at, at + CHUNK)
            logits = [(part[own] @ each.t()).float() for part, each in ((ours, weights), (theirs, their_table))]
            loss, slope = chunk_of(*logits, gamma)
            slopes[own] = slope
            total += loss
        ctx.save_for_backward(ours, weights, slopes)
        return states.new_tensor(total / len(ours), dtype=torch.float32)

    @staticmethod
    def backward(ctx, gradient):
        ours, weights, slopes = ctx.saved_tensors
        share = gradient / len(ours)
        return (slopes @ weights).float() * share, (slopes.t() @ ours).float().mul_(share), None, None, None


def divergence(states, table, theirs, their_table, gamma):
    """Confidence-aware KL per position to the model with the states theirs and the table their_table in product_type."""
    return Divergence.apply(states, table, theirs, their_table, gamma)
