// The recurrent nodes, which read and write the state that earlier steps left in the sequence's slab.
import { ACTIVATION } from '../../abi/constants.ts'
import { PANEL_ROWS, ROW_PADDING } from '../../abi/encodings.ts'
import { HalfbyteError } from '../../base/errors.ts'
import type { Activation, Quantizable, ScanInputs, Value, WeightRef } from '../ir.ts'
import {
  broken,
  expectKind,
  expectRows,
  expectSame,
  expectWidth,
  type KernelKind,
  nameOf,
  opRecord,
} from '../node.ts'

/**
 * A causal convolution of each channel with its own `taps` weights, then the activation. The inputs of
 * earlier steps are state.
 */
export interface Conv1d extends Quantizable {
  readonly op: 'conv1d'
  readonly input: Value
  /** A [channels, taps] matrix. */
  readonly weight: WeightRef
  readonly bias?: WeightRef | undefined
  readonly activation: Activation
}

export const conv1d: KernelKind<Conv1d> = {
  shape({ input, weight, bias }) {
    expectKind(weight, 'matrix')
    expectRows(input, weight)
    if (bias !== undefined) expectRows(input, bias)
    return input.shape
  },
  record({ input, output, quantized, weight, bias, activation }, { rowsAt, slotsOf, slab }) {
    const rows = { ...rowsAt({ x: input, y: output, q: quantized }), ...slab() }
    const size = {
      channels: whole(input, PANEL_ROWS),
      taps: weight.k,
      activation: ACTIVATION[activation],
    }
    return opRecord('conv1d', { ...rows, ...slotsOf({ w: weight, bias }), ...size })
  },
}

/** The selective scan of Mamba, gated by z. `decay` is a [channels, states] matrix: A log2(e). */
export interface Scan extends ScanInputs, Quantizable {
  readonly op: 'scan'
  readonly decay: WeightRef
  readonly skip: WeightRef
}

export const scan: KernelKind<Scan> = {
  shape({ x, dt, z, b, c, decay, skip }) {
    expectSame(x, dt)
    expectSame(x, z)
    expectSame(b, c)
    expectRows(x, decay)
    expectRows(x, skip)
    expectWidth(b, decay.k, nameOf(decay))
    return x.shape
  },
  record({ x, dt, z, b, c, decay, skip, output, quantized }, { rowsAt, slotsOf, slab }) {
    const rows = { ...rowsAt({ u: x, dt, z, b, c, y: output, q: quantized }), ...slab() }
    const size = { channels: whole(x, ROW_PADDING), states: decay.k }
    return opRecord('scan', { ...rows, ...slotsOf({ decay, skip }), ...size })
  },
}

/** The state space layer of Mamba-2, gated by z. */
export interface Ssd extends ScanInputs {
  readonly op: 'ssd'
  readonly decay: WeightRef
  readonly skip: WeightRef
  readonly dtBias: WeightRef
  readonly heads: number
  readonly groups: number
  /** Smallest and largest step size after softplus. Default: no limits. */
  readonly stepLimit?: readonly [number, number] | undefined
  readonly output: Value
}

export const ssd: KernelKind<Ssd> = {
  shape({ x, dt, z, b, c, heads, groups, decay, skip, dtBias }) {
    expectSame(x, z)
    expectSame(b, c)
    for (const weight of [decay, skip, dtBias]) expectRows(dt, weight)
    if (dt.shape[1] !== heads || x.shape[1] % heads !== 0) throw broken(x, `is split into ${heads} heads`)
    if (heads % groups !== 0 || b.shape[1] % groups !== 0) throw broken(b, `is split into ${groups} groups`)
    return x.shape
  },
  record(node, { rowsAt, slotsOf, slab }) {
    const { x, dt, z, b, c, decay, skip, dtBias, heads, groups, output } = node
    const [least, most] = node.stepLimit ?? [0, Number.POSITIVE_INFINITY]
    const rows = { ...rowsAt({ x, dt, z, b, c, y: output }), ...slab() }
    const size = { heads, head_dim: x.shape[1] / heads, groups, states: b.shape[1] / groups }
    return opRecord('ssd', { ...rows, ...slotsOf({ decay, skip, dt_bias: dtBias }), ...size, least, most })
  },
}

/** The gated delta rule, with the norms of queries and keys, the norm of its output and its gate. */
export interface Delta {
  readonly op: 'delta'
  /** Queries of all key heads, then their keys, then the values of all heads. */
  readonly x: Value
  /** One number per head or, if `channels` is true, per channel of each head's key. */
  readonly dt: Value
  readonly beta: Value
  readonly z: Value
  /** A log2(e) for each head. */
  readonly decay: WeightRef
  readonly dtBias: WeightRef
  /** Weight of the norm after the rule, which covers one head. */
  readonly weight: WeightRef
  readonly heads: number
  readonly keyHeads: number
  readonly keyDim: number
  /**
   * True if head i reads the key head of its group of neighbours; otherwise head i reads key head i %
   * keyHeads.
   */
  readonly order: 'grouped' | 'tiled'
  readonly channels: boolean
  readonly gate: 'silu' | 'sigmoid'
  /** Multiplies the fraction of a value that is replaced. */
  readonly betaScale: number
  readonly epsilon: number
  readonly output: Value
}

export const delta: KernelKind<Delta> = {
  shape({ x, dt, beta, z, decay, dtBias, weight, heads, keyHeads, keyDim, channels }) {
    const [rows, width] = z.shape
    if (width % heads !== 0 || heads % keyHeads !== 0) throw broken(z, `is split into ${heads} heads`)
    const due = 2 * keyHeads * keyDim + width
    if (x.shape[1] !== due) throw broken(x, `does not have ${due} columns of queries, keys and values`)
    const steps = channels ? heads * keyDim : heads
    if (dt.shape[1] !== steps) throw broken(dt, `does not have ${steps} step sizes`)
    expectRows(dt, dtBias)
    expectRows(beta, decay)
    if (beta.shape[1] !== heads) throw broken(beta, `is split into ${heads} heads`)
    expectKind(weight, 'vector')
    return [rows, width]
  },
  record(node, { rowsAt, slotsOf, slab }) {
    const { x, dt, beta, z, decay, dtBias, weight, heads, keyHeads, keyDim, order, gate, output } = node
    return opRecord('delta', {
      ...rowsAt({ x, dt, beta, z, y: output }),
      ...slab(),
      ...slotsOf({ decay, dt_bias: dtBias, weight }),
      heads,
      key_heads: keyHeads,
      ratio: order === 'grouped' ? heads / keyHeads : 1,
      key_dim: keyDim,
      head_dim: z.shape[1] / heads,
      channels: node.channels ? 1 : 0,
      gate: ACTIVATION[gate],
      scale: node.betaScale,
      eps: node.epsilon,
    })
  },
}

/** The gated linear recurrent unit of Griffin. Its gates' weights are [blocks][inputs][outputs]. */
export interface Lru {
  readonly op: 'lru'
  readonly x: Value
  readonly enterWeight: WeightRef
  readonly enterBias: WeightRef
  readonly stayWeight: WeightRef
  readonly stayBias: WeightRef
  readonly param: WeightRef
  readonly blocks: number
  readonly output: Value
}

export const lru: KernelKind<Lru> = {
  shape({ x, enterWeight, enterBias, stayWeight, stayBias, param, blocks }) {
    const width = x.shape[1]
    if (width % blocks !== 0) throw broken(x, `is split into ${blocks} blocks`)
    for (const weight of [enterBias, stayBias, param]) expectRows(x, weight)
    for (const { parts } of [enterWeight, stayWeight]) {
      if (parts[0]?.n !== (width * width) / blocks) throw broken(x, `does not fit ${parts[0]?.name}`)
    }
    return x.shape
  },
  record(node, { rowsAt, slotsOf, slab }) {
    const { x, enterWeight, enterBias, stayWeight, stayBias, param, blocks, output } = node
    const weights = {
      enter_weight: enterWeight,
      enter_bias: enterBias,
      stay_weight: stayWeight,
      stay_bias: stayBias,
      param,
    }
    const size = { channels: x.shape[1], blocks }
    return opRecord('lru', { ...rowsAt({ x, y: output }), ...slab(), ...slotsOf(weights), ...size })
  },
}

/** RWKV-4's weighted average over the values of a sequence. `decay` is below 0. */
export interface Wkv {
  readonly op: 'wkv'
  readonly k: Value
  readonly v: Value
  readonly decay: WeightRef
  readonly first: WeightRef
  readonly output: Value
}

export const wkv: KernelKind<Wkv> = {
  shape({ k, v, decay, first }) {
    expectSame(k, v)
    expectRows(k, decay)
    expectRows(k, first)
    return k.shape
  },
  record({ k, v, decay, first, output }, { rowsAt, slotsOf, slab }) {
    const rows = { ...rowsAt({ k, v, y: output }), ...slab() }
    return opRecord('wkv', { ...rows, ...slotsOf({ decay, first }), channels: whole(k, ROW_PADDING) })
  },
}

/** Recurrent ops process this many channels at once. */
function whole({ label, shape: [, width] }: Value, multiple: number): number {
  if (width % multiple === 0) return width
  throw new HalfbyteError('internal', `${label} has ${width} channels instead of a multiple of ${multiple}`)
}
