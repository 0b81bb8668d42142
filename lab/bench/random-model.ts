// Makes a random Q4_0 GGUF of a shape, as chunks. Its text is meaningless, but it runs at the speed of a real
// model.

import { floatsToHalves } from '../../src/core/base/half.ts'
import type {
  GgufContents,
  GgufTensor,
  GgufValue,
} from '../../test/conformance/testing/writers/gguf-writer.ts'
import { Random } from '../../test/helpers/random.ts'
import { floats as valuesOfQ4 } from './perf/onnx/repack.ts'
import { mambaKeys, mambaLayer } from './random-mamba.ts'
import type { Shape } from './shapes.ts'

const BLOCK_BYTES = 18
const CHUNK_BLOCKS = 1 << 16

/** Eight codes, with 8 in place of 0, so that weights have mean 0 and the output depends on the prompt. */
function balanced(codes: number): number {
  const zeros = ~(codes | (codes >>> 1) | (codes >>> 2) | (codes >>> 3)) & 0x11111111
  return (codes | (zeros << 3)) >>> 0
}

function* q4Blocks(noise: Random, blocks: number): Generator<Uint8Array> {
  for (let done = 0; done < blocks; done += CHUNK_BLOCKS) {
    const bytes = new Uint8Array(Math.min(CHUNK_BLOCKS, blocks - done) * BLOCK_BYTES)
    const view = new DataView(bytes.buffer)
    for (let at = 0; at < bytes.length; at += BLOCK_BYTES) {
      // f16 scales of 0.004 to 0.008: weights of about +-0.05
      view.setUint16(at, 0x1c00 + (noise.word() & 0x3ff), true)
      for (let word = 2; word < BLOCK_BYTES; word += 4)
        view.setUint32(at + word, balanced(noise.word()), true)
    }
    yield bytes
  }
}

function* floats(count: number, value: number): Generator<Uint8Array> {
  yield new Uint8Array(new Float32Array(count).fill(value).buffer)
}

/** GPT-2's printable stand-in for each byte. */
function byteTokens(): string[] {
  const printable = (byte: number) => (byte > 32 && byte < 127) || (byte > 160 && byte !== 173)
  let next = 256
  return Array.from({ length: 256 }, (_, byte) => String.fromCharCode(printable(byte) ? byte : next++))
}

/**
 * The file's contents. The vocabulary consists of the 256 bytes and fillers, so a text of n letters has n
 * tokens.
 */
export function randomModel(shape: Shape, seed = 1): GgufContents {
  const { hiddenSize, heads, kvHeads, headDim, intermediateSize, vocabSize } = shape
  const noise = new Random(seed)
  const tensors: GgufTensor[] = []
  const matrix = (name: string, n: number, k: number) =>
    tensors.push({ name, dtype: 'Q4_0', shape: [n, k], data: () => q4Blocks(noise, (n * k) / 32) })
  const vector = (name: string, n: number, value: number) =>
    tensors.push({ name, dtype: 'F32', shape: [n], data: () => floats(n, value) })
  const bias = (name: string, n: number) => shape.family === 'qwen2' && vector(name, n, 0.01)
  matrix('token_embd.weight', vocabSize, hiddenSize)
  const filled = (name: string, size: readonly number[], value: (index: number) => number) => {
    const count = size.reduce((product, each) => product * each, 1)
    const data = () => [new Uint8Array(Float32Array.from({ length: count }, (_, i) => value(i)).buffer)]
    tensors.push({ name, dtype: 'F32', shape: size, data })
  }
  for (let layer = 0; layer < shape.layers; layer++) {
    const at = `blk.${layer}`
    if (shape.recurrent !== undefined) {
      mambaLayer({ matrix, vector, floats: filled }, at, hiddenSize, shape.recurrent)
      continue
    }
    vector(`${at}.attn_norm.weight`, hiddenSize, 1)
    matrix(`${at}.attn_q.weight`, heads * headDim, hiddenSize)
    bias(`${at}.attn_q.bias`, heads * headDim)
    matrix(`${at}.attn_k.weight`, kvHeads * headDim, hiddenSize)
    bias(`${at}.attn_k.bias`, kvHeads * headDim)
    matrix(`${at}.attn_v.weight`, kvHeads * headDim, hiddenSize)
    bias(`${at}.attn_v.bias`, kvHeads * headDim)
    matrix(`${at}.attn_output.weight`, hiddenSize, heads * headDim)
    vector(`${at}.ffn_norm.weight`, hiddenSize, 1)
    matrix(`${at}.ffn_gate.weight`, intermediateSize, hiddenSize)
    matrix(`${at}.ffn_up.weight`, intermediateSize, hiddenSize)
    matrix(`${at}.ffn_down.weight`, hiddenSize, intermediateSize)
  }
  vector('output_norm.weight', hiddenSize, 1)
  return { metadata: metadata(shape), tensors }
}

/** The same model with matrices in F16, each value rounded once. */
export function inHalves({ metadata: stated, tensors }: GgufContents): GgufContents {
  const halves = function* (chunks: Iterable<Uint8Array>): Generator<Uint8Array> {
    for (const chunk of chunks) yield new Uint8Array(floatsToHalves(valuesOfQ4(chunk)).buffer)
  }
  return {
    metadata: { ...stated, 'general.file_type': ['u32', 1] },
    tensors: tensors.map((tensor) =>
      tensor.dtype === 'Q4_0'
        ? { ...tensor, dtype: 'F16', data: () => halves(tensor.data() as Iterable<Uint8Array>) }
        : tensor,
    ),
  }
}

function metadata(shape: Shape): Record<string, GgufValue> {
  const { family } = shape
  const fillers = Array.from({ length: shape.vocabSize - 258 }, (_, index) => `<filler_${index}>`)
  const tokens = [...byteTokens(), ...fillers, 'aa', '<|endoftext|>']
  const types = tokens.map((_, id) => (id === tokens.length - 1 ? 3 : 1))
  return {
    'general.architecture': ['string', family],
    'general.name': ['string', shape.name],
    'general.file_type': ['u32', 2],
    [`${family}.vocab_size`]: ['u32', shape.vocabSize],
    [`${family}.block_count`]: ['u32', shape.layers],
    [`${family}.context_length`]: ['u32', 32768],
    [`${family}.embedding_length`]: ['u32', shape.hiddenSize],
    [`${family}.feed_forward_length`]: ['u32', shape.intermediateSize],
    [`${family}.attention.head_count`]: ['u32', shape.heads],
    [`${family}.attention.head_count_kv`]: ['u32', shape.kvHeads],
    [`${family}.attention.layer_norm_rms_epsilon`]: ['f32', shape.normEpsilon],
    [`${family}.rope.dimension_count`]: ['u32', shape.headDim],
    [`${family}.rope.freq_base`]: ['f32', shape.ropeBase],
    ...(shape.recurrent && mambaKeys(shape.recurrent)),
    'tokenizer.ggml.model': ['string', 'gpt2'],
    'tokenizer.ggml.pre': ['string', 'qwen2'],
    'tokenizer.ggml.tokens': ['string[]', tokens],
    'tokenizer.ggml.token_type': ['i32[]', types],
    // One merge, of a letter that the bench's prompts do not use, because readers reject a vocabulary without
    // merges.
    'tokenizer.ggml.merges': ['string[]', ['a a']],
    'tokenizer.ggml.eos_token_id': ['u32', tokens.length - 1],
    'tokenizer.ggml.add_bos_token': ['bool', false],
  }
}
