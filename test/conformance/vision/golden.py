"""Makes golden/*.json. In: transformers and torch, random vision models, a patterned picture. Out: each
model's config.json and the configuration of its processor as transformers writes them, how its weights are
made, the rows that the language model gets for the picture, the log probabilities after the prompt in
float64, and the greedy answer.

    pip install transformers==5.24.0 torch==2.15.0 torchvision==0.29.2 safetensors==0.8.0 numpy==2.4.6 pillow==12.1.0
    python test/conformance/vision/golden.py [CLASS...]
    npx biome check --write test/conformance/vision
"""
import base64
import json
import sys
import tempfile
from pathlib import Path

import numpy as np
import torch
import transformers
from PIL import Image
from safetensors import safe_open
from safetensors.numpy import save_file

HERE = Path(__file__).parent
sys.path.append(str(HERE.parent / "transformers"))
from sights import CASES  # noqa: E402
from make import braced, made  # noqa: E402

ANSWER = 10
BEFORE, BETWEEN, AFTER = "<user>What is ", " by ", " now?"

def ids_of(text):
    """One id per byte, because none of these prompts contains a merge of the tests' tokenizer."""
    return list(text.encode())


def picture(width, height):
    """test/conformance/vision: patternAt."""
    y, x = np.mgrid[0:height, 0:width]
    channels = (x * x * 7 + y * 13, x * 5 + y * y * 3 + x * y, x // 3 * 31 + y // 5 * 57)
    return Image.fromarray(np.stack([c % 256 for c in channels], axis=-1).astype(np.uint8))


def encoded(values):
    return base64.b64encode(values.astype("<f4").tobytes()).decode()


def stored_model(model_class, config):
    """A model read from its files, with weights derived from their names, and the files' contents."""
    with tempfile.TemporaryDirectory() as folder:
        model_class(config).save_pretrained(folder)
        path = Path(folder, "model.safetensors")
        with safe_open(path, "np") as file:
            shapes = {key: list(file.get_slice(key).get_shape()) for key in file.keys()}
        rows, weights = [], {}
        for key, shape in shapes.items():
            weights[key], *how = made(type(config).__name__, key, shape)
            rows.append([key, shape, *how])
        save_file(weights, path, {"format": "pt"})
        stored = json.loads(Path(folder, "config.json").read_text())
        model, report = model_class.from_pretrained(
            folder, dtype=torch.float32, attn_implementation="eager", output_loading_info=True
        )
        if any(report.get(kind) for kind in ("missing_keys", "unexpected_keys", "mismatched_keys")):
            raise ValueError(f"{model_class.__name__}: {report}")
    return model.double().eval(), stored, braced(rows)


def answer(model, ids, extra):
    ids, tokens = list(ids), []
    for _ in range(ANSWER):
        given = {"input_ids": torch.tensor([ids]), **extra(ids)}
        logits = model(**given, use_cache=False).logits[0, -1].double()
        if not tokens:
            first = torch.log_softmax(logits, -1).numpy()
        tokens.append(int(logits.argmax()))
        ids.append(tokens[-1])
    return tokens, first


def golden(case):
    model_class = getattr(transformers, case["class"])
    config = getattr(transformers, case["config_class"])(**case["config"])
    processor = getattr(transformers, case["processor_class"])(**case["processor"])
    model, stored, rows = stored_model(model_class, config)
    images = [picture(*case["picture"])]
    if "second" in case:
        images.append(picture(*case["second"]))
    pixels = processor(images, return_tensors="pt", **case.get("asked", {}))
    values = {"pixel_values": pixels["pixel_values"].double()}
    if "image_grid_thw" in pixels:
        values["image_grid_thw"] = pixels["image_grid_thw"]
    with torch.no_grad():
        features = case["features"](model, pixels, values)
        parts = [BEFORE, *case["parts"](pixels)]
        if "second" in case:
            parts += [BETWEEN, *case["parts"](pixels, 1)]
        parts.append(AFTER)
        ids = [i for part in parts for i in (ids_of(part) if isinstance(part, str) else [config.image_token_id] * part)]
        if ids.count(config.image_token_id) != len(features):
            raise ValueError(f"{case['name']}: {len(features)} rows for {ids.count(config.image_token_id)} tokens")
        tokens, first = answer(model, ids, lambda given: {**values, **case["extra"](given, config)})
    print(f"{case['class']:36} {case['name']:30} {len(features):3} rows, {len(ids)} ids, answer {tokens}")
    written = {key: value for key, value in json.loads(processor.to_json_string()).items() if value is not None}
    return {
        **{"name": case["name"], "config": stored, "processor": written, "tensors": rows, "picture": case["picture"]},
        **({"second": case["second"]} if "second" in case else {}),
        **{"rows": encoded(features.numpy()), "promptTokens": len(ids), "logprobs": encoded(first), "answer": tokens},
    }


def main():
    transformers.logging.set_verbosity_error()
    torch.manual_seed(0)
    families = {}
    for case in CASES:
        if sys.argv[1:] and case["class"] not in sys.argv[1:]:
            continue
        families.setdefault(case["class"], []).append(golden(case))
    for name, cases in families.items():
        path = HERE / "golden" / f"{name.removesuffix('ForConditionalGeneration').lower()}.json"
        path.write_text(json.dumps({"transformers": transformers.__version__, "cases": cases}) + "\n")


if __name__ == "__main__":
    main()
