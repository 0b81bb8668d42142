# Models of onnxruntime-genai's builder. In: a folder. Out: a folder in it for each family, precision and target,
# with the logits of ONNX Runtime. `python genai.py FOLDER [NAME...]`
import shutil
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

import floats
from models import save_model
from jobs import run_jobs

# Different versions write different graphs, and each needs a transformers version of its time.
VERSION = ".".join(version("onnxruntime-genai").split(".")[:2])
# family: precision, target, further builder options
F32 = ("llama", "llama-3", "smollm2", "qwen2", "qwen3", "gemma", "gemma2", "gemma3", "phi3", "phi3-long", "mistral",
       "mistral-window", "granite", "olmo", "smollm3", "olmo2", "lfm2")
JOBS = [(family, "fp32", "cpu", ()) for family in F32]
JOBS += [(family, "fp16", "cuda", ()) for family in ("llama", "smollm2", "qwen3", "gemma3", "phi3", "lfm2")]
JOBS += [("llama", "fp16", "dml", ()), ("llama", "bf16", "cuda", ())]
JOBS += [(family, "int4", "cpu", ()) for family in
         ("llama", "smollm2", "qwen2", "qwen3", "gemma3", "phi3", "granite", "smollm3", "lfm2")]
JOBS += [(family, "int4", "webgpu", ()) for family in ("llama", "smollm2", "qwen3", "lfm2")]
JOBS += [("llama", "int4", "cpu", (option,)) for option in
         ("is_symmetric=false", "block_size=16", "block_size=64", "algo_config=rtn", "algo_config=k_quant_mixed",
          "accuracy_level=1", "op_types_to_quantize=MatMul/Gather", "use_qdq=true")]
JOBS += [("smollm2", "int4", "cpu", ("shared_embeddings=false",)), ("smollm2", "int8", "cpu", ()),
         ("llama", "int8", "cpu", ()), ("qwen3", "int8", "cpu", ())]
KINDS = {"fp32": "f32", "fp16": "f16"}


def build(target, family, precision, provider, options):
    shutil.rmtree(target, ignore_errors=True)
    with tempfile.TemporaryDirectory() as source:
        save_model(family, source)
        extra = ["--extra_options", *options] if options else []
        builder = [sys.executable, "-m", "onnxruntime_genai.models.builder", "-i", source, "-o", str(target)]
        made = subprocess.run([*builder, "-p", precision, "-e", provider, "-c", source, *extra],
                              capture_output=True, text=True)
        if made.returncode != 0:
            raise RuntimeError((made.stderr.strip().splitlines() or ["the builder exited"])[-1])
    shutil.rmtree(target / "cache_dir", ignore_errors=True)
    form = " ".join([precision, provider, *options])
    floats.write(target, exporter=f"onnxruntime-genai {VERSION}", family=family, form=form, kind=KINDS.get(precision, precision))


def name_of(family, precision, provider, options):
    words = [family, precision, *([provider] if provider != "cpu" else []), *options]
    return f"genai{VERSION}-" + "-".join(words).replace("=", "-").replace("/", "-")


if __name__ == "__main__":
    run_jobs(Path(sys.argv[1]), sys.argv[2:], [(name_of(*job), build, job) for job in JOBS])
