"""Logits of a teacher and a student in, what training lowers out."""
import torch
import torch.nn.functional as F


def confidence(teacher, batches):
    """gamma: the mean probability that the teacher gives the tokens that come. BitDistiller, 3.2."""
    with torch.no_grad():
        found = [F.softmax(teacher(ids[:, :-1]), -1).gather(-1, ids[:, 1:, None]).mean() for ids in batches]
    return float(torch.stack(found).mean())


def cakld(student, teacher, gamma):
    """Confidence-aware KL: gamma KL(student || teacher) + (1 - gamma) KL(teacher || student), in nats per token."""
    s, t = F.log_softmax(student, -1), F.log_softmax(teacher, -1)
    backward = (s.exp() * (s - t)).sum(-1).mean()
    forward = (t.exp() * (t - s)).sum(-1).mean()
    return gamma * backward + (1 - gamma) * forward


def next_token(logits, ids):
    """Mean cross-entropy of ids [batch, time + 1]."""
    return F.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())


def training_loss(student, teacher, ids, gamma):
    """What a step lowers, of ids [batch, time + 1]: the distance from the teacher; without gamma, the next token's loss."""
    logits = student(ids[:, :-1])
    if gamma is None:
        return next_token(logits, ids)
    with torch.no_grad():
        target = teacher(ids[:, :-1])
    return cakld(logits, target, gamma)
