// The options of the sampler: their ranges, their defaults, and their command-line flags.

import { checkList, checkTexts, wrongOption } from '../../base/check-options.ts'
import {
  ANY,
  checkOption,
  checkValues,
  defaultsOf,
  type NumberKind,
  type OptionRow,
  real,
  whole,
} from '../../base/options/option-kinds.ts'

/**
 * Fills in the model's defaults, then the sampler's. Throws `unsupported` for a value outside its range or an
 * id outside the vocabulary.
 */
export function samplerSettings(
  options: SamplerOptions,
  vocab: number,
  model: SamplerOptions = {},
): SamplerSettings {
  const set = Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined))
  const settings = { ...SAMPLER_DEFAULTS, ...model, ...set } as SamplerSettings
  checkValues(SAMPLER_NUMBERS, settings)
  const ids = whole(0, vocab - 1)
  const { logitBias } = settings
  // A Map has no enumerable keys, so its entries would be ignored.
  if (logitBias?.constructor !== Object) throw wrongOption('logitBias', logitBias, 'an object')
  for (const [id, bias] of Object.entries(logitBias)) {
    checkOption('an id in logitBias', /^\d+$/.test(id) ? Number(id) : id, ids)
    if (bias !== Number.NEGATIVE_INFINITY) checkOption(`logitBias[${id}]`, bias, BIAS)
  }
  for (const name of ['bannedTokens', 'forcedTokens'] as const) {
    checkList(name, settings[name])
    for (const id of settings[name]) checkOption(`an id in ${name}`, id, ids)
  }
  checkTexts('drySequenceBreakers', settings.drySequenceBreakers)
  return settings
}

/**
 * How the next token is chosen from the logits. Options are listed in the order in which they apply. Every
 * key is optional. The defaults come from the model's files (`ModelInfo.sampling`), otherwise from
 * `SAMPLER_DEFAULTS`.
 */
export interface SamplerOptions {
  /**
   * Classifier-free guidance away from `negativePrompt`: logits = negative + scale * (logits - negative). 1
   * is off. Default 1.
   */
  readonly cfgScale?: number | undefined
  /** Value to add to the logit, by token id; `-Infinity` bans the id. Default: none. */
  readonly logitBias?: Readonly<Record<number, number>> | undefined
  /** Token ids that are never chosen. Default: none. */
  readonly bannedTokens?: readonly number[] | undefined
  /** Token ids with which the reply begins, regardless of the logits. Default: none. */
  readonly forcedTokens?: readonly number[] | undefined
  /**
   * Number of recent tokens, including the prompt's, to which the next three options apply. `Infinity`: all;
   * 0: off. Default 64.
   */
  readonly repeatLastN?: number | undefined
  /** Divides positive logits of recent tokens and multiplies negative ones. 1 is off. Default 1. */
  readonly repeatPenalty?: number | undefined
  /** Subtracted from a recent token's logit once for each occurrence. 0 is off. Default 0. */
  readonly frequencyPenalty?: number | undefined
  /** Subtracted from a recent token's logit once. 0 is off. Default 0. */
  readonly presencePenalty?: number | undefined
  /** DRY: penalises tokens that would continue a repetition. 0 is off, 0.8 is typical. Default 0. */
  readonly dryMultiplier?: number | undefined
  /** DRY: factor of the penalty for each further repeated token, at least 1. Default 1.75. */
  readonly dryBase?: number | undefined
  /** DRY: number of repeated tokens at which the penalty starts. Default 2. */
  readonly dryAllowedLength?: number | undefined
  /**
   * DRY: number of recent tokens, including the prompt's, to search for repetitions. Default
   * Infinity: all.
   */
  readonly dryLastN?: number | undefined
  /** DRY: strings that end a repetition. Default: a line feed, `:`, `"` and `*`. */
  readonly drySequenceBreakers?: readonly string[] | undefined
  /**
   * Keeps tokens whose logits are within this many standard deviations of the largest. 0 is off. Default 0.
   */
  readonly topNSigma?: number | undefined
  /** Keeps the k most likely tokens. 0 is off. Default 40. */
  readonly topK?: number | undefined
  /** Tail-free sampling: share of the curvature to keep. 1 is off. Default 1. */
  readonly tfsZ?: number | undefined
  /**
   * Locally typical sampling: probability to keep, starting with the tokens nearest to the expected surprise.
   * 1 is off. Default 1.
   */
  readonly typicalP?: number | undefined
  /** Keeps the most likely tokens whose probabilities add up to this. 1 is off. Default 0.95. */
  readonly topP?: number | undefined
  /**
   * Drops tokens whose probability is below this share of the most likely token's. 0 is off. Default 0.05.
   */
  readonly minP?: number | undefined
  /**
   * XTC: probability, per token, of dropping all likely tokens except the least likely of them. 0 is off, 0.5
   * is typical. Default 0.
   */
  readonly xtcProbability?: number | undefined
  /**
   * XTC: probability at which a token counts as likely. Above 0.5, at most one token does, so XTC has no
   * effect. Default 0.1.
   */
  readonly xtcThreshold?: number | undefined
  /**
   * Divides the logits before sampling. 0 is greedy: the largest logit wins, and the lowest id on ties.
   * Default 0.8.
   */
  readonly temperature?: number | undefined
  /**
   * Mirostat 1 or 2; replaces everything from topNSigma to xtcThreshold and runs after temperature. 0 is off.
   * Default 0.
   */
  readonly mirostat?: 0 | 1 | 2 | undefined
  /** Mirostat's learning rate. Default 0.1. */
  readonly mirostatLr?: number | undefined
  /** Mirostat's target surprise, in bits per token. Default 5. */
  readonly mirostatEnt?: number | undefined
  /**
   * Reports the log-probability of each token and of this many of the most likely tokens, at most 100. They
   * refer to the model's own distribution, before any option here applies. Default: nothing is reported.
   */
  readonly logprobs?: number | undefined
  /**
   * Whole number from 0 to 2^53 - 1. The same seed, prompt and options give the same text. Default: random.
   */
  readonly seed?: number | undefined
}

/** Options without a default value. */
type Open = 'logprobs' | 'seed'

/** `SamplerOptions` with defaults filled in. */
export type SamplerSettings = {
  readonly [K in Exclude<keyof SamplerOptions, Open>]-?: NonNullable<SamplerOptions[K]>
} & { readonly [K in Open]: number | undefined }

export type NumberKey = {
  [K in keyof SamplerSettings]-?: SamplerSettings[K] extends number | undefined ? K : never
}[keyof SamplerSettings]

const MAX = Number.MAX_VALUE
/** Larger biases, multiplied by a penalty and added up over many occurrences, could reach Infinity or NaN. */
const MAX_RISE = 1e9
const ABOVE_ZERO = Number.MIN_VALUE
const BIAS = real(-MAX, MAX_RISE)
/** A whole number, or Infinity for all. */
const COUNT = whole(0, Number.POSITIVE_INFINITY)
const SHARE = real(0, 1)
const SHARE_ABOVE_ZERO = real(ABOVE_ZERO, 1)
const FROM_ZERO = real(0, MAX)

const row = <Kind, Default>(kind: Kind, usual: Default): Kind & { readonly default: Default } => ({
  ...kind,
  default: usual,
})

/** The numeric options. A value outside its range would make its stage meaningless or overflow. */
export const SAMPLER_NUMBERS: Readonly<Record<NumberKey, NumberKind & OptionRow<number | undefined>>> = {
  cfgScale: row(real(-1000, 1000), 1),
  repeatLastN: row(COUNT, 64),
  repeatPenalty: row(real(1e-6, MAX), 1),
  frequencyPenalty: row(real(-MAX_RISE, MAX), 0),
  presencePenalty: row(real(-MAX_RISE, MAX), 0),
  dryMultiplier: row(FROM_ZERO, 0),
  dryBase: row(real(1, MAX), 1.75),
  dryAllowedLength: row(whole(1, Number.MAX_SAFE_INTEGER), 2),
  dryLastN: row(COUNT, Number.POSITIVE_INFINITY),
  topNSigma: row(FROM_ZERO, 0),
  topK: row(whole(0, Number.MAX_SAFE_INTEGER), 40),
  tfsZ: row(SHARE_ABOVE_ZERO, 1),
  typicalP: row(SHARE_ABOVE_ZERO, 1),
  topP: row(SHARE, 0.95),
  minP: row(SHARE, 0.05),
  xtcProbability: row(SHARE, 0),
  xtcThreshold: row(SHARE_ABOVE_ZERO, 0.1),
  temperature: row(FROM_ZERO, 0.8),
  mirostat: row(whole(0, 2), 0),
  mirostatLr: row(real(0, 10), 0.1),
  mirostatEnt: row(real(0, 100), 5),
  logprobs: whole(0, 100),
  seed: whole(0, Number.MAX_SAFE_INTEGER),
}

/** All options. The lists are checked by `samplerSettings` against a model's vocabulary. */
export const SAMPLER_OPTIONS: Readonly<Record<keyof SamplerSettings, OptionRow>> = {
  ...SAMPLER_NUMBERS,
  logitBias: row(ANY, Object.freeze({})),
  bannedTokens: row(ANY, Object.freeze([])),
  forcedTokens: row(ANY, Object.freeze([])),
  drySequenceBreakers: row(ANY, Object.freeze(['\n', ':', '"', '*'])),
}

export const SAMPLER_DEFAULTS: SamplerSettings = Object.freeze(defaultsOf(SAMPLER_OPTIONS) as SamplerSettings)

/** A command-line flag: its heading, the name of its number, and what the number means. */
type SamplerFlag = readonly [heading: string, number: string, description: string]

const FIRST = 'Sampling:'
const REPETITION = 'Against repetition:'
const FURTHER = 'Further sampling:'

/** The numeric flags of every command that generates replies. For example, `topNSigma` is `--top-n-sigma`. */
export const SAMPLER_FLAGS: Readonly<Record<Exclude<NumberKey, 'cfgScale' | 'logprobs'>, SamplerFlag>> = {
  temperature: [FIRST, 't', '0 is greedy'],
  topK: [FIRST, 'k', 'tokens to choose among, 0 is all'],
  topP: [FIRST, 'p', 'probability to keep'],
  minP: [FIRST, 'p', "minimum share of the best token's probability"],
  seed: [FIRST, 'n', 'makes a run repeatable'],
  repeatPenalty: [REPETITION, 'x', '1 is off'],
  repeatLastN: [REPETITION, 'n', 'recent tokens that penalties apply to'],
  frequencyPenalty: [REPETITION, 'x', 'subtracted for each occurrence, 0 is off'],
  presencePenalty: [REPETITION, 'x', 'subtracted once, 0 is off'],
  dryMultiplier: [REPETITION, 'x', 'DRY: how strongly to penalise repetitions, 0 is off'],
  dryBase: [REPETITION, 'x', 'growth with each repeated token'],
  dryAllowedLength: [REPETITION, 'n', 'repeated tokens before the penalty starts'],
  dryLastN: [REPETITION, 'n', 'recent tokens to search for repetitions'],
  topNSigma: [FURTHER, 'n', 'standard deviations below the best logit, 0 is off'],
  tfsZ: [FURTHER, 'z', 'tail-free sampling, 1 is off'],
  typicalP: [FURTHER, 'p', 'locally typical sampling, 1 is off'],
  xtcProbability: [FURTHER, 'p', 'how often to exclude top choices, 0 is off'],
  xtcThreshold: [FURTHER, 'p', 'probability of a top choice'],
  mirostat: [FURTHER, 'v', '1 or 2 in place of truncation, 0 is off'],
  mirostatLr: [FURTHER, 'x', "mirostat's learning rate"],
  mirostatEnt: [FURTHER, 'x', 'target surprise, in bits'],
}
