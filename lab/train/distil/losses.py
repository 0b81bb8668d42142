"""The losses of the two stages of distillation (Bick et al. 2024, arXiv 2408.10189)."""
import numpy as np
import torch
import torch.nn.functional as F

from stories.prepare import IDS, OWN


def ids_of(rows):
    """Splits windows of time + 1 tokens into ids [batch, time] and a mask of the next tokens that are the model's own."""
    return (torch.from_numpy((rows[:, :-1] & IDS).astype(np.int64)), torch.from_numpy((rows[:, 1:] & OWN) != 0))


def align_loss(teacher, student, rows):
    """Mean over mixers of the squared error relative to the attention each replaces, on the teacher's inputs, divided by its
    variance."""
    ids, _ = ids_of(rows)
    total, x = 0, teacher.embed[ids].detach()
    for ours, theirs in zip(student.layers, teacher.layers):
        with torch.no_grad():
            u = teacher.norm(x, theirs.norm1)
            wanted = teacher.attention(theirs, u)
            gate, up = F.linear(teacher.norm(x + wanted, theirs.norm2), theirs.gate_up).chunk(2, -1)
            x = x + wanted + F.linear(F.silu(gate) * up, theirs.down)
        total = total + F.mse_loss(student.mixer(ours, u), wanted) / wanted.var()
    return total / len(student.layers)


def distil_loss(teacher, student, rows):
    """Mean of KL(teacher, student) in nats over the next tokens that are the model's own."""
    ids, own = ids_of(rows)
    with torch.no_grad():
        wanted = F.log_softmax(teacher(ids, own), -1)
    return F.kl_div(F.log_softmax(student(ids, own), -1), wanted, reduction='batchmean', log_target=True)
