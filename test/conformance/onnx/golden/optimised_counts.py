"""Node counts after ONNX Runtime's basic optimisations. In: a folder with the models of its optimiser's tests. Out:
optimised-counts.json beside this file: nodes by path, of those models that it opens on the CPU.

Run with onnx 1.23.1 and onnxruntime 1.30.0: python optimised_counts.py FOLDER
"""
import json
import sys
import tempfile
from pathlib import Path

import onnx
import onnxruntime

folder = Path(sys.argv[1])
counts = {}
onnxruntime.set_default_logger_severity(4)
for path in sorted(folder.rglob('*.onnx')):
    with tempfile.TemporaryDirectory() as scratch:
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
        options.optimized_model_filepath = f'{scratch}/optimised.onnx'
        try:
            onnxruntime.InferenceSession(str(path), options, providers=['CPUExecutionProvider'])
            counts[str(path.relative_to(folder))] = len(onnx.load(options.optimized_model_filepath).graph.node)
        except Exception:
            continue
Path(__file__).with_name('optimised-counts.json').write_text(json.dumps(counts, indent=2) + '\n')
print(len(counts), 'models')
