// Writes a complete float model to compress: the 0.5B shape as a GGUF of F16 matrices, 1 GB.
//
//   npx node lab/bench/float-shape.ts FILE.gguf
//
// Weights are random. Every 64th input of a norm is 15 times as large as the others, as in trained models.
import type { GgufTensor } from '../../test/conformance/testing/writers/gguf-writer.ts'
import { randomTensor } from '../../test/conformance/testing/writers/random-tensor.ts'
import { writeModel } from './model-file.ts'
import { randomModel } from './random-model.ts'
import { QWEN_05B } from './shapes.ts'

const [path = ''] = process.argv.slice(2)
if (path === '') throw new Error('name the file to write')

function asFloat(tensor: GgufTensor, index: number): GgufTensor {
  const { name, dtype, shape } = tensor
  const [n = 1, k = 1] = shape
  if (dtype === 'Q4_0') {
    const data = () => randomTensor('F16', [n, k], index + 1, 1 / Math.sqrt(k))
    return { name, dtype: 'F16', shape, data }
  }
  if (!/_norm/.test(name)) return tensor
  const gains = Float32Array.from({ length: n }, (_, i) => (i % 64 === 7 ? 15 : 1))
  return { ...tensor, data: () => [new Uint8Array(gains.buffer)] }
}

const { metadata, tensors } = randomModel(QWEN_05B)
await writeModel(path, { metadata, tensors: tensors.map(asFloat) })
