// Sampler options. In: what a caller set. Out: every number of the chain, checked, with the defaults filled in.
import { HalfbyteError } from '../../base/errors.ts'

/** How logits become the next id. Every key is optional; the defaults are `SAMPLER_DEFAULTS`. */
export interface SamplerOptions {
  /** Added to the logit of an id before anything else; `-Infinity` bans it. Default: nothing. */
  readonly logitBias?: Readonly<Record<number, number>> | undefined
  /** Latest tokens, prompt included, that the three penalties look at. 0 turns them off. Default 64. */
  readonly repeatLastN?: number | undefined
  /** Divides positive and multiplies negative logits of recent tokens. 1 is off. Default 1. */
  readonly repeatPenalty?: number | undefined
  /** Taken from a recent token's logit once per occurrence. Default 0. */
  readonly frequencyPenalty?: number | undefined
  /** Taken from a recent token's logit once. Default 0. */
  readonly presencePenalty?: number | undefined
  /** Keeps the k likeliest. 0 keeps all, which costs about 15 ms per token at 150 000 ids. Default 40. */
  readonly topK?: number | undefined
  /** Tail-free sampling: share of the curvature to keep. 1 is off. Default 1. */
  readonly tfsZ?: number | undefined
  /** Locally typical sampling: probability to keep, nearest the expected surprise first. 1 is off. Default 1. */
  readonly typicalP?: number | undefined
  /** Keeps the likeliest whose probabilities add up to this. 1 is off. Default 0.95. */
  readonly topP?: number | undefined
  /** Drops what is less likely than this share of the likeliest. 0 is off. Default 0.05. */
  readonly minP?: number | undefined
  /** Divides the logits before the draw. 0 is greedy: the largest logit, the lowest id among equals. Default 0.8. */
  readonly temperature?: number | undefined
  /** Whole number from 0 to 2^53 - 1. The same seed, prompt and options give the same text. Default: random. */
  readonly seed?: number | undefined
}

/** `SamplerOptions` with nothing left open but the seed. */
export type SamplerSettings = {
  readonly [K in Exclude<keyof SamplerOptions, 'seed'>]-?: NonNullable<SamplerOptions[K]>
} & {
  readonly seed: number | undefined
}

export const SAMPLER_DEFAULTS: SamplerSettings = Object.freeze({
  logitBias: Object.freeze({}),
  repeatLastN: 64,
  repeatPenalty: 1,
  frequencyPenalty: 0,
  presencePenalty: 0,
  topK: 40,
  tfsZ: 1,
  typicalP: 1,
  topP: 0.95,
  minP: 0.05,
  temperature: 0.8,
  seed: undefined,
})

const RANGES: readonly (readonly [
  Exclude<keyof SamplerOptions, 'logitBias'>,
  number,
  number,
  'whole' | 'real',
])[] = [
  ['repeatLastN', 0, Number.MAX_SAFE_INTEGER, 'whole'],
  ['repeatPenalty', Number.MIN_VALUE, Number.MAX_VALUE, 'real'],
  ['frequencyPenalty', -Number.MAX_VALUE, Number.MAX_VALUE, 'real'],
  ['presencePenalty', -Number.MAX_VALUE, Number.MAX_VALUE, 'real'],
  ['topK', 0, Number.MAX_SAFE_INTEGER, 'whole'],
  ['tfsZ', Number.MIN_VALUE, 1, 'real'],
  ['typicalP', Number.MIN_VALUE, 1, 'real'],
  ['topP', 0, 1, 'real'],
  ['minP', 0, 1, 'real'],
  ['temperature', 0, Number.MAX_VALUE, 'real'],
  ['seed', 0, Number.MAX_SAFE_INTEGER, 'whole'],
]

/** Fills in the defaults. Throws `unsupported` for a number outside its range or an id outside the vocabulary. */
export function samplerSettings(options: SamplerOptions, vocab: number): SamplerSettings {
  const set = Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined))
  const settings: SamplerSettings = { ...SAMPLER_DEFAULTS, ...set }
  for (const [name, low, high, kind] of RANGES) checkNumber(name, settings[name], low, high, kind)
  for (const [id, bias] of Object.entries(settings.logitBias)) {
    checkNumber('an id in logitBias', Number(id), 0, vocab - 1, 'whole')
    if (bias !== -Infinity) checkNumber(`logitBias[${id}]`, bias, -Number.MAX_VALUE, Number.MAX_VALUE, 'real')
  }
  return settings
}

function checkNumber(
  name: string,
  value: number | undefined,
  low: number,
  high: number,
  kind: 'whole' | 'real',
): void {
  if (value === undefined) return
  if (
    typeof value === 'number' &&
    value >= low &&
    value <= high &&
    (kind === 'real' || Number.isInteger(value))
  )
    return
  throw new HalfbyteError(
    'unsupported',
    `${name} is ${String(value)} but must be a ${kind} number from ${low} to ${high}; change it or leave it out`,
    { name, value: String(value), low, high },
  )
}
