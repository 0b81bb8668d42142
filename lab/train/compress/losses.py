"""The losses of training, from the logits of a teacher and a student.

Ids may contain a token as its complement, ~id: the model reads this token, but no loss counts it.
"""
import torch
import torch.nn.functional as F


def given(ids):
    """The input tokens of ids [batch, time + 1]: all but the last, whether a loss counts them or not."""
    return torch.where(ids < 0, ~ids, ids)[:, :-1]


def counted(logits, ids):
    """The rows of logits [batch, time, vocabulary] before the tokens that a loss counts, and these tokens."""
    following = ids[:, 1:]
    return logits[following >= 0], following[following >= 0]


def confidence(teacher, batches):
    """gamma: the mean probability that the teacher gives the actual next tokens. BitDistiller, 3.2."""
    def of(ids):
        logits, following = counted(teacher(given(ids)), ids)
        return F.softmax(logits, -1).gather(-1, following[:, None]).mean()
    with torch.no_grad():
        found = [of(ids) for ids in batches]
    return float(torch.stack(found).mean())


def cakld(student, teacher, gamma):
    """Confidence-aware KL: gamma KL(student || teacher) + (1 - gamma) KL(teacher || student), in nats per token."""
    s, t = F.log_softmax(student, -1), F.log_softmax(teacher, -1)
    backward = (s.exp() * (s - t)).sum(-1).mean()
    forward = (t.exp() * (t - s)).sum(-1).mean()
    return gamma * backward + (1 - gamma) * forward


def next_token(logits, ids):
    """Mean cross-entropy of ids [batch, time + 1]."""
    return F.cross_entropy(*counted(logits, ids))


def training_loss(student, teacher, ids, gamma):
    """The loss of a step, for ids [batch, time + 1]: the distance from the teacher or, without gamma, the next token's loss."""
    logits = student(given(ids))
    if gamma is None:
        return next_token(logits, ids)
    with torch.no_grad():
        target, _ = counted(teacher(given(ids)), ids)
    return cakld(counted(logits, ids)[0], target, gamma)


@torch.no_grad()
def mean_of(windows, function):
    """The mean over the counted tokens of windows, of a function that gives the mean of ids [1, time + 1]."""
    ends = [int((ids >= 0).nonzero().max()) + 1 for ids in windows]
    each = [(function(ids[None, :end]), int((ids[1:] >= 0).sum())) for ids, end in zip(windows, ends)]
    return float(sum(value * count for value, count in each) / sum(count for _, count in each))


def held_loss(model, windows):
    """Nats per token."""
    return mean_of(windows, lambda ids: next_token(model(given(ids)), ids))
