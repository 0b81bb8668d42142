// Notes of a load. In: the request, and the files' contents. Out: notes on how the load differs from the
// request.
import type { PackedEncoding } from '../../core/abi/encodings.ts'
import type { ModelConfig } from '../../core/arch/config/config.ts'
import type { Weights } from '../../core/arch/tensors/names.ts'
import type { EngineNote } from '../../core/base/engine-notes.ts'
import { isFloat } from '../../core/weights/choose-encoding.ts'

export function shorterContext(asked: number | undefined, tokens: number): EngineNote[] {
  if (asked === undefined || asked <= tokens) return []
  return [
    {
      code: 'trained-context',
      text: `the context has ${tokens} tokens, the limit of the model, instead of ${asked}`,
      values: { tokens, asked },
    },
  ]
}

export function provenContext(asked: number, tokens: number): EngineNote[] {
  if (asked <= tokens) return []
  return [
    {
      code: 'proven-context',
      text:
        `the context has ${tokens} tokens instead of ${asked}, because the file's graph may behave differently beyond ` +
        'that; halfbyte inspect --plan names the node',
      values: { tokens, asked },
    },
  ]
}

/** LongRoPE has one rotation for short texts and another for long ones, and a context uses one of the two. */
export function longRotation({ rope: { scaling } }: ModelConfig, context: number): EngineNote[] {
  if (scaling?.type !== 'longrope' || context <= scaling.originalContextLength) return []
  const tokens = scaling.originalContextLength
  return [
    {
      code: 'long-rotation',
      text: `texts of up to ${tokens} tokens get the positional encoding of longer ones; a context of ${tokens} tokens avoids that`,
      values: { tokens, context },
    },
  ]
}

export function refusedSampling(refused: readonly string[]): EngineNote[] {
  if (refused.length === 0) return []
  const settings = refused.join(', ')
  return [
    {
      code: 'ignored-sampling',
      text: `these sampling defaults of the model are ignored, because they are out of range: ${settings}`,
      values: { settings },
    },
  ]
}

/**
 * Notes matrices that have one scale per group of inputs in the file but get a single scale for all inputs.
 */
export function coarserScales(weights: Weights, encodingOf: (name: string) => PackedEncoding): EngineNote[] {
  const found = [...weights].filter(
    ([name, { dtype, like = dtype, packed }]) =>
      packed !== 'w4_channel' && !isFloat(like) && encodingOf(name) === 'w4_channel',
  )
  if (found.length === 0) return []
  const matrices = found.length
  return [
    {
      code: 'coarser-scales',
      text:
        `the file has a scale for each group of weights in ${matrices} of its matrices, which are rounded ` +
        "again with one scale per output, which can lose quality; weights: 'auto' keeps the groups",
      values: { matrices },
    },
  ]
}
