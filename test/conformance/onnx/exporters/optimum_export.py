# Exports of optimum-onnx. In: a folder. Out: a folder in it for each family and form, as written by
# `optimum-cli export onnx`, with the logits of ONNX Runtime. `python optimum_export.py FOLDER [NAME...]`
import shutil
import sys
import tempfile
from pathlib import Path

from optimum.exporters.onnx import main_export
from optimum.exporters.onnx.convert import export as export_model
from optimum.exporters.tasks import TasksManager
from optimum.onnx import merge_decoders
from transformers import AutoModelForCausalLM

import floats
import reference
from jobs import run_jobs
from models import save_model, save_tokenizer

F32 = ("llama", "llama-3", "llama-yarn", "smollm2", "smollm3", "qwen2", "qwen3", "qwen3-tied", "gemma", "gemma2",
       "gemma3", "phi", "phi3", "phi3-long", "mistral", "mistral-window", "granite", "olmo", "olmo2",
       "stablelm", "cohere", "nemotron", "helium", "glm", "arcee", "gpt2", "gpt-neox", "gptj", "gpt-neo",
       "opt", "bloom", "falcon", "mpt")
F16 = ("llama", "smollm2", "qwen2", "qwen3", "gemma3", "phi3", "granite", "gpt2")
WITHOUT_CACHE = ("llama", "qwen3-tied", "gpt2")
# A merged decoder, as formerly used by transformers.js: one graph with an If.
MERGED = ("llama", "gpt2")


def export(target, name, form, task="text-generation-with-past", **options):
    shutil.rmtree(target, ignore_errors=True)
    with tempfile.TemporaryDirectory() as source:
        save_model(name, source)
        main_export(source, target, task=task, do_validation=False, device="cpu", **options)
    save_tokenizer(target)
    write = floats.write if form == "f16" else reference.write
    write(target, exporter="optimum-onnx", family=name, form=form, kind=form.split(" ")[0])


def merged(target, name):
    """One graph with an If on whether there is a cache. Older versions of optimum wrote decoders this way."""
    shutil.rmtree(target, ignore_errors=True)
    with tempfile.TemporaryDirectory() as source, tempfile.TemporaryDirectory() as parts:
        save_model(name, source)
        model = AutoModelForCausalLM.from_pretrained(source)
        for part, past in (("first", False), ("next", True)):
            make = TasksManager.get_exporter_config_constructor("onnx", model=model, task="text-generation-with-past")
            config = make(model.config, use_past=True, use_past_in_inputs=past)
            export_model(model, config, Path(parts) / f"{part}.onnx")
        shutil.copytree(source, target, ignore=shutil.ignore_patterns("*.safetensors"))
        merge_decoders(f"{parts}/first.onnx", f"{parts}/next.onnx", save_path=target / "model.onnx")
    reference.write(target, exporter="optimum-onnx", family=name, form="f32 merged", kind="f32")


def without_cache(target, name):
    export(target, name, "f32 without a cache", task="text-generation")


def halves(target, name):
    export(target, name, "f16", dtype="fp16")


JOBS = [
    *((f"optimum-{name}-f32", export, (name, "f32")) for name in F32),
    *((f"optimum-{name}-f16", halves, (name,)) for name in F16),
    *((f"optimum-{name}-nocache", without_cache, (name,)) for name in WITHOUT_CACHE),
    *((f"optimum-{name}-merged", merged, (name,)) for name in MERGED),
]

if __name__ == "__main__":
    run_jobs(Path(sys.argv[1]), sys.argv[2:], JOBS)
