// The type of an encoder family, and the size checks that all families share.
import type { ModelConfig } from '../../core/arch/config/config.ts'
import { unbuiltVariant } from '../../core/arch/config/fields.ts'
import type { Weights } from '../../core/arch/tensors/names.ts'
import { HalfbyteError } from '../../core/base/errors.ts'
import type { ModelFile } from '../../core/formats/readers.ts'
import type { Graph } from '../../core/graph/nodes.ts'
import type { EncoderTraits } from '../encoder.ts'

/**
 * A configuration, and the row of the position table that belongs to a text's first token: RoBERTa's
 * positions start after the padding id.
 */
export interface Placed {
  readonly config: ModelConfig
  readonly firstPosition: number
  readonly types: number
  /** True if it reads pairs of texts and its head scores them. */
  readonly isReranker: boolean
  /** Additional traits of some models of the family. */
  readonly extras?: Partial<EncoderTraits>
}

/** For families with RoPE, which need no position table; most have no token types either. */
export const UNTABLED = { firstPosition: 0, types: 1, isReranker: false } as const

/** How encoders of one family are read. */
export interface EncoderFamily {
  /** For errors. */
  readonly name: string
  readonly isOf: (file: ModelFile) => boolean
  /** Throws `architecture` for numbers that are missing or impossible, `unsupported` for other variants. */
  readonly config: (file: ModelFile) => Placed
  /**
   * Every tensor of the graph by its name there. Reads nothing yet. Throws `architecture` for a tensor that
   * is missing or has the wrong shape, `unsupported` for tensors that the graph would ignore.
   */
  readonly weights: (file: ModelFile, placed: Placed) => Weights
  readonly graph: (placed: Placed) => Graph
  /** True if chat models use the same architecture, but without files that say how texts become vectors. */
  readonly isDecoder?: boolean
}

/** No encoder has exceeded these limits, so a header with larger numbers is almost certainly wrong. */
const MAX = {
  hiddenSize: 1 << 14,
  layers: 1 << 8,
  heads: 1 << 9,
  kvHeads: 1 << 9,
  intermediateSize: 1 << 17,
  vocabSize: 1 << 22,
  contextLength: 1 << 18,
} as const

export function checkSizes(file: string, { config, firstPosition, types }: Placed): void {
  for (const key of Object.keys(MAX) as (keyof typeof MAX)[]) wholeUpTo(key, config[key], MAX[key])
  wholeUpTo('the first position', firstPosition + 1, 1 << 16)
  wholeUpTo('type_vocab_size', types, 1 << 10)
  const { headDim, normEpsilon, heads, kvHeads } = config
  if (!Number.isInteger(headDim) || headDim % 4 !== 0 || headDim > 256) {
    throw unbuiltVariant(file, `a head width of ${headDim}`, 'a multiple of 4 up to 256')
  }
  if (heads % kvHeads !== 0)
    throw unbuiltVariant(file, `${kvHeads} KV heads for ${heads} heads`, `a divisor of ${heads}`)
  if (!(normEpsilon >= 0 && normEpsilon < 1)) throw wrong(`the epsilon of norms is ${normEpsilon}`)
  if (config.window !== undefined) wholeUpTo('the window', config.window.positions, MAX.contextLength)

  function wholeUpTo(key: string, value: number, most: number): void {
    if (Number.isSafeInteger(value) && value > 0 && value <= most) return
    throw wrong(`${key} is ${value} but must be a whole number from 1 to ${most}`)
  }
  function wrong(sentence: string): HalfbyteError {
    return new HalfbyteError(
      'architecture',
      `${file}: ${sentence}; the configuration is wrong, so fetch or convert the model again`,
      { file },
    )
  }
}

/** Throws `unsupported` for unsupported rotations. */
export function checkRopes(file: string, { headDim, rope, localRope = rope }: ModelConfig): void {
  for (const { dims, theta } of [rope, localRope]) {
    if (dims < 2 || dims % 2 !== 0 || dims > headDim)
      throw unbuiltVariant(file, `${dims} rotated dimensions`, `an even number from 2 to ${headDim}`)
    if (!(theta > 0 && Number.isFinite(theta)))
      throw unbuiltVariant(file, `a RoPE base of ${theta}`, 'a positive one')
  }
}

/** The checked configuration of a family that uses RoPE and has no other tables. */
export function checkedSizes(file: string, config: ModelConfig): Placed {
  const placed = { ...UNTABLED, config }
  checkSizes(file, placed)
  checkRopes(file, config)
  return placed
}
