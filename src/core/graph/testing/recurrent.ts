// Recurrent nodes, interpreted. In: a node, its inputs, weights and state. Out: its rows in f64, by
// definition.
import type { NodeOf } from '../nodes.ts'

type Rows = readonly Float64Array[]

/**
 * State of a recurrent node between steps: the last inputs of conv1d, and one state per channel for the
 * others.
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

interface ScanRows {
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

const unit = (row: Float64Array, at: number, count: number): Float64Array => {
  const part = row.slice(at, at + count)
  const length = Math.sqrt(part.reduce((sum, each) => sum + each * each, 1e-6))
  return part.map((each) => each / length)
}

/** `rows.x`: queries, keys and values. The state is stored as a row of keys x values for each head. */
export function deltaRule(
  node: NodeOf<'delta'>,
  rows: { readonly x: Rows; readonly dt: Rows; readonly beta: Rows; readonly z: Rows },
  weights: { readonly decay: Float64Array; readonly dtBias: Float64Array; readonly weight: Float64Array },
  kept: Kept,
): Rows {
  const { heads, keyHeads, keyDim, order, channels, gate, betaScale, epsilon } = node
  const width = rows.z[0]!.length / heads
  const opened = gate === 'silu' ? silu : (x: number) => 1 / (1 + Math.exp(-x))
  return rows.x.map((x, m) => {
    const made = new Float64Array(heads * width)
    for (let head = 0; head < heads; head++) {
      const keyHead = order === 'grouped' ? Math.floor(head / (heads / keyHeads)) : head % keyHeads
      const q = unit(x, keyHead * keyDim, keyDim).map((each) => each / Math.sqrt(keyDim))
      const k = unit(x, (keyHeads + keyHead) * keyDim, keyDim)
      kept.rows[head] ??= new Float64Array(keyDim * width)
      const state = kept.rows[head]!
      const share = betaScale / (1 + Math.exp(-rows.beta[m]![head]!))
      const factors = k.map((_, i) => {
        const at = channels ? head * keyDim + i : head
        return 2 ** (softplus(rows.dt[m]![at]! + weights.dtBias[at]!) * weights.decay[head]!)
      })
      const out = new Float64Array(width)
      for (let v = 0; v < width; v++) {
        let known = 0
        for (let i = 0; i < keyDim; i++) {
          state[i * width + v]! *= factors[i]!
          known += state[i * width + v]! * k[i]!
        }
        const change = share * (x[2 * keyHeads * keyDim + head * width + v]! - known)
        for (let i = 0; i < keyDim; i++) {
          state[i * width + v]! += k[i]! * change
          out[v]! += state[i * width + v]! * q[i]!
        }
      }
      const norm = Math.sqrt(out.reduce((sum, each) => sum + each * each, 0) / width + epsilon)
      for (let v = 0; v < width; v++) {
        made[head * width + v] = (out[v]! / norm) * weights.weight[v]! * opened(rows.z[m]![head * width + v]!)
      }
    }
    return made
  })
}

/** `step.position`: of the first row. Weights are [blocks][inputs][outputs]. */
export function linearUnit(
  x: Rows,
  position: number,
  blocks: number,
  weights: Readonly<Record<'enterWeight' | 'enterBias' | 'stayWeight' | 'stayBias' | 'param', Float64Array>>,
  kept: Kept,
): Rows {
  const width = x[0]!.length / blocks
  kept.rows[0] ??= new Float64Array(x[0]!.length)
  const h = kept.rows[0]!
  const gate = (row: Float64Array, channel: number, weight: Float64Array, bias: Float64Array): number => {
    const block = Math.floor(channel / width) * width
    let sum = bias[channel]!
    for (let i = 0; i < width; i++) sum += row[block + i]! * weight[(block + i) * width + channel - block]!
    return 1 / (1 + Math.exp(-sum))
  }
  return x.map((row, m) =>
    row.map((input, channel) => {
      const enter = gate(row, channel, weights.enterWeight, weights.enterBias)
      const stay = gate(row, channel, weights.stayWeight, weights.stayBias)
      const a = Math.exp(-8 * stay * softplus(weights.param[channel]!))
      const root = position + m === 0 ? 1 : Math.sqrt(1 - a * a)
      h[channel] = a * h[channel]! + input * enter * root
      return h[channel]!
    }),
  )
}

/** The state has rows of the numerator, the denominator and the largest exponent. */
export function weightedAverage(
  keys: Rows,
  values: Rows,
  { decay, first }: { readonly decay: Float64Array; readonly first: Float64Array },
  kept: Kept,
): Rows {
  const width = keys[0]!.length
  const [num, den, most] = [0, 1, 2].map((index) => {
    kept.rows[index] ??= new Float64Array(width).fill(index === 2 ? Number.NEGATIVE_INFINITY : 0)
    return kept.rows[index]!
  }) as [Float64Array, Float64Array, Float64Array]
  return keys.map((row, m) =>
    row.map((k, c) => {
      const v = values[m]![c]!
      const now = k + first[c]!
      const top = Math.max(most[c]!, now)
      const [old, fresh] = [Math.exp(most[c]! - top), Math.exp(now - top)]
      const made = (old * num[c]! + fresh * v) / (old * den[c]! + fresh)
      const next = Math.max(most[c]! + decay[c]!, k)
      const keep = Math.exp(most[c]! + decay[c]! - next)
      num[c] = keep * num[c]! + Math.exp(k - next) * v
      den[c] = keep * den[c]! + Math.exp(k - next)
      most[c] = next
      return made
    }),
  )
}

/** `weights`: one number per head. */
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
