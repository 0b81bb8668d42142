// Choices. In: an activation, a cap, a router's logits. Out: their results by definition, for the
// interpreter.
import { HalfbyteError } from '../../base/errors.ts'
import { type Activation, biasColumns, type RouteRule, type Xielu } from '../ir.ts'

export function activated(x: number, activation: Activation, xielu?: Xielu): number {
  if (xielu !== undefined) {
    const { above, below, slope, epsilon } = xielu
    return slope * x + (x > 0 ? above * x * x : below * (Math.expm1(Math.min(x, epsilon)) - x))
  }
  if (activation === 'none') return x
  if (activation === 'sigmoid') return 1 / (1 + Math.exp(-x))
  if (activation === 'silu') return x / (1 + Math.exp(-x))
  if (activation === 'gelu_quick') return x / (1 + Math.exp(-1.702 * x))
  if (activation === 'relu') return Math.max(x, 0)
  if (activation === 'relu2') return Math.max(x, 0) ** 2
  if (activation === 'gelu_exact') return x * shareBelow(x)
  return (x / 2) * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3)))
}

/** Share of a normal distribution below x. */
function shareBelow(x: number): number {
  if (x > 0) return 1 - shareBelow(-x)
  const density = Math.exp((-x * x) / 2) / Math.sqrt(2 * Math.PI)
  if (x < -3) {
    // Laplace's continued fraction, evaluated from its end.
    let rest = -x
    for (let i = 200; i > 0; i--) rest = i / rest - x
    return density / rest
  }
  let term = x
  let sum = x
  for (let i = 3; Math.abs(term) > 1e-20; i += 2) {
    term *= (x * x) / i
    sum += term
  }
  return 0.5 + density * sum
}

export const capped = (x: number, cap: number): number => (cap > 0 ? cap * Math.tanh(x / cap) : x)

/** The biases of one head in a table, starting `back` positions before the row's own. */
export function biasesOf(table: Float64Array, reach: number, head: number, back: number): Float64Array {
  const columns = biasColumns(reach)
  return table.subarray(head * columns + reach - back, (head + 1) * columns)
}

/** [experts] weights, zero for experts that the row does not use. */
export function routeOf(rule: RouteRule, logits: Float64Array, bias?: Float64Array): Float64Array {
  const { used, normalize, scoring = 'softmax', groups, scale = 1, epsilon = 0 } = rule
  if (scoring === 'mixer') return mixed(rule, logits)
  const all = logits.reduce((sum, x) => sum + Math.exp(x), 0)
  const scores = logits.map((x) => (scoring === 'sigmoid' ? 1 / (1 + Math.exp(-x)) : Math.exp(x) / all))
  const keys = scores.map((score, e) => score + (bias?.[e] ?? 0))
  const size = logits.length / (groups?.count ?? 1)
  const worthOf = (group: number) =>
    keys
      .slice(group * size, (group + 1) * size)
      .sort()
      .slice(-(groups?.best ?? 1))
      .reduce((sum, key) => sum + key, 0)
  const kept = Array.from({ length: groups?.count ?? 1 }, (_, group) => group)
    .sort((a, b) => worthOf(b) - worthOf(a))
    .slice(0, groups?.used ?? 1)
  const chosen = [...logits.keys()]
    .filter((e) => kept.includes(Math.floor(e / size)))
    .sort((a, b) => keys[b]! - keys[a]!)
    .slice(0, used)
  const sum = normalize ? chosen.reduce((total, e) => total + scores[e]!, epsilon) : 1
  return scores.map((score, e) => (chosen.includes(e) ? (scale * score) / sum : 0))
}

/** SparseMixer: the best remaining expert, with a softmax over the remaining experts close to it. */
function mixed({ used, epsilon = 0, scale = 1 }: RouteRule, logits: Float64Array): Float64Array {
  const weights = new Float64Array(logits.length)
  const left = new Set(logits.keys())
  for (let choice = 0; choice < used; choice++) {
    const best = [...left].reduce((most, e) => (logits[e]! > logits[most]! ? e : most))
    const top = logits[best]!
    const near = [...left].filter((e) => {
      return (top - logits[e]!) / Math.max(Math.abs(logits[e]!), top) <= 2 * epsilon
    })
    weights[best] = scale / near.reduce((sum, e) => sum + Math.exp(logits[e]! - top), 0)
    left.delete(best)
  }
  return weights
}

/** The row and expert at each place: sorted by expert, then by row. */
export function placesOf(
  route: readonly Float64Array[],
  { experts, used }: { readonly experts: number; readonly used: number },
) {
  const places = Array.from({ length: experts }, (_, expert) =>
    route.flatMap((weights, row) => {
      const weight = weights[expert]!
      return weight > 0 ? [{ expert, row, weight }] : []
    }),
  ).flat()
  if (places.length === route.length * used) return places
  throw new HalfbyteError('internal', `${places.length} places for ${route.length} rows of ${used} experts`)
}
