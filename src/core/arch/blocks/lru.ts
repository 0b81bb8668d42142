// A recurrent layer of Griffin (De et al., 2024), as in RecurrentGemma.
import { matrix, vector } from '../../graph/builder.ts'
import type { Value } from '../../graph/ir.ts'
import type { Mixer } from './parts.ts'
import { convWeights, ssmOf } from './recurrent.ts'

/** out(gelu(z) * lru(conv(x))), where one matrix projects the input to x and z. */
export const lruLayer: Mixer = (parts, layer, input) => {
  const { b, config } = parts
  const ssm = ssmOf(config, 'lru')
  const { innerSize: n, heads: blocks } = ssm
  const at = `layers.${layer}`
  const both = (kind: 'weight' | 'bias') => ({ [`${at}.ssm_in_x.${kind}`]: n, [`${at}.ssm_in_z.${kind}`]: n })
  const weight = matrix(config.hiddenSize, both('weight'))
  const inner = b.linear(`${at}.ssm_in`, input, weight, vector(both('bias')))
  const [mixed, z] = b.parts(inner, weight) as [Value, Value]
  const [taps, bias] = convWeights(at, n, ssm)
  const x = b.conv1d(`${at}.ssm_conv`, mixed, taps, bias, 'none')
  const scanned = b.node(`${at}.ssm_lru`, {
    op: 'lru',
    x,
    enterWeight: vector({ [`${at}.ssm_enter`]: (n * n) / blocks }),
    enterBias: vector({ [`${at}.ssm_enter.bias`]: n }),
    stayWeight: vector({ [`${at}.ssm_stay`]: (n * n) / blocks }),
    stayBias: vector({ [`${at}.ssm_stay.bias`]: n }),
    param: vector({ [`${at}.ssm_decay`]: n }),
    blocks,
  })
  const made = b.swiglu(`${at}.ssm_gated`, [z, scanned], 'gelu')
  return b.linear(
    `${at}.ssm_product`,
    made,
    matrix(n, { [`${at}.ssm_output.weight`]: config.hiddenSize }),
    vector({ [`${at}.ssm_output.bias`]: config.hiddenSize }),
  )
}
