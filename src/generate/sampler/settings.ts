// Sampler settings. In: what a caller set. Out: every number of the chain, checked, with the defaults filled in.
import { checkList, checkTexts } from '../../base/lists.ts'
import { wrongOption } from '../../base/options.ts'
import { SAMPLER_DEFAULTS, type SamplerOptions, type SamplerSettings } from './options.ts'

type NumberKey = {
  [K in keyof SamplerSettings]-?: SamplerSettings[K] extends number | undefined ? K : never
}[keyof SamplerSettings]

interface Range {
  readonly least: number
  readonly most: number
  readonly kind: 'whole' | 'real'
}

const whole = (least: number, most: number): Range => ({ least, most, kind: 'whole' })
const real = (least: number, most: number): Range => ({ least, most, kind: 'real' })
/** A whole number, or Infinity for as many as there are. */
const count: Range = whole(0, Number.POSITIVE_INFINITY)
const ABOVE_ZERO = Number.MIN_VALUE
const MOST = Number.MAX_VALUE
/** Logits that are raised further, for many occurrences and times a penalty, would not be numbers any more. */
const MOST_RISE = 1e9

/** Of each number. Beyond them a stage has no meaning or the arithmetic no result. */
const RANGES: Readonly<Record<NumberKey, Range>> = {
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

/** Fills in the defaults. Throws `unsupported` for a value outside its range or an id outside the vocabulary. */
export function samplerSettings(options: SamplerOptions, vocab: number): SamplerSettings {
  const set = Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined))
  const settings: SamplerSettings = { ...SAMPLER_DEFAULTS, ...set }
  for (const [name, range] of Object.entries(RANGES)) checkNumber(name, settings[name as NumberKey], range)
  const ids = whole(0, vocab - 1)
  const { logitBias } = settings
  // A Map has no keys that can be seen here, so nothing of it would be heeded.
  if (logitBias?.constructor !== Object) throw wrongOption('logitBias', logitBias, 'an object')
  for (const [id, bias] of Object.entries(logitBias)) {
    checkNumber('an id in logitBias', /^\d+$/.test(id) ? Number(id) : id, ids)
    if (bias !== Number.NEGATIVE_INFINITY) checkNumber(`logitBias[${id}]`, bias, real(-MOST, MOST_RISE))
  }
  for (const name of ['bannedTokens', 'forcedTokens'] as const) {
    checkList(name, settings[name])
    for (const id of settings[name]) checkNumber(`an id in ${name}`, id, ids)
  }
  checkTexts('drySequenceBreakers', settings.drySequenceBreakers)
  return settings
}

function checkNumber(name: string, value: unknown, { least, most, kind }: Range): void {
  if (value === undefined) return
  const fits = typeof value === 'number' && value >= least && value <= most
  if (fits && (kind === 'real' || Number.isInteger(value) || value === most)) return
  throw wrongOption(name, value, `a ${kind === 'real' ? 'real' : 'whole'} number from ${least} to ${most}`)
}
