// The two blocks of an RWKV-4 layer (Peng et al., 2023). Each mixes a row with the previous one, with one
// ratio per channel: a convolution over two inputs.
import { matrix, vector } from '../../graph/builder.ts'
import type { Value } from '../../graph/ir.ts'
import type { Mixer, Parts } from './parts.ts'
import { outputOf, ssmOf } from './recurrent.ts'

/** out(sigmoid(r) * the average of v weighted by k). */
export const timeMix: Mixer = (parts, layer, input) => {
  const { b, config } = parts
  const { innerSize: n } = ssmOf(config, 'wkv')
  const at = `layers.${layer}`
  const [r, k, v] = (['r', 'k', 'v'] as const).map((name) =>
    projected(parts, `${at}.ssm`, name, input, n),
  ) as [Value, Value, Value]
  const decay = vector({ [`${at}.ssm_decay`]: n })
  const first = vector({ [`${at}.ssm_first`]: n })
  const average = b.node(`${at}.ssm_wkv`, { op: 'wkv', k, v, decay, first })
  return outputOf(parts, layer, b.swiglu(`${at}.ssm_gated`, [r, average], 'sigmoid'))
}

/** sigmoid(r) * down(relu(k)^2). */
export function channelMix(parts: Parts, layer: number, input: Value): Value {
  const { b, config } = parts
  const { hiddenSize, intermediateSize } = config
  const at = `layers.${layer}.mlp`
  const r = projected(parts, at, 'r', input, hiddenSize)
  const active = b.swiglu(`${at}_act`, [projected(parts, at, 'k', input, intermediateSize)], 'relu2')
  const down = matrix(intermediateSize, { [`${at}_down.weight`]: hiddenSize })
  return b.swiglu(`${at}_gated`, [r, b.linear(`${at}_product`, active, down)], 'sigmoid')
}

/** Mixes the input with the previous row and multiplies by the matrix `name`. */
function projected({ b, config }: Parts, at: string, name: string, input: Value, n: number): Value {
  const shares = matrix(2, { [`${at}_${name}_conv.weight`]: config.hiddenSize })
  const mixed = b.conv1d(`${at}_${name}_mixed`, input, shares, undefined, 'none')
  return b.linear(`${at}_${name}`, mixed, matrix(config.hiddenSize, { [`${at}_${name}.weight`]: n }))
}
