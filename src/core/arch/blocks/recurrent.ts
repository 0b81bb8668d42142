// What mixers with recurrent state have in common: configuration, convolution and output projection.
import { matrix, vector } from '../../graph/builder.ts'
import type { Value, WeightRef } from '../../graph/ir.ts'
import type { ModelConfig, SsmConfig } from '../config/config.ts'
import type { Parts } from './parts.ts'

/** The projection back to the residual stream. */
export const outputOf = ({ b, config }: Parts, layer: number, made: Value): Value =>
  b.linear(
    `layers.${layer}.ssm_product`,
    made,
    matrix(made.shape[1], { [`layers.${layer}.ssm_output.weight`]: config.hiddenSize }),
  )

/** A convolution's weights, and its bias if the model has one. */
export function convWeights(
  at: string,
  channels: number,
  { convKernel, convBias }: SsmConfig,
): [WeightRef, WeightRef | undefined] {
  const weight = matrix(convKernel, { [`${at}.ssm_conv.weight`]: channels })
  return [weight, convBias ? vector({ [`${at}.ssm_conv.bias`]: channels }) : undefined]
}

/** The settings of recurrent layers. Validation guarantees that families with such layers have them. */
export function ssmOf<K extends SsmConfig['kind']>({ ssm, name }: ModelConfig, kind: K) {
  if (ssm?.kind !== kind) throw new RangeError(`${name} has no ${kind} layers`)
  return ssm as Extract<SsmConfig, { kind: K }>
}
