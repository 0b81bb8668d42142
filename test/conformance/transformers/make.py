"""Makes golden/*.json and defaults.json. In: transformers and torch, the cases of cases.py. Out: each case's
config.json as transformers writes it, how its weights are made, and the logits of a few positions in float64;
each class's defaults, and what it writes for files of earlier versions.

    pip install transformers==5.24.0 torch==2.15.0 safetensors==0.8.0 numpy==2.4.6
    python test/conformance/transformers/make.py [FAMILY...]     only those named, or all
    npx biome check --write test/conformance/transformers

Weights are derived from their names and indices alone; weights.ts computes the same ones.
"""
import base64
import itertools
import json
import math
import re
import sys
import tempfile
from pathlib import Path

import numpy as np
import torch
import transformers
from cases import CASES, EARLIER
from cases_recurrent import RECURRENT
from safetensors import safe_open
from safetensors.numpy import save_file

POSITIONS = 40
WATCHED = [3, 22, 39]
TERNARY = 0.0625
GOLDEN = Path(__file__).parent / "golden"


# Classes that do not support a choice of attention implementation.
WITHOUT_ATTENTION = {"Mamba", "Mamba2", "FalconMamba", "Rwkv"}


def tokens(vocabulary):
    return [(37 * i + i * i % 11 + 1) % vocabulary for i in range(POSITIONS)]


def numbers(name, count):
    """Uniform numbers from -1 to 1, multiples of 2^-23: a hash of the name, and of each index with it."""
    seed = 0x811C9DC5
    for byte in name.encode():
        seed = (seed ^ byte) * 0x01000193 & 0xFFFFFFFF
    x = np.arange(count, dtype=np.uint32) * np.uint32(0x9E3779B9) + np.uint32(seed)
    x ^= x >> np.uint32(16)
    x *= np.uint32(0x7FEB352D)
    x ^= x >> np.uint32(15)
    x *= np.uint32(0x846CA68B)
    x ^= x >> np.uint32(16)
    return (x >> np.uint32(8)).astype(np.float64) / 2**23 - 1


def spread_of(family, name, shape):
    """Centre and spread of a weight's values."""
    if name.endswith("A_log"):
        return 0.5, 1.0
    if re.search(r"dt_bias$|dt_proj\.bias$", name):
        return -1.5, 1.0
    if re.search(r"\.D$", name):
        return 1.0, 0.5
    if name.endswith("act_fn.beta"):
        return 0.5, 0.0
    if name.endswith("act_fn.eps"):
        return -1e-6, 0.0
    if "act_fn.alpha" in name:
        return 0.0, 0.9
    if name.endswith(".bias"):
        return 0.0, 0.25
    if re.search(r"lambda_[qk][12]$", name):
        return 0.0, 0.25
    if re.search(r"layer_scalar$|correct_output_scale$", name):
        return 1.0, 0.5
    # Scores are not divided by sqrt(width).
    if family in ("Gemma3nText", "Gemma4Text") and name.endswith("q_norm.weight"):
        return 0.3, 0.1
    if re.search(r"(norm[12]?|norm_f|ln_[12f]|layernorm|LayerNorm|norms\.\d+)\.weight$", name):
        less_one = ("Gemma", "VaultGemma", "RecurrentGemma", "Qwen3_5", "Qwen3Next") + (() if family == "NemotronH" else ("Nemotron",))
        has_whole = family in ("Gemma3nText", "Gemma4Text")
        return (0.0 if family.startswith(less_one) and not has_whole and not name.endswith("linear_attn.norm.weight") else 1.0), 0.25
    if re.search(r"time_(mix|decay|first)", name):
        return 0.5, 0.5
    if re.search(r"(q_|k_|v_)?conv_?1d\.weight$|conv\.conv\.weight$", name):
        return 0.0, 0.9
    if re.search(r"embed|wte|wpe", name):
        return 0.0, 0.5
    # GPT-2 keeps its matrices transposed.
    inputs = shape[0] if family == "GPT2" and re.search(r"c_(attn|proj|fc)\.weight$", name) else shape[-1]
    # Shared blocks repeatedly add their outputs to the residual, which amplifies rounding errors.
    gain = 0.5 if family == "Zamba2" else 1.5
    return 0.0, round(gain * math.sqrt(3 / inputs), 4)


def made(family, case, name, shape):
    middle, spread = spread_of(family, name, shape)
    values = numbers(name, int(np.prod(shape)))
    if case == "ternary weights" and name.endswith("_proj.weight"):
        # Half are 0, and the scale is an f16.
        return (TERNARY * np.rint(values)).astype(np.float32).reshape(shape), 0.0, TERNARY, "ternary"
    return (middle + spread * values).astype(np.float32).reshape(shape), middle, spread


NUMBERS = re.compile(r"(?<=\.)(\d+)(?=\.)")


def row_key(row):
    name, *rest = row
    return tuple(NUMBERS.split(name)[::2]), json.dumps(rest)


def braced(rows):
    """Merges rows whose names differ only in numbers: `layers.{0,1}.x`. Rows with gaps in the numbers stay separate."""
    groups = {}
    for name, *rest in rows:
        groups.setdefault(row_key([name, *rest]), []).append(tuple(map(int, NUMBERS.findall(name))))
    out = []
    for (texts, rest), found in groups.items():
        choices = [sorted({each[i] for each in found}) for i in range(len(texts) - 1)]
        if sorted(itertools.product(*choices)) != sorted(found):
            out += [[row[0], *json.loads(rest)] for row in rows if row_key(row) == (texts, rest)]
            continue
        name = texts[0] + "".join(
            "{" + ",".join(map(str, choice)) + "}" + text for choice, text in zip(choices, texts[1:])
        )
        out.append([name, *json.loads(rest)])
    return out


def class_of(family):
    others = {"GPT2": "GPT2LMHeadModel", "Gemma3Text": "Gemma3ForCausalLM", "Gemma3nText": "Gemma3nForCausalLM", "Gemma4Text": "Gemma4ForCausalLM", "Qwen3_5Text": "Qwen3_5ForCausalLM"}
    # Configurations of Llama's class with their own names.
    others |= dict.fromkeys(["InternLM3", "Exaone"], "LlamaForCausalLM")
    return others.get(family, f"{family}ForCausalLM")


def defaults(family):
    written = json.loads(getattr(transformers, f"{family}Config")().to_json_string())
    return {"architectures": [class_of(family)], **written}


def earlier(family, name, keys):
    """An older version's file, and the same configuration as this version reads and writes it."""
    with tempfile.TemporaryDirectory() as folder:
        given = {"architectures": [class_of(family)], **keys}
        Path(folder, "config.json").write_text(json.dumps(given))
        read = getattr(transformers, f"{family}Config").from_pretrained(folder)
    stored = {**json.loads(read.to_json_string()), "architectures": [class_of(family)]}
    # JSON has no infinities, and Python's notation for them is not portable.
    given = json.loads(json.dumps(given).replace("Infinity", '{"__float__": "Infinity"}'))
    return {"name": f"{class_of(family)}, {name}", "given": given, "written": stored}


def write(path, value):
    path.write_text(json.dumps(value) + "\n")


def golden(family, name, keys, context=None):
    config = getattr(transformers, f"{family}Config")(
        **{"bos_token_id": 0, "eos_token_id": 1, "pad_token_id": 2, **keys})
    model_class = getattr(transformers, class_of(family))
    with tempfile.TemporaryDirectory() as folder:
        model_class(config).save_pretrained(folder)
        path = Path(folder, "model.safetensors")
        with safe_open(path, "np") as file:
            shapes = {key: list(file.get_slice(key).get_shape()) for key in file.keys()}
        rows, weights = [], {}
        for key, shape in shapes.items():
            weights[key], *how = made(family, name, key, shape)
            rows.append([key, shape, *how])
        save_file(weights, path, {"format": "pt"})
        stored = json.loads(Path(folder, "config.json").read_text())
        model, report = model_class.from_pretrained(
            folder, dtype=torch.float32, experts_implementation="eager", output_loading_info=True,
            **({} if family in WITHOUT_ATTENTION else {"attn_implementation": "eager"}),
        )
        if any(report.get(kind) for kind in ("missing_keys", "unexpected_keys", "mismatched_keys")):
            raise ValueError(f"{family}: {report}")
    model = model.double().eval()
    with torch.no_grad():
        logits = model(torch.tensor([tokens(config.vocab_size)]), use_cache=False).logits[0].double().numpy()
    watched = {str(at): base64.b64encode(logits[at].astype("<f4").tobytes()).decode() for at in WATCHED}
    largest = np.abs(logits[WATCHED]).max()
    print(f"{family:18} {name:40} {len(shapes):3} tensors, largest logit {largest:.3g}")
    case = {"name": name, "config": stored, "tensors": braced(rows), "logits": watched}
    return case if context is None else {**case, "context": context}


def main():
    torch.manual_seed(0)
    transformers.logging.set_verbosity_error()
    families = {}
    named = sys.argv[1:]
    for family, *rest in [*CASES, *RECURRENT]:
        if named and family not in named:
            continue
        families.setdefault(family, []).append(golden(family, *rest))
    GOLDEN.mkdir(exist_ok=True)
    for family, cases in families.items():
        write(GOLDEN / f"{family.lower()}.json", {"transformers": transformers.__version__, "cases": cases})
    path = GOLDEN.parent / "defaults.json"
    known = json.loads(path.read_text()) if named else {}
    # A class with several configurations has its own defaults.
    own = [family for family in families if family == "Llama" or class_of(family) != "LlamaForCausalLM"]
    write(path, known | {class_of(family): defaults(family) for family in own})
    if named:
        return
    write(GOLDEN.parent / "earlier.json", [earlier(*each) for each in EARLIER])


if __name__ == "__main__":
    main()
