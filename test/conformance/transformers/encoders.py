"""Makes encoders/*.json. In: transformers and torch, small MPNets of odd sizes. Out: each one's config.json as transformers writes it,
how its weights are made, and the hidden states of a few positions in float64. Needs the packages of make.py.

    python test/conformance/transformers/encoders.py
    npx biome check --write test/conformance/transformers
"""
import base64
import json
import tempfile
from pathlib import Path

import numpy as np
import torch
import transformers
from make import braced, made, write
from safetensors import safe_open
from safetensors.numpy import save_file

# Every distance up to 289 occurs, so every bucket is used, on both sides.
POSITIONS = 290
WATCHED = [0, 130, 289]
CASES = [
    ("three heads of 12", {"hidden_size": 36, "num_attention_heads": 3, "intermediate_size": 53}),
    ("five heads of 20", {"hidden_size": 100, "num_attention_heads": 5, "intermediate_size": 77, "layer_norm_eps": 1e-5}),
]


def golden(name, keys):
    config = transformers.MPNetConfig(vocab_size=211, num_hidden_layers=2, max_position_embeddings=POSITIONS + 2, **keys)
    model = transformers.MPNetModel(config, add_pooling_layer=False)
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder)
        path = Path(folder, "model.safetensors")
        with safe_open(path, "np") as file:
            shapes = {key: list(file.get_slice(key).get_shape()) for key in file.keys()}
        rows, weights = [], {}
        for key, shape in shapes.items():
            weights[key], *how = made("MPNet", key, shape)
            rows.append([key, shape, *how])
        save_file(weights, path, {"format": "pt"})
        stored = json.loads(Path(folder, "config.json").read_text())
        model = transformers.MPNetModel.from_pretrained(folder, add_pooling_layer=False, attn_implementation="eager")
    # Skips ids 0 and 1, which are padding and have no position.
    ids = [2 + (37 * i + i * i % 11) % (config.vocab_size - 2) for i in range(POSITIONS)]
    with torch.no_grad():
        states = model.double().eval()(torch.tensor([ids])).last_hidden_state[0].numpy()
    print(f"{name:30} {len(shapes)} tensors, largest value {np.abs(states[WATCHED]).max():.3g}")
    watched = {str(at): base64.b64encode(states[at].astype("<f4").tobytes()).decode() for at in WATCHED}
    return {"name": name, "config": stored, "tensors": braced(rows), "states": watched}


if __name__ == "__main__":
    transformers.logging.set_verbosity_error()
    folder = Path(__file__).parent / "encoders"
    folder.mkdir(exist_ok=True)
    write(folder / "mpnet.json", {"transformers": transformers.__version__, "cases": [golden(*each) for each in CASES]})
