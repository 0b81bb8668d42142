# The logits of ONNX Runtime. In: a folder with model.onnx. Out: tokens.json, ref.f32 and, for quantised weights, in meta.json
# how far rounding of activations and scales moves the logits.
#
# Runs the prompt at once, then one token after the other with the cache that the graph returned.
import json
from pathlib import Path

import numpy as np
import onnxruntime

PROMPT, STEPS, VOCAB, HEAD_DIM = 40, 12, 300, 16
# Length of a state that holds only a window: more than the window, less than the prompt.
BUFFER = 24
TYPES = {"tensor(float)": np.float32, "tensor(float16)": np.float16, "tensor(int64)": np.int64,
         "tensor(int32)": np.int32, "tensor(bool)": np.bool_}


def tokens():
    return np.random.default_rng(29).integers(3, VOCAB, PROMPT + STEPS)


def session_of(model, exact=False):
    """`exact`: node by node, without ONNX Runtime's fusions. A ModelProto or a path."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    if exact:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    given = str(model) if isinstance(model, (str, Path)) else model.SerializeToString()
    return onnxruntime.InferenceSession(given, options, providers=["CPUExecutionProvider"])


def is_state(each):
    return "past" in each.name or "cache" in each.name and "branch" not in each.name


def empty(each, first):
    """A state without tokens. Merged decoders take a state of one token, which their first branch ignores."""
    free = {0: 1, len(each.shape) - 1: HEAD_DIM}
    if "sliding" in str(each.shape[-2]):  # A buffer of the newest positions.
        free[len(each.shape) - 2] = BUFFER
    dims = [size if isinstance(size, int) else free.get(axis, first) for axis, size in enumerate(each.shape)]
    return np.zeros(dims, TYPES[each.type])


def returned(name, outputs):
    """The output that is the next step's state."""
    for was, now in (("past_key_values", "present"), ("past_key_values", "present_key_values"), ("past_", "present_"),
                     ("past.", "present.")):
        found = name.replace(was, now)
        if found != name and found in outputs:
            return found
    raise KeyError(f"no output for the state {name} among {outputs}")


def run(model, exact=False, ids=None):
    """[token][vocab]"""
    session = session_of(model, exact)
    inputs, outputs = session.get_inputs(), [each.name for each in session.get_outputs()]
    kinds = {each.name: each for each in inputs}
    states = {each.name: empty(each, 1 if "use_cache_branch" in kinds else 0) for each in inputs if is_state(each)}
    ids = tokens() if ids is None else ids
    rows, past = [], 0
    while past < len(ids):
        end = PROMPT if past == 0 else past + 1
        before = past if states else 0
        given = ids[None, before:end].astype(np.int64)
        values = {"input_ids": given, "attention_mask": np.ones((1, end), np.int64),
                  "position_ids": np.arange(before, end, dtype=np.int64)[None],
                  "use_cache_branch": np.array([past > 0])}
        feeds = {name: values[name] for name in kinds if name in values} | states
        for name, value in feeds.items():
            feeds[name] = value.astype(TYPES[kinds[name].type])
        made = dict(zip(outputs, session.run(None, feeds)))
        rows.append(made["logits"][0, past - before :].astype(np.float32))
        states = {name: made[returned(name, outputs)] for name in states}
        past = end
    return np.concatenate(rows)


def largest(found, wanted):
    """The largest difference, relative to the largest logit."""
    return float(np.abs(found - wanted).max() / np.abs(wanted).max())


def write(folder, **meta):
    folder = Path(folder)
    made = run(folder / "model.onnx")
    if not np.isfinite(made).all():
        raise ValueError(f"{folder}: ONNX Runtime gives logits that are not finite")
    save(folder, made, meta)


def save(folder, logits, meta):
    logits.astype("<f4").tofile(folder / "ref.f32")
    (folder / "tokens.json").write_text(json.dumps(tokens().tolist()))
    (folder / "meta.json").write_text(json.dumps({"vocab": VOCAB, "prompt": PROMPT, **meta}, indent=1))
