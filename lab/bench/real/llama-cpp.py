"""llama.cpp through the Python package llama-cpp-python, for bench:real --python.

In: the requests of reference.ts as lines of JSON. Out: one answer per line.
"""
import ctypes
import json
import os
import sys

import llama_cpp as llama
import numpy as np
from llama_cpp.llama_chat_format import Jinja2ChatFormatter

KEPT = 16
state = {}


def load(order):
    # llama.cpp's messages would fill the pipe.
    state["log"] = llama.llama_log_callback(lambda level, text, data: None)
    llama.llama_log_set(state["log"], ctypes.c_void_p(0))
    llama.llama_backend_init()
    options = llama.llama_model_default_params()
    # Repacked weights use kernels for matrix units, which crash on some virtual machines.
    options.use_extra_bufts = False
    model = llama.llama_model_load_from_file(order["modelPath"].encode(), options)
    if not model:
        raise RuntimeError("cannot load the model")
    made = llama.llama_context_default_params()
    made.n_ctx = made.n_batch = made.n_ubatch = order["context"]
    made.n_threads = made.n_threads_batch = order["threads"]
    made.flash_attn_type = llama.LLAMA_FLASH_ATTN_TYPE_DISABLED
    made.swa_full = True
    # By default, llama.cpp's keys and values are F16.
    made.type_k = made.type_v = 0
    state["model"] = model
    state["context"] = llama.llama_init_from_model(model, made)
    state["vocab"] = llama.llama_model_get_vocab(model)
    state["size"] = llama.llama_vocab_n_tokens(state["vocab"])
    state["batch"] = llama.llama_batch_init(order["context"], 0, 1)
    return {}


def decode(position, tokens, wanted):
    """Log-probabilities of every id at the requested rows."""
    batch = state["batch"]
    batch.n_tokens = len(tokens)
    for at, token in enumerate(tokens):
        batch.token[at] = token
        batch.pos[at] = position + at
        batch.n_seq_id[at] = 1
        batch.seq_id[at][0] = 0
        batch.logits[at] = at in wanted
    if llama.llama_decode(state["context"], batch) != 0:
        raise RuntimeError(f"cannot decode {len(tokens)} tokens at {position}")
    logits = np.ctypeslib.as_array(llama.llama_get_logits(state["context"]), shape=(len(wanted), state["size"]))
    most = logits.max(axis=1, keepdims=True)
    return logits - most - np.log(np.exp(logits - most, dtype=np.float64).sum(axis=1, keepdims=True))


def clear():
    llama.llama_memory_clear(llama.llama_get_memory(state["context"]), True)


def greedy(order):
    clear()
    prompt, found = order["prompt"], []
    rows = decode(0, prompt, {len(prompt) - 1})
    while True:
        row = rows[0]
        best = np.argpartition(-row, KEPT)[:KEPT]
        best = best[np.argsort(-row[best], kind="stable")]
        found.append([{"id": int(each), "logProbability": float(row[each])} for each in best])
        if len(found) == order["count"]:
            return {"greedy": found}
        rows = decode(len(prompt) + len(found) - 1, [int(best[0])], {0})


def window(order):
    clear()
    tokens, targets, first = order["tokens"], order["targets"], order["from"]
    rows = decode(0, tokens, set(range(first, len(tokens) - 1)))
    return {"logProbabilities": [float(row[targets[first + at + 1]]) for at, row in enumerate(rows)]}


def rows(order):
    """Writes log-probabilities of every id at the positions from "from" on, [position][id], to "path"."""
    clear()
    tokens = order["tokens"]
    decode(0, tokens, set(range(order["from"], len(tokens)))).astype(np.float32).tofile(order["path"])
    return {}


def render(messages, tools=None):
    """Uses the file's template and jinja2, as create_chat_completion does."""
    if "formatter" not in state:
        text = ctypes.create_string_buffer(1 << 20)
        if llama.llama_model_meta_val_str(state["model"], b"tokenizer.chat_template", text, len(text)) < 0:
            raise RuntimeError("the file has no chat template")
        eos = llama.llama_vocab_get_text(state["vocab"], llama.llama_vocab_eos(state["vocab"])).decode()
        bos = llama.llama_vocab_bos(state["vocab"])
        bos = llama.llama_vocab_get_text(state["vocab"], bos).decode() if bos >= 0 else ""
        state["formatter"] = Jinja2ChatFormatter(template=text.value.decode(), eos_token=eos, bos_token=bos)
    return state["formatter"](messages=messages, tools=tools).prompt


def piece(token, special):
    text = ctypes.create_string_buffer(512)
    length = llama.llama_token_to_piece(state["vocab"], token, text, len(text), 0, special)
    return text.raw[:length]


def chat(order):
    """The greedy reply to messages, with the two most likely tokens at each position.

    A template without tool support gets the messages under "told".
    """
    tools = order.get("tools")
    prompt = render(order["messages"], tools)
    if tools and prompt == render(order["messages"]):
        prompt = render(order["told"])
    ids = tokenize({"text": prompt, "bos": False, "special": True})["ids"]
    clear()
    rows = decode(0, ids, {len(ids) - 1})
    found, text, reason = [], b"", "length"
    while True:
        row = rows[0]
        best = np.argpartition(-row, 2)[:2]
        best = best[np.argsort(-row[best], kind="stable")]
        if llama.llama_vocab_is_eog(state["vocab"], int(best[0])):
            reason = "stop"
        found.append([{"id": int(each), "logProbability": float(row[each])} for each in best])
        if reason == "stop":
            break
        text += piece(int(best[0]), bool(tools))
        ends = [at for at in (text.find(stop.encode()) for stop in order.get("stop") or []) if at >= 0]
        if ends:
            text, reason = text[: min(ends)], "stop"
            break
        if len(found) == order["count"]:
            break
        rows = decode(len(ids) + len(found) - 1, [int(best[0])], {0})
    ended = llama.llama_vocab_is_eog(state["vocab"], found[-1][0]["id"])
    return {
        "greedy": found,
        "ids": ids,
        "text": text.decode(errors="replace"),
        "finishReason": reason,
        "tokens": [best["id"] for best, _ in found[: len(found) - ended]],
    }


def tokenize(order):
    text = order["text"].encode()
    ids = (llama.llama_token * (len(text) + 8))()
    count = llama.llama_tokenize(state["vocab"], text, len(text), ids, len(ids), order["bos"], order["special"])
    return {"ids": list(ids[:count])}


ORDERS = {"load": load, "chat": chat, "greedy": greedy, "window": window, "rows": rows, "tokenize": tokenize}
out = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)
for line in sys.stdin:
    order = json.loads(line)
    try:
        answer = ORDERS[order["type"]](order)
    except Exception as error:
        answer = {"failure": str(error)}
    out.write(json.dumps(answer) + "\n")
    out.flush()
