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
    if (dt.shape[1] !== heads || x.shape[1] % heads !== 0) throw broken(x, `is cut into ${heads} heads`)
    if (heads % groups !== 0 || b.shape[1] % groups !== 0) throw broken(b, `is cut into ${groups} groups`)
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

/** A recurrent op works on so many channels at once. */
function whole({ label, shape: [, width] }: Value, multiple: number): number {
  if (width % multiple === 0) return width
  throw new HalfbyteError('internal', `${label} has ${width} channels instead of a multiple of ${multiple}`)
}
