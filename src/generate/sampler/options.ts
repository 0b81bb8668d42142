// Sampler options. In: nothing. Out: what a caller may set, the defaults, and the range of each number.

/** How logits become the next id, in the order of the chain. Every key is optional; the defaults are `SAMPLER_DEFAULTS`. */
export interface SamplerOptions {
  /** Classifier-free guidance, away from a negative prompt: logits = negative + scale * (logits - negative). 1 is off. Default 1. */
  readonly cfgScale?: number | undefined
  /** Added to the logit of an id; `-Infinity` bans it. Default: nothing. */
  readonly logitBias?: Readonly<Record<number, number>> | undefined
  /** Ids that are never picked. Default: none. */
  readonly bannedTokens?: readonly number[] | undefined
  /** Ids that the reply begins with, whatever the logits say. Default: none. */
  readonly forcedTokens?: readonly number[] | undefined
  /** Latest tokens, prompt included, that the next three look at; Infinity for all, 0 turns them off. Default 64. */
  readonly repeatLastN?: number | undefined
  /** Divides positive and multiplies negative logits of recent tokens. 1 is off. Default 1. */
  readonly repeatPenalty?: number | undefined
  /** Taken from a recent token's logit once per occurrence. Default 0. */
  readonly frequencyPenalty?: number | undefined
  /** Taken from a recent token's logit once. Default 0. */
  readonly presencePenalty?: number | undefined
  /** DRY: punishes tokens that would go on with a repetition. 0 is off, 0.8 is usual. Default 0. */
  readonly dryMultiplier?: number | undefined
  /** How much each further repeated token weighs, at least 1. Default 1.75. */
  readonly dryBase?: number | undefined
  /** Repeated tokens from which on the next is punished. Default 2. */
  readonly dryAllowedLength?: number | undefined
  /** Latest tokens, prompt included, in which repetitions are looked for. Default Infinity: all. */
  readonly dryLastN?: number | undefined
  /** Texts that no repetition reaches across. Default: a line end, `:`, `"` and `*`. */
  readonly drySequenceBreakers?: readonly string[] | undefined
  /** Keeps logits within this many standard deviations of the largest. 0 is off. Default 0. */
  readonly topNSigma?: number | undefined
  /** Keeps the k likeliest. 0 keeps all. Default 40. */
  readonly topK?: number | undefined
  /** Tail-free sampling: share of the curvature to keep. 1 is off. Default 1. */
  readonly tfsZ?: number | undefined
  /** Locally typical sampling: probability to keep, nearest the expected surprise first. 1 is off. Default 1. */
  readonly typicalP?: number | undefined
  /** Keeps the likeliest whose probabilities add up to this. 1 is off. Default 0.95. */
  readonly topP?: number | undefined
  /** Drops what is less likely than this share of the likeliest. 0 is off. Default 0.05. */
  readonly minP?: number | undefined
  /** XTC: how often all but the least likely of the likely tokens are dropped. 0 is off, 0.5 is usual. Default 0. */
  readonly xtcProbability?: number | undefined
  /** Probability from which on XTC takes a token for likely; above 0.5 there is never more than one. Default 0.1. */
  readonly xtcThreshold?: number | undefined
  /** Divides the logits before the draw. 0 is greedy: the largest logit, the lowest id among equals. Default 0.8. */
  readonly temperature?: number | undefined
  /** Mirostat 1 or 2 in place of everything from topNSigma to xtcThreshold; temperature comes before it. 0 is off. Default 0. */
  readonly mirostat?: 0 | 1 | 2 | undefined
  /** Mirostat's learning rate. Default 0.1. */
  readonly mirostatLr?: number | undefined
  /** The surprise per token that mirostat aims at, in bits. Default 5. */
  readonly mirostatEnt?: number | undefined
  /**
   * Reports the log-probability of each token and of this many of the likeliest, at most 100, by the model's own
   * distribution, before anything in this list. Default: none are reported.
   */
  readonly logprobs?: number | undefined
  /** Whole number from 0 to 2^53 - 1. The same seed, prompt and options give the same text. Default: random. */
  readonly seed?: number | undefined
}

/** Those that stay open when they are not given. */
type Open = 'logprobs' | 'seed'

/** `SamplerOptions` with everything filled in. */
export type SamplerSettings = {
  readonly [K in Exclude<keyof SamplerOptions, Open>]-?: NonNullable<SamplerOptions[K]>
} & { readonly [K in Open]: number | undefined }

export const SAMPLER_DEFAULTS: SamplerSettings = Object.freeze({
  cfgScale: 1,
  logitBias: Object.freeze({}),
  bannedTokens: Object.freeze([]),
  forcedTokens: Object.freeze([]),
  repeatLastN: 64,
  repeatPenalty: 1,
  frequencyPenalty: 0,
  presencePenalty: 0,
  dryMultiplier: 0,
  dryBase: 1.75,
  dryAllowedLength: 2,
  dryLastN: Number.POSITIVE_INFINITY,
  drySequenceBreakers: Object.freeze(['\n', ':', '"', '*']),
  topNSigma: 0,
  topK: 40,
  tfsZ: 1,
  typicalP: 1,
  topP: 0.95,
  minP: 0.05,
  xtcProbability: 0,
  xtcThreshold: 0.1,
  temperature: 0.8,
  mirostat: 0,
  mirostatLr: 0.1,
  mirostatEnt: 5,
  logprobs: undefined,
  seed: undefined,
})

export type NumberKey = {
  [K in keyof SamplerSettings]-?: SamplerSettings[K] extends number | undefined ? K : never
}[keyof SamplerSettings]

export interface NumberRange {
  readonly least: number
  readonly most: number
  readonly kind: 'whole' | 'real'
}

export const whole = (least: number, most: number): NumberRange => ({ least, most, kind: 'whole' })
export const real = (least: number, most: number): NumberRange => ({ least, most, kind: 'real' })
/** A whole number, or Infinity for as many as there are. */
const count: NumberRange = whole(0, Number.POSITIVE_INFINITY)
const ABOVE_ZERO = Number.MIN_VALUE
export const MOST = Number.MAX_VALUE
/** Logits that are raised further, for many occurrences and times a penalty, would not be numbers any more. */
export const MOST_RISE = 1e9

/** Of each number. Beyond them a stage has no meaning or the arithmetic no result. */
export const SAMPLER_RANGES: Readonly<Record<NumberKey, NumberRange>> = {
  cfgScale: real(-1000, 1000),
  repeatLastN: count,
  repeatPenalty: real(1e-6, MOST),
  frequencyPenalty: real(-MOST_RISE, MOST),
  presencePenalty: real(-MOST_RISE, MOST),
  dryMultiplier: real(0, MOST),
  dryBase: real(1, MOST),
  dryAllowedLength: whole(1, Number.MAX_SAFE_INTEGER),
  dryLastN: count,
  topNSigma: real(0, MOST),
  topK: whole(0, Number.MAX_SAFE_INTEGER),
  tfsZ: real(ABOVE_ZERO, 1),
  typicalP: real(ABOVE_ZERO, 1),
  topP: real(0, 1),
  minP: real(0, 1),
  xtcProbability: real(0, 1),
  xtcThreshold: real(ABOVE_ZERO, 1),
  temperature: real(0, MOST),
  mirostat: whole(0, 2),
  mirostatLr: real(0, 10),
  mirostatEnt: real(0, 100),
  logprobs: whole(0, 100),
  seed: whole(0, Number.MAX_SAFE_INTEGER),
}
