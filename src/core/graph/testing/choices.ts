// Choices. In: an activation, a cap, a router's logits. Out: their results by definition, for the
// interpreter.
import { HalfbyteError } from '../../base/errors.ts'
import { type Activation, biasColumns, type Xielu } from '../ir.ts'
import type { NodeOf } from '../nodes.ts'

export function activated(x: number, activation: Activation, xielu?: Xielu): number {
  if (xielu !== undefined) {
    const { above, below, slope, epsilon } = xielu
    return slope * x + (x > 0 ? above * x * x : below * (Math.expm1(Math.min(x, epsilon)) - x))
  }
  if (activation === 'none') return x
  if (activation === 'silu') return x / (1 + Math.exp(-x))
  if (activation === 'relu') return Math.max(x, 0)
  if (activation === 'relu2') return Math.max(x, 0) ** 2
  if (activation === 'gelu_exact') return x * shareBelow(x)
  return (x / 2) * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3)))
}

/** Share of a normal distribution below x. */
export function shareBelow(x: number): number {
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

/** Of a table of biases, those of a head from the position on that is `back` before the row's own. */
export function biasesOf(table: Float64Array, reach: number, head: number, back: number): Float64Array {
  const columns = biasColumns(reach)
  return table.subarray(head * columns + reach - back, (head + 1) * columns)
}

/** [experts] weights. Experts that the row does not go to have zero. */
export function routeOf({ used, normalize }: NodeOf<'route'>, logits: Float64Array): Float64Array {
  const all = logits.reduce((sum, x) => sum + Math.exp(x), 0)
  const chosen = [...logits.keys()].sort((a, b) => logits[b]! - logits[a]!).slice(0, used)
  const sum = normalize ? chosen.reduce((total, e) => total + Math.exp(logits[e]!) / all, 0) : 1
  return logits.map((x, e) => (chosen.includes(e) ? Math.exp(x) / all / sum : 0))
}

/** Row and expert at each place: experts ascending, then rows. */
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
