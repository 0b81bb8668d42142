// The routed feed-forward block of a decoder's layer.
import { matrix } from '../../graph/builder.ts'
import type { Value } from '../../graph/ir.ts'
import type { Parts } from './parts.ts'

/** Experts: gated feed-forward blocks. Each row passes through some of them. */
export function experts({ b, config, traits }: Parts, at: string, input: Value): Value {
  const { hiddenSize, intermediateSize, experts: choice, activation = traits.activation } = config
  if (choice === undefined) throw new RangeError(`${at} has no experts`)
  const { count, used, normalize } = choice
  const router = b.linear(`${at}.router`, input, matrix(hiddenSize, { [`${at}.router.weight`]: count }))
  const each = (name: string, n: number, k: number) =>
    matrix(
      k,
      Object.fromEntries(Array.from({ length: count }, (_, e) => [`${at}.experts.${e}.${name}.weight`, n])),
    )
  return b.routed(`${at}.mlp`, input, router, { experts: count, used, normalize }, (rows, linear) => {
    const gate = linear(`${at}.mlp_gate`, rows, each('mlp_gate', intermediateSize, hiddenSize))
    const up = linear(`${at}.mlp_up`, rows, each('mlp_up', intermediateSize, hiddenSize))
    const gated = b.swiglu(`${at}.mlp_act`, [gate, up], activation)
    return linear(`${at}.mlp_down`, gated, each('mlp_down', hiddenSize, intermediateSize))
  })
}
