# Image networks in 8 bits, with random weights, as ONNX Runtime's quantiser writes them: `python quantised_nets.py
# FOLDER [NAME...]` exports each network of torch_nets.py's size and quantises it statically, in both of the formats
# (`_qdq`: QuantizeLinear and DequantizeLinear around each operator; `_qop`: QLinear operators), with weights per channel
# and u8 activations. `--file PATH 1x3x320x320` quantises the convolutions of a file instead.
import sys
import warnings
from pathlib import Path

import numpy as np
import onnx
import torch
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static
from onnxruntime.quantization.shape_inference import quant_pre_process
from torchvision import models

NETS = {
    "resnet18": models.resnet18,
    "mobilenet_v2": models.mobilenet_v2,
    "mobilenet_v3": models.mobilenet_v3_large,
    "efficientnet_b0": models.efficientnet_b0,
}
FORMATS = {"qdq": QuantFormat.QDQ, "qop": QuantFormat.QOperator}


class Images(CalibrationDataReader):
    def __init__(self, name, shape):
        random = np.random.default_rng(1)
        self.feeds = iter([{name: random.standard_normal(shape).astype(np.float32)} for _ in range(4)])

    def get_next(self):
        return next(self.feeds, None)


def quantise(file, name, shape, folder, only=None):
    ready = folder / f"{name}_ready.onnx"
    quant_pre_process(str(file), str(ready), skip_symbolic_shape=True)
    model = onnx.load(str(ready))
    given = model.graph.input[0].name
    # Scales per channel need opset 13.
    is_per_channel = model.opset_import[0].version >= 13
    for suffix, form in FORMATS.items():
        quantize_static(str(ready), str(folder / f"{name}_{suffix}.onnx"), Images(given, shape), quant_format=form,
                        per_channel=is_per_channel, op_types_to_quantize=only, activation_type=QuantType.QUInt8,
                        weight_type=QuantType.QInt8)
    ready.unlink()
    print(f"{name}: written", flush=True)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    folder, wanted = Path(sys.argv[1]), sys.argv[2:]
    folder.mkdir(parents=True, exist_ok=True)
    if wanted[:1] == ["--file"]:
        file = Path(wanted[1])
        quantise(file, file.stem, tuple(int(size) for size in wanted[2].split("x")), folder, ["Conv"])
        sys.exit()
    for name in wanted or NETS:
        torch.manual_seed(1)
        file = folder / f"{name}_f32.onnx"
        with torch.no_grad():
            torch.onnx.export(NETS[name]().eval(), (torch.randn(1, 3, 224, 224),), str(file), dynamo=False,
                              opset_version=17, input_names=["image"], output_names=["made"])
        quantise(file, name, (1, 3, 224, 224), folder)
