// Merges LoRA adapters into a model's tensors while they are read.

import { isSparse, PANEL_ROWS, panelBytes } from '../abi/encodings.ts'
import type { ModelConfig } from '../arch/config/config.ts'
import { familyFile } from '../arch/families.ts'
import type { Weights } from '../arch/tensors/names.ts'
import { expectedTensors } from '../arch/tensors/tensor-names.ts'
import { HalfbyteError } from '../base/errors.ts'
import { floatToHalf } from '../base/half.ts'
import type { Adapter, LowRank } from '../formats/adapter.ts'
import { dequantize } from '../formats/dequantize.ts'
import { rowBytes, storedRows } from '../formats/dtypes.ts'
import { malformed, shown } from '../formats/malformed.ts'
import type { TensorInfo } from '../formats/tensors.ts'
import { unpackPanels } from './unpack.ts'

/** An adapter and the factor by which it is added. */
export interface ScaledAdapter {
  readonly adapter: Adapter
  readonly scale: number
}

/**
 * W + scale * B * A for each matrix that an adapter changes. Sums are f64, rounded to f32 or to the file's
 * F16 or BF16. Quantised matrices become 8-bit groups, because 4-bit codes would round most of an adapter
 * away. Throws `architecture` for an adapter of another model, `unsupported` for matrices stored without
 * their zeros and for ranks and scales that no adapter needs. Reading throws `format` for values that are not
 * finite, `unsupported` for sums that are too large.
 */
export function adaptWeights(
  weights: Weights,
  config: ModelConfig,
  adapters: readonly ScaledAdapter[],
): Weights {
  const adapted = new Map(weights)
  for (const { adapter, scale } of adapters) {
    const { name: file, format, architecture, changes } = adapter
    const { gguf } = familyFile(config.family)
    const left = new Set(changes.keys())
    if (format === 'gguf' && architecture !== gguf.architecture)
      throw otherModel(file, `is of ${shown(architecture)}`)
    for (const { name, shape, place } of expectedTensors(format, config)) {
      const found = place.tensor.split('|').find((each) => changes.has(each))
      const change = found === undefined ? undefined : changes.get(found)
      const base = adapted.get(name)
      if (found === undefined || change === undefined || base === undefined) continue
      left.delete(found)
      const [n = 0, k = 0] = shape
      const inputs = change.down.shape[1]
      const outputs = change.up.shape[0]
      const rows = place.shape?.[0] ?? n
      if (shape.length !== 2 || inputs !== k || outputs !== rows) {
        throw otherModel(
          file,
          `changes ${shown(found)} as [${outputs}, ${inputs}], which is [${rows}, ${k}] here`,
        )
      }
      const rank = change.down.shape[0] ?? 0
      if (rank > Math.max(rows, k)) {
        throw new HalfbyteError(
          'unsupported',
          `${file}: the adapter changes ${shown(found)} [${rows}, ${k}] with rank ${rank}, which takes more ` +
            'room than the matrix; merge it into its model and load that',
          { file, tensor: found, rank },
        )
      }
      const factor = change.scale * scale
      if (!Number.isFinite(factor)) {
        throw new HalfbyteError(
          'unsupported',
          `${file}: the adapter's scale ${change.scale} times ${scale} is too large; choose a smaller scale`,
          { file, scale },
        )
      }
      // llama.cpp's converter interleaves the halves of each Q and K head in some families. Hugging Face
      // never does.
      const pairing = format === 'gguf' ? gguf.pairing : 'halves'
      const isTurned = pairing !== config.rope.pairing && /attn_[qk]\.weight$/.test(name)
      const order = rowsOf(place.runs ?? [[0, n]])
      const { headDim } = config
      const half = headDim / 2
      const rowOf = (row: number): number => {
        const within = row % headDim
        const from =
          pairing === 'halves'
            ? Math.floor(within / 2) + (within % 2) * half
            : 2 * (within % half) + Math.floor(within / half)
        return order[isTurned ? row - within + from : row]!
      }
      adapted.set(name, merged(base, { ...change, scale: factor }, rowOf))
    }
    const [first] = left
    if (first !== undefined)
      throw otherModel(file, `changes ${left.size} matrices that the model lacks, such as ${shown(first)}`)
  }
  return adapted
}

const otherModel = (file: string, what: string): HalfbyteError =>
  new HalfbyteError('architecture', `${file}: the adapter ${what}; it was made for another model`)

const rowsOf = (runs: readonly (readonly [number, number])[]): number[] =>
  runs.flatMap(([first, count]) => Array.from({ length: count }, (_, index) => first + index))

function merged(base: TensorInfo, { down, up, scale }: LowRank, rowOf: (row: number) => number): TensorInfo {
  const { name, packed, like = base.dtype } = base
  if (packed !== undefined && isSparse(packed)) {
    throw new HalfbyteError(
      'unsupported',
      `${shown(name)} is stored without its zeros; adapt the model it was converted from`,
    )
  }
  const [n = 0, k = 0] = base.shape
  const rank = down.shape[0] ?? 0
  const dtype = like === 'F16' || like === 'BF16' ? like : 'F32'
  const bytes = rowBytes(dtype, k)
  const read = async (offset: number, length: number, signal?: AbortSignal) => {
    const first = offset / bytes
    const count = length / bytes
    const values = finite(base, await valuesOf(base, first, count, signal))
    const a = finite(down, await valuesOf(down, 0, rank, signal))
    const b = finite(up, await valuesOf(up, 0, up.shape[0] ?? 0, signal))
    let peak = 0
    const sum = new Float64Array(k)
    for (let row = 0; row < count; row++) {
      sum.set(values.subarray(row * k, row * k + k))
      const from = rowOf(first + row) * rank
      for (let r = 0; r < rank; r++) {
        const factor = scale * b[from + r]!
        for (let i = 0; i < k; i++) sum[i]! += factor * a[r * k + i]!
      }
      for (let i = 0; i < k; i++) peak = Math.max(peak, Math.abs(sum[i]!))
      values.set(sum, row * k)
    }
    // Opposite infinities add up to NaN.
    if (!(peak <= LARGEST)) throw tooLarge(down.source.name, name, peak)
    return new Uint8Array(stored(dtype, values).buffer)
  }
  const source = { name: base.source.name, size: n * bytes, read }
  return {
    ...base,
    dtype,
    source,
    offset: 0,
    byteLength: source.size,
    packed: undefined,
    coding: undefined,
    sorted: undefined,
    like: like === 'F32' ? undefined : dtype === 'F32' ? 'Q8_0' : undefined,
  }
}

/**
 * The largest F16. No trained matrix comes near it, and with values far beyond it sums of squares overflow,
 * which norms turn into zeros instead of an error.
 */
const LARGEST = 65504

const tooLarge = (file: string, tensor: string, peak: number): HalfbyteError =>
  new HalfbyteError(
    'unsupported',
    `${file}: with the adapter, ${shown(tensor)} has values up to ${peak}, but at most ${LARGEST} is possible; ` +
      'load the adapter with a smaller scale',
    { file, tensor },
  )

/** `values`, of `tensor`. Throws `format` when one of them is not finite. */
function finite({ name, source }: TensorInfo, values: Float32Array): Float32Array {
  const wrong = values.find((value) => !Number.isFinite(value))
  if (wrong === undefined) return values
  throw malformed(source.name, `${shown(name)} holds ${wrong}, but weights are finite numbers`, {
    tensor: name,
  })
}

/** Rows of any tensor. Panels are read from a multiple of 8. */
async function valuesOf(
  { source, offset, packed, dtype, coding, shape }: TensorInfo,
  first: number,
  count: number,
  signal?: AbortSignal,
): Promise<Float32Array> {
  const k = shape[1] ?? 0
  if (packed === undefined || isSparse(packed)) {
    const bytes = rowBytes(dtype, k)
    const out = new Float32Array(count * k)
    const rows = await source.read(offset + first * bytes, count * bytes, signal)
    dequantize(storedRows(dtype, rows, coding), 0, out.length, out, 0)
    return out
  }
  const panel = panelBytes(packed, k)
  const panels = Math.ceil(count / PANEL_ROWS)
  const rows = await source.read(offset + (first / PANEL_ROWS) * panel, panels * panel, signal)
  return unpackPanels(packed, rows, k).subarray(0, count * k)
}

/** Rounded to nearest, ties to even. */
function stored(dtype: 'F32' | 'F16' | 'BF16', values: Float32Array): Float32Array | Uint16Array {
  if (dtype === 'F32') return values
  if (dtype === 'F16') return Uint16Array.from(values, floatToHalf)
  const words = new Uint32Array(values.buffer, values.byteOffset, values.length)
  return Uint16Array.from(words, (word) => (word + 0x7fff + ((word >>> 16) & 1)) >>> 16)
}
