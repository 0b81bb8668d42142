// ALiBi (Press et al., 2022): scores decrease with the distance to the key, at a different slope in each
// head.
import { vector } from '../../graph/builder.ts'
import { biasColumns, type DistanceBias } from '../../graph/ir.ts'
import type { ModelConfig } from '../config/config.ts'

/** The table's name; files do not store the table. */
export const ALIBI = 'alibi.bias'

/** The table's length. */
export const alibiSize = ({ heads, contextLength }: ModelConfig): number =>
  heads * biasColumns(contextLength - 1)

/** The bias table for a model's scores, if the model uses ALiBi. */
export const alibiOf = (config: ModelConfig): DistanceBias | undefined =>
  config.alibi === undefined
    ? undefined
    : { table: vector({ [ALIBI]: alibiSize(config) }), reach: config.contextLength - 1 }

/** The elements of the table, by index. */
export function alibiValue({ heads, contextLength, alibi = 0 }: ModelConfig): (index: number) => number {
  const reach = contextLength - 1
  const columns = biasColumns(reach)
  const slopes = slopesOf(heads, alibi)
  // A row never attends to later positions.
  return (index) => slopes[Math.floor(index / columns)]! * Math.min(0, (index % columns) - reach)
}

/**
 * 2^-(most i / n) for i from 1, where n is the largest power of two up to `heads`. Any further heads use the
 * values halfway between these.
 */
function slopesOf(heads: number, most: number): Float64Array {
  const whole = 2 ** Math.floor(Math.log2(heads))
  return Float64Array.from({ length: heads }, (_, head) =>
    head < whole ? 2 ** ((-most * (head + 1)) / whole) : 2 ** ((-most * (head - whole + 0.5)) / whole),
  )
}
