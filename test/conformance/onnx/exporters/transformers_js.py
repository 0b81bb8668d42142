# Precisions of transformers.js. In: a folder with exports of optimum in f32. Out: next to each, the files that
# transformers.js's converter makes from it, with the same calls of ONNX Runtime's quantisers. `python transformers_js.py FOLDER
# [NAME...]`
import shutil
import sys
from pathlib import Path

import onnx
from onnxruntime.quantization import QuantizationMode, QuantType
from onnxruntime.quantization.matmul_bnb4_quantizer import MatMulBnb4Quantizer
from onnxruntime.quantization.matmul_nbits_quantizer import MatMulNBitsQuantizer
from onnxruntime.quantization.onnx_quantizer import ONNXQuantizer
from onnxruntime.quantization.registry import IntegerOpsRegistry
from onnxruntime.transformers import float16

import floats
from jobs import run_jobs

PRECISIONS = {
    "llama": ("fp16", "int8", "uint8", "q4", "q4f16", "bnb4"),
    "smollm2": ("fp16", "int8", "uint8", "q4", "q4f16"),
    "qwen2": ("fp16", "int8", "uint8", "q4", "q4f16"),
    "qwen3": ("fp16", "int8", "q4", "q4f16"),
    "gemma3": ("fp16", "int8", "q4", "q4f16"),
    "phi3": ("int8", "q4", "q4f16"),
    "granite": ("int8", "q4", "q4f16"),
    "gpt2": ("int8", "uint8", "q4"),
    "gpt-neox": ("int8", "q4"),
    "olmo2": ("int8", "q4"),
    "mistral": ("q4f16",),
}
KINDS = {"fp16": "f16", "int8": "int8", "uint8": "int8", "q4": "int4", "q4f16": "int4", "bnb4": "int4"}


def bytes_of(model, kind):
    made = ONNXQuantizer(model, False, False, mode=QuantizationMode.IntegerOps, static=False, weight_qType=kind,
                         activation_qType=QuantType.QUInt8, tensors_range=None, nodes_to_quantize=[],
                         nodes_to_exclude=[], op_types_to_quantize=list(IntegerOpsRegistry),
                         extra_options=dict(EnableSubgraph=True, MatMulConstBOnly=True))
    made.quantize_model()
    return made.model.model


def blocks_of(model):
    made = MatMulNBitsQuantizer(model, block_size=32, is_symmetric=True)
    made.process()
    return made.model.model


def bnb4_of(model):
    made = MatMulBnb4Quantizer(model, block_size=64, quant_type=MatMulBnb4Quantizer.NF4)
    made.process()
    return made.model.model


def halves_of(model):
    """The converter has a copy of this function, with f32 for the same operators."""
    return float16.convert_float_to_float16(model, keep_io_types=True)


MAKERS = {
    "fp16": halves_of,
    "int8": lambda model: bytes_of(model, QuantType.QInt8),
    "uint8": lambda model: bytes_of(model, QuantType.QUInt8),
    "q4": blocks_of,
    "q4f16": lambda model: halves_of(blocks_of(model)),
    "bnb4": bnb4_of,
}


def convert(target, source, family, precision):
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(source, target, ignore=shutil.ignore_patterns("*.onnx*", "*.f32", "*data"))
    onnx.save(MAKERS[precision](onnx.load(source / "model.onnx")), target / "model.onnx")
    floats.write(target, exporter="transformers.js", family=family, form=precision, kind=KINDS[precision])


def main(folder, wanted):
    pairs = [(family, precision) for family, precisions in PRECISIONS.items() for precision in precisions]
    run_jobs(folder, wanted, [
        (f"tjs-{family}-{precision}", convert, (folder / f"optimum-{family}-f32", family, precision))
        for family, precision in pairs
    ])


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
