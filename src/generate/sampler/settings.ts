// Sampler settings. In: a caller's options. Out: every number of the chain, checked, with defaults filled in.
import { checkList, checkTexts } from '../../base/lists.ts'
import { wrongOption } from '../../base/options.ts'
import {
  MOST,
  MOST_RISE,
  type NumberKey,
  type NumberRange,
  real,
  SAMPLER_DEFAULTS,
  SAMPLER_RANGES,
  type SamplerOptions,
  type SamplerSettings,
  whole,
} from './options.ts'

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
  for (const [name, range] of Object.entries(SAMPLER_RANGES))
    checkNumber(name, settings[name as NumberKey], range)
  const ids = whole(0, vocab - 1)
  const { logitBias } = settings
  // A Map has no enumerable keys, so its entries would be ignored.
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

/** Whether a number is in a range. The upper end of a range of whole numbers may be Infinity. */
export const fitsRange = (value: number, { least, most, kind }: NumberRange): boolean =>
  value >= least && value <= most && (kind === 'real' || Number.isInteger(value) || value === most)

function checkNumber(name: string, value: unknown, range: NumberRange): void {
  if (value === undefined || (typeof value === 'number' && fitsRange(value, range))) return
  throw wrongOption(name, value, `a ${range.kind} number from ${range.least} to ${range.most}`)
}
