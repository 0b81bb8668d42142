// Sampling defaults. In: what a model's files recommend. Out: options of the sampler, and what had to be left
// out of them.
import { shown } from '../../base/options.ts'
import type { MetaObject } from '../../formats/json.ts'
import { type NumberKey, SAMPLER_RANGES, type SamplerOptions } from '../../generate/sampler/options.ts'
import { fitsRange } from '../../generate/sampler/settings.ts'

export interface SamplingDefaults {
  /** Options that replace the sampler's own defaults. */
  readonly sampling: SamplerOptions
  /** Settings that no sampler can have, as `name value`. */
  readonly refused: readonly string[]
}

/** Names of generation_config.json, and of GGUF's `general.sampling.*` where the former has none. */
const NAMES: Readonly<Record<string, NumberKey>> = {
  temperature: 'temperature',
  top_k: 'topK',
  top_p: 'topP',
  min_p: 'minP',
  typical_p: 'typicalP',
  repetition_penalty: 'repeatPenalty',
  penalty_last_n: 'repeatLastN',
  xtc_probability: 'xtcProbability',
  xtc_threshold: 'xtcThreshold',
  mirostat: 'mirostat',
  mirostat_tau: 'mirostatEnt',
  mirostat_eta: 'mirostatLr',
}

/**
 * What `do_sample: true` means where a file says no more: the defaults of transformers' GenerationConfig,
 * whose penalty looks at the whole text.
 */
const TRANSFORMERS_DEFAULTS: SamplerOptions = {
  temperature: 1,
  topK: 50,
  topP: 1,
  minP: 0,
  repeatLastN: Number.POSITIVE_INFINITY,
}

/**
 * The sampler's options that a model recommends. `do_sample: false` is greedy. A value of the wrong type or
 * outside the sampler's range is left out and listed.
 */
export function samplingDefaults(generation: MetaObject = {}): SamplingDefaults {
  const refused: string[] = []
  const found: Partial<Record<NumberKey, number>> = {}
  for (const [name, key] of Object.entries(NAMES)) {
    if (!Object.hasOwn(generation, name)) continue
    const value = generation[name]
    // llama.cpp writes -1 for the whole context.
    const number = key === 'repeatLastN' && value === -1 ? Number.POSITIVE_INFINITY : value
    if (typeof number === 'number' && fitsRange(number, SAMPLER_RANGES[key])) found[key] = number
    else refused.push(`${name} ${shown(value)}`)
  }
  const { do_sample: samples } = generation
  const sampling = {
    ...(samples === true && TRANSFORMERS_DEFAULTS),
    ...found,
    ...(samples === false && { temperature: 0 }),
  }
  // Each number lies in its range, which for mirostat is 0 to 2.
  return { sampling: sampling as SamplerOptions, refused }
}
