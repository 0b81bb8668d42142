// Converts MiniMind2-small as published, an ONNX file with 8-bit weights, into a folder of safetensors in F32
// that Halfbyte loads.
//
// A weight w in the ONNX file represents (w - zero point) * scale. The ONNX file's products also quantise
// activations at run time; the safetensors hold only the weights, so the logits of the two differ a little.
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { readOnnx } from './onnx-reader.mjs'

const COPIED = ['tokenizer.json', 'tokenizer_config.json', 'generation_config.json']
const VECTOR = /^model\.(norm|layers\.\d+\.(input|post_attention)_layernorm)\.weight$/
const SUFFIX = '_quantized'

/** Writes model.safetensors, config.json and the tokenizer to `to`. Throws RangeError for any other file. */
export function convertMiniMind(from, to) {
  const weights = weightsOf(readOnnx(readFileSync(join(from, 'onnx/model_quantized.onnx'))))
  const config = JSON.parse(readFileSync(join(from, 'config.json'), 'utf8'))
  const wanted = namesOf(config.num_hidden_layers)
  const missing = wanted.filter((name) => !weights.has(name))
  if (missing.length > 0 || weights.size !== wanted.length) {
    throw new RangeError(
      `the ONNX file has only ${weights.size} of ${wanted.length} weights; missing: ${missing.slice(0, 4).join(', ')}`,
    )
  }
  for (const name of COPIED) copyFileSync(join(from, name), join(to, name))
  // The file stores embedding and output separately, each with its own rounding.
  const changed = { ...config, tie_word_embeddings: false, dtype: 'float32' }
  writeFileSync(join(to, 'config.json'), `${JSON.stringify(changed, null, 2)}\n`)
  writeFileSync(join(to, 'model.safetensors'), safetensors(weights))
}

/** Float tensors by their Hugging Face name, rows first. */
export function weightsOf({ nodes, tensors }) {
  const found = new Map()
  for (const { name, dims, values } of tensors.values()) {
    if (VECTOR.test(name)) found.set(name, { shape: dims, values })
  }
  for (const { type, name, inputs } of nodes) {
    const quantized = inputs.find((input) => input.endsWith(SUFFIX) && tensors.has(input))
    if (quantized === undefined) continue
    if (type === 'MatMulInteger') {
      const path = name
        .replace(/^\//, '')
        .replace(/\/MatMul_quant$/, '')
        .replaceAll('/', '.')
      found.set(`${path}.weight`, transposed(dequantized(tensors, quantized)))
    } else if (type === 'Gather') {
      found.set(quantized.slice(0, -SUFFIX.length), dequantized(tensors, quantized))
    }
  }
  return found
}

/** One scale and zero point for all, or one per column. */
function dequantized(tensors, name) {
  const { dims, values } = tensors.get(name)
  const stem = name.slice(0, -SUFFIX.length)
  const scale = tensors.get(`${stem}_scale`)?.values
  const zero = tensors.get(`${stem}_zero_point`)?.values
  const columns = dims.at(-1)
  if (scale === undefined || zero === undefined || ![1, columns].includes(scale.length)) {
    throw new RangeError(`${name} has ${scale?.length ?? 0} scales instead of 1 or ${columns}`)
  }
  const of = scale.length === 1 ? () => 0 : (at) => at % columns
  return {
    shape: dims,
    values: Float32Array.from(values, (value, at) => (value - zero[of(at)]) * scale[of(at)]),
  }
}

function transposed({ shape: [rows, columns], values }) {
  const turned = new Float32Array(values.length)
  for (let row = 0; row < rows; row++)
    for (let column = 0; column < columns; column++)
      turned[column * rows + row] = values[row * columns + column]
  return { shape: [columns, rows], values: turned }
}

function namesOf(layers) {
  const of = (layer) =>
    [
      ...['q', 'k', 'v', 'o'].map((part) => `self_attn.${part}_proj`),
      ...['gate', 'up', 'down'].map((part) => `mlp.${part}_proj`),
      'input_layernorm',
      'post_attention_layernorm',
    ].map((name) => `model.layers.${layer}.${name}.weight`)
  const inLayers = Array.from({ length: layers }, (_, layer) => of(layer)).flat()
  return ['model.embed_tokens.weight', 'model.norm.weight', 'lm_head.weight', ...inLayers]
}

/** See https://huggingface.co/docs/safetensors: the header's length, the header, the data. */
function safetensors(weights) {
  const header = {}
  let end = 0
  for (const [name, { shape, values }] of weights) {
    header[name] = { dtype: 'F32', shape, data_offsets: [end, end + values.byteLength] }
    end += values.byteLength
  }
  const json = Buffer.from(JSON.stringify(header))
  const length = Buffer.alloc(8)
  length.writeBigUInt64LE(BigInt(json.length))
  const data = [...weights.values()].map(({ values }) => Buffer.from(values.buffer))
  return Buffer.concat([length, json, ...data])
}
