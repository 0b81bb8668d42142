// Evaluator of LinearAttention. In: queries, keys, values, a state, decays, update rates. Out: rows, and the
// state after the last token.
import { type Evaluation, floatOf, given, unfit, wants } from '../ir/operator.ts'
import { numbersOf, reader, type Tensor, tensorOf, zeros } from '../ir/tensor.ts'
import { stateHeads, updateRule } from '../operators/attention.ts'
import { headsOf, headWriter } from './attention.ts'

/** Optional inputs. */
const PAST = 3
const DECAY = 4
const BETA = 5

/**
 * Token by token, in f64. For each key head: `S = exp(g) S + beta k (v - exp(g) S^T k)^T`, without what the
 * rule omits; each of its query heads then reads `scale S^T q`.
 */
export function evaluateLinearAttention(context: Evaluation): (Tensor | undefined)[] {
  const { node, inputs } = context
  const [count, shared] = stateHeads(node)
  const { isGated, isDelta } = updateRule(node)
  const query = headsOf(node, given(context, 0), count)
  const key = headsOf(node, given(context, 1), shared)
  const value = headsOf(node, given(context, 2), shared)
  const [batch, rows, inner, outer] = [query.batch, query.rows, query.size, value.size]
  const past = inputs[PAST]
  const shape = [batch, shared, inner, outer]
  const isFit =
    [key, value].every((each) => each.batch === batch && each.rows === rows) &&
    key.size === inner &&
    (past === undefined || `${past.dims}` === `${shape}`) &&
    (inputs[DECAY] !== undefined) === isGated &&
    (inputs[BETA] !== undefined) === isDelta
  if (!isFit)
    throw unfit(node, `its keys, values, state, decays and rates do not fit ${count} heads of ${inner}`)
  const decay = rowsReader(context, DECAY, [batch, rows], [shared, shared * inner])
  const beta = rowsReader(context, BETA, [batch, rows], [shared, 1])
  context.spend(batch * rows * inner * outer * (3 * shared + count))
  const scale = floatOf(node, 'scale', 0) || 1 / Math.sqrt(inner)
  const made = zeros(given(context, 0).dtype, [batch, rows, count * outer])
  const write = headWriter(query, outer, made)
  const states = new Float64Array(batch * shared * inner * outer)
  if (past !== undefined) states.set(numbersOf(past))
  const error = new Float64Array(outer)
  for (let b = 0; b < batch; b++)
    for (let h = 0; h < shared; h++) {
      const state = states.subarray((b * shared + h) * inner * outer, (b * shared + h + 1) * inner * outer)
      for (let row = 0; row < rows; row++) {
        for (let k = 0; isGated && k < inner; k++) {
          const kept = Math.exp(decay(b, row, h, k))
          for (let d = 0; d < outer; d++) state[k * outer + d]! *= kept
        }
        for (let d = 0; d < outer; d++) {
          error[d] = value.at(b, h, row, d)
          if (!isDelta) continue
          for (let k = 0; k < inner; k++) error[d]! -= key.at(b, h, row, k) * state[k * outer + d]!
          error[d]! *= beta(b, row, h, 0)
        }
        for (let k = 0; k < inner; k++) {
          const weight = key.at(b, h, row, k)
          for (let d = 0; d < outer; d++) state[k * outer + d]! += weight * error[d]!
        }
        for (let q = (h * count) / shared; q < ((h + 1) * count) / shared; q++)
          for (let d = 0; d < outer; d++) {
            let sum = 0
            for (let k = 0; k < inner; k++) sum += query.at(b, q, row, k) * state[k * outer + d]!
            write(b, q, row, d, scale * sum)
          }
      }
    }
  return [made, wants(node, 1) ? tensorOf(past?.dtype ?? made.dtype, shape, states) : undefined]
}

/**
 * Reads [batch, tokens, width] by head and dim. `widths`: one number for each head, or the other width that
 * the operator allows; a width of 1 is shared by all heads.
 */
function rowsReader(
  { node, inputs }: Evaluation,
  input: number,
  [batch, rows]: readonly [number, number],
  [heads, other]: readonly [number, number],
): (batch: number, row: number, head: number, dim: number) => number {
  const tensor = inputs[input]
  if (tensor === undefined) return () => 1
  const width = tensor.dims[2] ?? 0
  if (`${tensor.dims}` !== `${[batch, rows, width]}` || (width !== heads && width !== other))
    throw unfit(node, `its input ${input} has the shape [${tensor.dims}]`)
  const read = reader(tensor)
  const each = width / heads
  return (b, row, head, dim) =>
    read((b * rows + row) * width + (width === 1 ? 0 : head * each + (each === 1 ? 0 : dim)))
}
