// The output of `trim`. In: counts and comparisons. Out: lines for the user.
import type { DivergenceAcross } from '../../evaluate/divergence-across.ts'
import type { KeptTokens } from '../../shrink/vocabulary/choose-tokens.ts'
import { visible } from '../terminal/failure.ts'
import { qualityText } from './held-out.ts'

export const kindsOf = ({ fixed, counted, merged, foreign }: KeptTokens) => ({
  fixed,
  counted,
  merged,
  foreign,
})

/** Fields common to both kinds of models. */
interface Trimmed {
  readonly output: string
  readonly bytes: number
  readonly tokens: ReturnType<typeof kindsOf> & { readonly before: number; readonly after: number }
  /** Scripts of `--languages`. */
  readonly scripts: readonly string[] | undefined
  readonly table: { readonly before: number; readonly after: number }
  readonly texts: { readonly unchanged: number; readonly samePieces: number; readonly foreign?: number }
}

export interface Summary extends Trimmed {
  readonly quality: DivergenceAcross | undefined
}

/** Cosines between the vectors of both encoders for the held-out texts. */
export interface Likeness {
  readonly texts: number
  readonly mean: number
  readonly least: number
}

export interface EncoderSummary extends Trimmed {
  readonly likeness: Likeness | undefined
}

const NOT_COMPARED =
  'not compared with the original: no text was held out; give more text, or a different --held-out'

function linesOf({ output, bytes, tokens, scripts, table, texts }: Trimmed, kinds: string): string[] {
  const whose = scripts === undefined ? 'of the text' : `of the scripts ${scripts.join(', ')}`
  return [
    `${tokens.after} of ${tokens.before} tokens: ${tokens.fixed} ${kinds}, ${tokens.counted} more ${whose}, ${tokens.merged} to merge them from`,
    ...(tokens.foreign === 0
      ? []
      : [`${tokens.foreign} tokens of the text are in other scripts and are dropped`]),
    `embedding and logits: ${table.after} bytes, previously ${table.before}`,
    `${texts.unchanged} pieces of text survive encoding and decoding, ${texts.samePieces} of them with the same tokens`,
    ...((texts.foreign ?? 0) === 0
      ? []
      : [`${texts.foreign} pieces have characters of other scripts, which the encoder no longer knows`]),
    `${visible(output)}: ${bytes} bytes`,
  ]
}

export const textOf = ({ quality, ...trimmed }: Summary): string =>
  [
    ...linesOf(trimmed, 'bytes, special tokens and tokens of the chat template'),
    ...(quality === undefined
      ? [NOT_COMPARED]
      : [
          `the held-out texts have ${quality.tokensAfter} tokens, with the original's ${quality.tokens}; predictions are compared at ${quality.places} positions, over the tokens that both have`,
          qualityText(quality).trimEnd(),
        ]),
    '',
  ].join('\n')

export const encoderText = ({ likeness, ...trimmed }: EncoderSummary): string =>
  [
    ...linesOf(trimmed, 'characters and special tokens'),
    likeness === undefined
      ? NOT_COMPARED
      : `on ${likeness.texts} held-out texts: cosine between the vectors of both encoders ${likeness.mean.toFixed(5)} on average, ${likeness.least.toFixed(5)} at worst (1: identical)`,
    '',
  ].join('\n')
