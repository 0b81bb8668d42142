"""Makes golden/*.json. In: transformers, torch and peft. Out: small adapters of every kind that peft writes, with their
adapter_config.json and the recipe of their weights, and peft's logits for a few positions in float64.

    pip install transformers==5.24.0 torch==2.15.0 peft==0.21.2 safetensors numpy
    python test/conformance/peft/make.py
    npx biome check --write test/conformance/peft

Weights are derived from their names and indices alone, as in ../transformers. A magnitude is close to its row's length without
the adapter; otherwise DoRA would test only the scale.
"""
import base64
import copy
import json
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np
import peft
import torch
import transformers
from safetensors import safe_open
from safetensors.numpy import save_file

sys.path.insert(0, str(Path(__file__).parent.parent / "transformers"))
from make import braced, class_of, made, numbers, tokens  # noqa: E402
from kinds import KINDS, MODELS  # noqa: E402

warnings.filterwarnings("ignore")
transformers.utils.logging.disable_progress_bar()
WATCHED = [3, 39]
# The logits of each model without an adapter.
BARE = {}
GOLDEN = Path(__file__).parent / "golden"


def drawn(name, shape, middle, spread):
    values = middle + spread * numbers(name, int(np.prod(shape)))
    return values.astype(np.float32).reshape(shape)


def base_model(family, keys, folder):
    config = getattr(transformers, f"{family}Config")(**keys, bos_token_id=0, eos_token_id=1, pad_token_id=2)
    model_class = getattr(transformers, class_of(family))
    model_class(config).save_pretrained(folder)
    path = Path(folder, "model.safetensors")
    with safe_open(path, "np") as file:
        shapes = {key: list(file.get_slice(key).get_shape()) for key in file.keys()}
    rows, weights = [], {}
    for key, shape in shapes.items():
        weights[key], *how = made(family, key, shape)
        rows.append([key, shape, *how])
    save_file(weights, path, {"format": "pt"})
    stored = json.loads(Path(folder, "config.json").read_text())
    return model_class, stored, rows, weights


def spread_of(name, tensor, base):
    """Centre and spread of the values of an adapter's tensor, or the model's own values."""
    module = name.removeprefix("base_model.model.").replace(".base_layer", "")
    if name.endswith(".base_layer.weight"):
        return None
    if "lora_magnitude_vector" in name:
        matrix = base[module.split(".lora_")[0] + ".weight"].astype(np.float64)
        # In tables and GPT-2's matrices, a magnitude belongs to a column.
        axis = 0 if matrix.shape[1] == tensor.shape[0] and matrix.shape[0] != tensor.shape[0] else 1
        length = np.sqrt((matrix**2).sum(axis)).mean()
        return round(float(length), 3), round(float(length) / 4, 3)
    if "lora_" in name:
        return 0.0, 0.25
    return (1.0 if "norm" in name or "ln_" in name else 0.0), 0.25


TIED = [("lora_A.weight", "lora_embedding_B", "turned"), ("lora_B.weight", "lora_embedding_A", "turned"),
        ("weight", "weight", "same")]


def tie(recipe, values):
    """Weights that peft ties are one tensor with two names."""
    for row in recipe:
        for ending, own, how in TIED:
            table = f"base_model.model.model.embed_tokens.{own}"
            if row[0] == f"base_model.model.lm_head.{ending}" and table in values:
                row[2:] = [how, table]
                values[row[0]] = np.ascontiguousarray(values[table].T) if how == "turned" else values[table]


def logits_of(model, vocabulary):
    with torch.no_grad():
        return model(torch.tensor([tokens(vocabulary)]), use_cache=False).logits[0].double().numpy()


def golden(kind, base_keys, lora, options):
    family, keys = copy.deepcopy(MODELS[base_keys])
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as out:
        model_class, stored, rows, weights = base_model(family, keys, folder)
        if base_keys not in BARE:
            model = model_class.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager")
            BARE[base_keys] = logits_of(model.double().eval(), stored["vocab_size"])[WATCHED]
        model = model_class.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager")
        tuned = peft.get_peft_model(model, peft.LoraConfig(task_type="CAUSAL_LM", **lora))
        if "convert" in options:
            tuned.save_pretrained(out + "/first")
            tuned.save_pretrained(out, path_initial_model_for_weight_conversion=out + "/first")
        else:
            tuned.save_pretrained(out)
        path = Path(out, "adapter_model.safetensors")
        with safe_open(path, "np") as file:
            tensors = {key: file.get_tensor(key) for key in file.keys()}
        recipe, values = [], {}
        for name, tensor in tensors.items():
            how = spread_of(name, tensor, weights)
            if how is None:
                values[name] = weights[name.removeprefix("base_model.model.").replace(".base_layer", "")
                                       .replace("lm_head", "lm_head" if "lm_head.weight" in weights else "model.embed_tokens")]
                recipe.append([name, list(tensor.shape), "base", 0])
            else:
                values[name] = drawn(name, tensor.shape, *how)
                recipe.append([name, list(tensor.shape), *how])
        if lora.get("ensure_weight_tying"):
            tie(recipe, values)
        save_file(values, path, {"format": "pt"})
        settings = json.loads(Path(out, "adapter_config.json").read_text())
        model = model_class.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager")
        logits = None
        if "refusal" not in options:
            with warnings.catch_warnings():
                # peft only warns about a tensor that it does not find in its model.
                warnings.filterwarnings("error", message="Found missing adapter keys.*")
                loaded = peft.PeftModel.from_pretrained(model, out)
            logits = logits_of(loaded.double().eval(), stored["vocab_size"])[WATCHED]
    case = {
        "name": kind,
        "model": base_keys,
        "settings": {key: value for key, value in sorted(settings.items()) if value not in (None, False, {}, [])
                     and key not in ("base_model_name_or_path", "peft_version", "auto_mapping", "inference_mode")},
        "tensors": braced(recipe),
        "refusal": options.get("refusal"),
    }
    if logits is not None:
        moved = np.abs(logits - BARE[base_keys]).max() / np.abs(logits).max()
        print(f"{kind:58} {len(tensors):3} tensors, moves logits by {moved:.3f}")
        if moved < 0.01:
            raise ValueError(f"{kind} changes nothing")
        case["logits"] = {str(at): base64.b64encode(row.astype("<f4").tobytes()).decode()
                          for at, row in zip(WATCHED, logits)}
    else:
        print(f"{kind:58} {len(tensors):3} tensors, refused")
    return case, {"family": family, "config": stored, "tensors": braced(rows)}


def main():
    torch.manual_seed(0)
    GOLDEN.mkdir(exist_ok=True)
    models, cases = {}, []
    for kind, model, lora, *options in KINDS:
        case, models[model] = golden(kind, model, lora, options[0] if options else {})
        cases.append(case)
    text = json.dumps({"models": models, "cases": cases})
    GOLDEN.joinpath("peft.json").write_text(text + "\n")


if __name__ == "__main__":
    main()
