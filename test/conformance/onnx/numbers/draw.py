# Draws the random graphs of compare.py.
from flow import branch, repeated, scanned, shaped
from graphs import Graph, reads_of
from layers import codes, norm, picked, products, rearranged, recurrent, small, window
from steps import binary, cast, clip, gather, image, logic, moved, places, reduction, rows, scatter, unary, where

STEPS = [
    (unary, 8), (binary, 8), (reduction, 4), (places, 4), (rows, 4), (image, 5), (cast, 3), (clip, 2), (where, 2), (logic, 1),
    (gather, 2), (scatter, 3), (moved, 4), (recurrent, 3), (norm, 3), (window, 5), (codes, 4), (picked, 4), (products, 3), (rearranged, 3),
    (small, 3), (shaped, 3), (branch, 2), (repeated, 1), (scanned, 1),
]
WEIGHTED = [step for step, times in STEPS for _ in range(times)]


def draw(seed, is_special):
    """A graph of one to fourteen nodes with onnxruntime's result for each."""
    g = Graph(seed, is_special)
    for _ in range(1 + g.below(3)):
        g.add_input()
    wanted = 1 + g.below(14)
    for _ in range(80):
        if len(g.nodes) >= wanted:
            break
        g.one_of(*WEIGHTED)(g)
    if not g.nodes:
        g.add('Identity', [next(iter(g.feeds))])
    # Removes constants of rejected nodes.
    read = {name for node in g.nodes for name in reads_of(node)}
    g.constants = {name: array for name, array in g.constants.items() if name in read}
    return g
