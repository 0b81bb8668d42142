"""Computes the values that a pack would store for a matrix: groups of 32 inputs, 4 bits, with and without a minimum."""
import torch

GROUP = 32
#: A pack stores f16 patterns of 2^8 times each scale and minimum.
FACTOR = 256.0
#: Shares of its range by which the end of a group is clipped.
CUTS = (0.0, 0.05, 0.1, 0.15, 0.2, 0.3)


def stored(value):
    """The nearest scale or minimum that a pack can store."""
    return (value * FACTOR).half().float() / FACTOR


def by_groups(matrix, function, *others):
    """Applies function to groups [count, size]; the last group of each row is shorter when the row length is not a multiple
    of 32."""
    width = matrix.shape[1] // GROUP * GROUP
    parts = []
    for first, last in ((0, width), (width, matrix.shape[1])):
        if first == last:
            continue
        size = min(GROUP, last - first)
        own = [each[:, first:last].reshape(-1, size) for each in (matrix, *others)]
        parts.append(function(*own).reshape(matrix.shape[0], -1))
    return torch.cat(parts, 1)


def symmetric(groups, clips=(1.0, 0.94, 0.88, 0.82, 0.76), weights=None):
    """w4: a scale, codes -8..7; the peak of a group has code -8. Takes the best of several clips."""
    peak = groups.gather(1, groups.abs().argmax(1, keepdim=True))
    best, least = None, None
    for clip in clips:
        scale = stored(peak * clip / -8)
        value = (groups / scale.where(scale != 0, torch.ones_like(scale))).round().clamp(-8, 7) * scale
        error = ((value - groups).square() * (1 if weights is None else weights)).sum(1, keepdim=True)
        best = value if best is None else torch.where(error < least, value, best)
        least = error if least is None else torch.minimum(error, least)
    return best


def asymmetric(groups):
    """w4m: a scale and a minimum, codes 0..15; the ends of a group have the codes 0 and 15."""
    low, high = groups.amin(1, keepdim=True), groups.amax(1, keepdim=True)
    scale, low = stored((high - low) / 15), stored(low)
    code = ((groups - low) / scale.where(scale != 0, torch.ones_like(scale))).round().clamp(0, 15)
    return code * scale + low


def quantise_w4(matrix):
    """The matrix as `w4` stores it."""
    return by_groups(matrix.detach(), symmetric)


def quantise_w4m(matrix):
    """The matrix as `w4m` stores it."""
    return by_groups(matrix.detach(), asymmetric)


QUANTISERS = {'w4': quantise_w4, 'w4m': quantise_w4m}


def clipped(matrix, squares):
    """The matrix with both ends of each group moved inwards, each by its own share, to minimise the error of the products.

    squares: the mean square of each input. BitDistiller, 3.1 (asymmetric clipping), with a diagonal in place of the inputs.
    """
    def search(groups, weights):
        low, high = groups.amin(1, keepdim=True), groups.amax(1, keepdim=True)
        best, least = groups, None
        for below in CUTS:
            for above in CUTS:
                inside = torch.minimum(torch.maximum(groups, low * (1 - below)), high * (1 - above))
                error = ((asymmetric(inside) - groups).square() * weights).sum(1, keepdim=True)
                best = inside if least is None else torch.where(error < least, inside, best)
                least = error if least is None else torch.minimum(error, least)
        return best
    return by_groups(matrix.detach(), search, squares.expand_as(matrix))
