// The nodes on rows: embedding, norms, elementwise arithmetic, quantization, views, and the exchanges of
// shards.

import { ACTIVATION, SELECTOR } from '../../abi/constants.ts'
import { ENCODINGS, GROUP_SIZE, groupEncoding, roundUp } from '../../abi/encodings.ts'
import { HalfbyteError } from '../../base/errors.ts'
import type { Activation, Limits, Quantizable, Value, WeightRef, Xielu } from '../ir.ts'
import {
  broken,
  expectForm,
  expectKind,
  expectRows,
  expectSame,
  expectWidth,
  type KernelKind,
  type NodeKind,
  opRecord,
  rowsOf,
} from '../node.ts'

/**
 * Adds all shards' versions of `input` to the residual, in shard order, and overwrites it. Every shard gets
 * the same bits. Without a residual, overwrites the input.
 */
export interface Exchange {
  readonly op: 'exchange'
  readonly input: Value
  readonly residual?: Value | undefined
  readonly shard: number
  readonly shards: number
  readonly output: Value
}

export const exchange: NodeKind<Exchange> = {
  shape({ input, residual }) {
    if (residual !== undefined) expectSame(input, residual)
    return input.shape
  },
}

/**
 * Puts the columns of all shards side by side on the first shard. The other shards only send their columns.
 */
export interface Collect {
  readonly op: 'collect'
  readonly input: Value
  readonly shard: number
  /** How many columns each shard produced. */
  readonly widths: readonly number[]
  readonly output: Value
}

export const collect: NodeKind<Collect> = {
  shape({ input, widths, shard }) {
    const own = widths[shard] ?? 0
    expectWidth(input, own, `the columns of shard ${shard}`)
    return [input.shape[0], shard === 0 ? widths.reduce((sum, width) => sum + width, 0) : own]
  },
}

export interface Embed {
  readonly op: 'embed'
  readonly output: Value
  readonly table: WeightRef
  readonly scale: number
  /**
   * What selects a row of the table: the token's id, its position, or the part of a pair that it belongs to.
   */
  readonly by: Exclude<keyof typeof SELECTOR, 'input'>
}

export const embed: KernelKind<Embed> = {
  shape({ table }) {
    expectKind(table, 'matrix')
    return ['tokens', table.k]
  },
  record(node, { slotOf, rowsAt }) {
    const { slot, encoding } = slotOf(node.table)
    if (encoding !== groupEncoding(encoding)) {
      const name = node.table.parts[0]?.name
      throw new HalfbyteError(
        'unsupported',
        `embeddings cannot be read from ${encoding}; convert ${name} to a dense encoding`,
      )
    }
    const vocab = rowsOf(node.table)
    const { runs: [run] = [], whole = vocab } = node.table.parts[0]?.rows ?? {}
    const table = {
      table: { slot },
      encoding: ENCODINGS[encoding].code,
      vocab,
      first: run?.first ?? 0,
      whole,
    }
    const size = { n: node.table.k, scale: node.scale, by: SELECTOR[node.by] }
    return opRecord('embed', { ...table, ...size, ...rowsAt({ y: node.output }) })
  },
}

/** The rows [tokens, width] that the step supplies itself, such as the patches of an image. */
export interface InputRows {
  readonly op: 'inputRows'
  readonly output: Value
  readonly width: number
}

export const inputRows: KernelKind<InputRows> = {
  shape: ({ width }) => ['tokens', width],
  record({ width, output }, { rowsAt }) {
    const noTable = { table: 0, encoding: ENCODINGS.f32.code, vocab: 0, first: 0, whole: 0 }
    return opRecord('embed', {
      ...noTable,
      n: width,
      scale: 1,
      by: SELECTOR.input,
      ...rowsAt({ y: output }),
    })
  },
}

/** Columns [start, start + width) of a value: one part of a merged linear. Costs nothing in the plan. */
export interface Slice {
  readonly op: 'slice'
  readonly input: Value
  readonly output: Value
  readonly start: number
  readonly width: number
}

export const slice: NodeKind<Slice> = {
  shape({ input, start, width }) {
    if (start >= 0 && start + width <= input.shape[1]) return [input.shape[0], width]
    throw broken(input, `is sliced at [${start}, ${start + width})`)
  },
}

/** Keeps the rows whose logits are wanted. Costs nothing in the plan: the next norm gathers them. */
export interface TakeRows {
  readonly op: 'takeRows'
  readonly input: Value
  readonly output: Value
}

export const takeRows: NodeKind<TakeRows> = {
  shape({ input }) {
    if (input.shape[0] !== 'tokens') throw broken(input, 'has no token rows to take')
    return ['logitRows', input.shape[1]]
  },
}

/**
 * Converts f32 rows to a8 rows. Needed if the producer cannot write a8 rows, or if the readers reorder their
 * inputs or need one scale for all groups.
 */
export interface Quantize {
  readonly op: 'quantize'
  readonly input: Value
  readonly output: Value
  readonly order?: WeightRef | undefined
  readonly whole?: boolean
}

export const quantize: KernelKind<Quantize> = {
  shape({ input }) {
    expectForm(input, 'f32')
    return input.shape
  },
  record({ input, output, order, whole }, { rowsAt, slotsOf }) {
    return opRecord('quantize', {
      ...rowsAt({ x: input, q: output }),
      ...slotsOf({ order }),
      n: input.shape[1],
      whole: whole ? 1 : 0,
    })
  },
}

/** activation(gate) * up. Without `up`: activation(gate). */
export interface Swiglu extends Quantizable {
  readonly op: 'swiglu'
  readonly gate: Value
  readonly up?: Value | undefined
  readonly activation: Activation
  /** The parameters of `xielu`; no other activation has any. */
  readonly xielu?: Xielu | undefined
}

export const swiglu: KernelKind<Swiglu> = {
  shape({ gate, up, activation, xielu }) {
    if (up !== undefined) expectSame(gate, up)
    if ((activation === 'xielu') !== (xielu !== undefined))
      throw broken(gate, `goes through ${activation} ${xielu ? 'with' : 'without'} the parameters of xielu`)
    return gate.shape
  },
  record({ gate, up, output, quantized, activation, xielu }, { rowsAt }) {
    const rows = rowsAt({ gate, up, y: output, q: quantized })
    const { above = 0, below = 0, slope = 0, epsilon: eps = 0 } = xielu ?? {}
    const curve = { above, below, slope, eps }
    return opRecord('swiglu', { ...rows, n: gate.shape[1], activation: ACTIVATION[activation], ...curve })
  },
}

/** left + scale * right */
export interface Add {
  readonly op: 'add'
  readonly left: Value
  readonly right: Value
  readonly scale: number
  readonly output: Value
}

export const add: KernelKind<Add> = {
  shape({ left, right }) {
    expectSame(left, right)
    return left.shape
  },
  record({ left, right, output, scale }, { at, rowsAt }) {
    const other = at(output).arena === at(left).arena ? right : left
    return opRecord('add', { ...rowsAt({ x: other, y: output }), n: output.shape[1], scale })
  },
}

/** input * scale, then soft-capped like attention scores. */
export interface Rescale {
  readonly op: 'rescale'
  readonly input: Value
  readonly scale: number
  readonly cap: number
  readonly output: Value
}

export const rescale: KernelKind<Rescale> = {
  shape: ({ input }) => input.shape,
  record({ scale, cap, output }, { rowsAt }) {
    return opRecord('rescale', { ...rowsAt({ y: output }), n: output.shape[1], scale, cap })
  },
}

/** Clamps each number to the range. Zeros stay zero, because each range contains 0. */
export interface Clamp {
  readonly op: 'clamp'
  readonly input: Value
  readonly limits: Limits
  readonly output: Value
}

export const clamp: KernelKind<Clamp> = {
  shape({ input, limits: { least, most } }) {
    if (least <= 0 && most >= 0 && least < most) return input.shape
    throw broken(input, `is limited to ${least} to ${most}, which is not a range around 0`)
  },
  record({ input, output, limits: { least, most } }, { rowsAt }) {
    return opRecord('clamp', { ...rowsAt({ x: input, y: output }), n: output.shape[1], least, most })
  },
}

export interface RmsNorm extends Quantizable {
  readonly op: 'rmsnorm'
  readonly input: Value
  readonly weight: WeightRef
  readonly epsilon: number
  /** Equal parts of a row, each normalised separately. Default: one. */
  readonly parts?: number
}

export const rmsnorm: KernelKind<RmsNorm> = {
  shape({ input, weight, parts = 1 }) {
    if (parts > 1 && input.shape[1] % (parts * GROUP_SIZE) !== 0) {
      throw broken(input, `is normalised in ${parts} parts that are not whole groups`)
    }
    expectRows(input, weight)
    expectKind(weight, 'vector')
    return input.shape
  },
  record({ input, weight, output, quantized, epsilon, parts = 1 }, { rowsAt, slotsOf }) {
    const rows = { ...rowsAt({ x: input, y: output, q: quantized }), n: input.shape[1], eps: epsilon }
    return opRecord('rmsnorm', { ...rows, ...slotsOf({ weight }), parts })
  },
}

export interface LayerNorm extends Quantizable {
  readonly op: 'layernorm'
  readonly input: Value
  readonly weight: WeightRef
  readonly bias?: WeightRef | undefined
  readonly epsilon: number
}

export const layernorm: KernelKind<LayerNorm> = {
  shape({ input, weight, bias }) {
    expectRows(input, weight)
    expectKind(weight, 'vector')
    if (bias) expectRows(input, bias)
    return input.shape
  },
  record({ input, weight, bias, output, quantized, epsilon }, { rowsAt, slotsOf }) {
    const rows = { ...rowsAt({ x: input, y: output, q: quantized }), n: input.shape[1], eps: epsilon }
    return opRecord('layernorm', { ...rows, ...slotsOf({ weight, bias }) })
  },
}

/**
 * With `x`: `input` is a product of normalised rows of x, which have `size` values. Undoes that norm, and
 * writes the sum of the squares of x after the input, at the next group boundary. Without `x`: divides by the
 * norm of `size` values, whose sum of squares is stored there. Overwrites the input, which has `width`
 * values.
 */
export interface Renorm {
  readonly op: 'renorm'
  readonly input: Value
  readonly x?: Value | undefined
  readonly width: number
  readonly size: number
  readonly epsilon: number
  readonly output: Value
}

export const renorm: KernelKind<Renorm> = {
  shape({ input, x, width, size }) {
    const summed = roundUp(width, GROUP_SIZE) + 1
    expectWidth(input, x === undefined ? summed : width, 'a norm')
    if (x !== undefined) expectWidth(x, size, 'its own norm')
    return [input.shape[0], x === undefined ? width : summed]
  },
  record({ x, width, size, epsilon, output }, { rowsAt }) {
    return opRecord('renorm', { ...rowsAt({ x, y: output }), n: width, size, eps: epsilon })
  },
}

/** input * sigmoid(gate), with one gate per row or one per head. Overwrites the input. */
export interface GateRows {
  readonly op: 'gateRows'
  readonly input: Value
  readonly gate: Value
  readonly output: Value
}

export const gateRows: KernelKind<GateRows> = {
  shape({ input, gate }) {
    const [, gates] = gate.shape
    if (gates > 1 && (input.shape[1] / gates) % 4 !== 0)
      throw new HalfbyteError('internal', `${gates} gates do not fit rows of ${input.shape[1]} numbers`)
    return input.shape
  },
  record({ gate, output }, { rowsAt }) {
    const [, n] = output.shape
    return opRecord('gate_rows', { ...rowsAt({ x: gate, y: output }), n, width: n / gate.shape[1] })
  },
}
