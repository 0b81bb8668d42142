// Recurrent nodes, interpreted. In: a node, its inputs, weights and state. Out: its rows in f64, by
// definition.
import type { NodeOf } from '../nodes.ts'

type Rows = readonly Float64Array[]

/**
 * State of a recurrent node between steps: the last inputs of conv1d, one state per channel of the others.
 */
export interface Kept {
  readonly rows: Float64Array[]
}

const silu = (x: number): number => x / (1 + Math.exp(-x))
const softplus = (x: number): number => Math.log1p(Math.exp(x))

/** `weight`: [channel][tap]. */
export function convolve(
  input: Rows,
  weight: Rows,
  bias: Float64Array | undefined,
  kept: Kept,
  activation: (x: number) => number,
): Rows {
  const taps = weight[0]!.length
  const zero = new Float64Array(weight.length)
  return input.map((row) => {
    kept.rows.push(row.slice())
    const recent = Array.from({ length: taps }, (_, j) => kept.rows.at(j - taps) ?? zero)
    return row.map((_, c) =>
      activation(recent.reduce((sum, each, j) => sum + weight[c]![j]! * each[c]!, bias?.[c] ?? 0)),
    )
  })
}

export interface ScanRows {
  readonly x: Rows
  readonly dt: Rows
  readonly z: Rows
  readonly b: Rows
  readonly c: Rows
}

/** `decay`: [channel][state], A log2(e). */
export function selectiveScan(rows: ScanRows, decay: Rows, skip: Float64Array, kept: Kept): Rows {
  const states = decay[0]!.length
  return rows.x.map((x, m) =>
    x.map((u, channel) => {
      kept.rows[channel] ??= new Float64Array(states)
      const h = kept.rows[channel]!
      const delta = softplus(rows.dt[m]![channel]!)
      let sum = skip[channel]! * u
      for (let n = 0; n < states; n++) {
        h[n] = 2 ** (delta * decay[channel]![n]!) * h[n]! + delta * u * rows.b[m]![n]!
        sum += h[n]! * rows.c[m]![n]!
      }
      return sum * silu(rows.z[m]![channel]!)
    }),
  )
}

/** `weights`: one number per head each. */
export function stateSpace(
  {
    heads,
    groups,
    stepLimit: [least, most] = [0, Number.POSITIVE_INFINITY],
  }: Pick<NodeOf<'ssd'>, 'heads' | 'groups' | 'stepLimit'>,
  rows: ScanRows,
  weights: { readonly decay: Float64Array; readonly skip: Float64Array; readonly dtBias: Float64Array },
  kept: Kept,
): Rows {
  const states = rows.b[0]!.length / groups
  return rows.x.map((x, m) =>
    x.map((value, channel) => {
      const head = Math.floor(channel / (x.length / heads))
      const shared = Math.floor(head / (heads / groups)) * states
      kept.rows[channel] ??= new Float64Array(states)
      const h = kept.rows[channel]!
      const step = softplus(rows.dt[m]![head]! + weights.dtBias[head]!)
      const delta = Math.min(Math.max(step, least), most)
      let sum = weights.skip[head]! * value
      for (let n = 0; n < states; n++) {
        h[n] = 2 ** (delta * weights.decay[head]!) * h[n]! + delta * value * rows.b[m]![shared + n]!
        sum += h[n]! * rows.c[m]![shared + n]!
      }
      return sum * silu(rows.z[m]![channel]!)
    }),
  )
}
