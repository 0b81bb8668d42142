// Settings. In: the user's choices, kept in localStorage. Out: a valid record; unreadable values become
// defaults.
import type { GenerateOptions, SamplerOptions, WeightPolicy } from '../../../src/index.ts'
import { type Language, TRANSLATED } from '../../../src/ui/words/languages.ts'
import type { LaterWord } from '../words/later-words.ts'

/** The fields of the settings dialog. Counts are tokens. */
export interface Settings {
  readonly system: string
  /** Undefined, as for the next four: the model's own value, or the page's if the model recommends none. */
  readonly temperature: number | undefined
  readonly topK: number | undefined
  readonly topP: number | undefined
  readonly minP: number | undefined
  readonly repeatPenalty: number | undefined
  readonly maxTokens: number
  /** Undefined: a new seed for every answer. */
  readonly seed: number | undefined
  /** Undefined: chosen by measurement. */
  readonly threads: number | undefined
  readonly contextLength: number
  readonly weights: WeightPolicy
  /** Format of the stored conversation: exact, int8 keys and values, or int8 keys and fp8 values. */
  readonly memory: 'f32' | 'int8' | 'fp8'
  /** How a vision model reads images: as one tile, or as many as its tower makes. */
  readonly pictures: 'whole' | 'parts'
  readonly theme: 'auto' | 'light' | 'dark'
  /** Whether a model that was trained for them may use the page's tools. */
  readonly tools: 'on' | 'off'
  /** Address of the encoder that finds passages of long files by meaning. Empty: they are found by words. */
  readonly search: string
  readonly language: 'auto' | Language
}

const OF_ENGINE = ['threads', 'contextLength', 'weights', 'memory', 'pictures'] as const

/** Settings that take effect when the engine loads a model. */
export type EngineSettings = Pick<Settings, (typeof OF_ENGINE)[number]>

/** A numeric setting: its bounds and step. */
export interface NumberField {
  readonly key: keyof {
    [Key in keyof Settings as Settings[Key] extends number | undefined ? Key : never]: true
  }
  readonly label: LaterWord
  readonly hint: LaterWord
  readonly min: number
  readonly max: number
  readonly step: number
  /** The meaning of an empty field. Without it, the field may not be empty. */
  readonly empty?: LaterWord
}

/** A setting with a few choices. */
export interface ChoiceField {
  readonly key: 'weights' | 'memory' | 'pictures' | 'theme' | 'tools' | 'language'
  readonly label: LaterWord
  readonly hint: LaterWord
  /** Labels of the choices. */
  readonly choices: Readonly<Record<string, LaterWord>>
}

/** Sampling options that a model's files can recommend. */
export const RECOMMENDED = ['temperature', 'topK', 'topP', 'minP', 'repeatPenalty'] as const
export type Recommended = (typeof RECOMMENDED)[number]

/** For models that recommend nothing: values that suit the embedded model; see its card. */
const PAGE_SAMPLING: Readonly<Record<Recommended, number>> = Object.freeze({
  temperature: 0.5,
  topK: 40,
  topP: 0.9,
  minP: 0.05,
  repeatPenalty: 1,
})
/** For options missing from a model's recommendations: the engine's defaults, which a test checks. */
const ENGINE_SAMPLING = { ...PAGE_SAMPLING, temperature: 0.8, topP: 0.95 }

export const DEFAULT_SETTINGS: Settings = Object.freeze({
  system: '',
  temperature: undefined,
  topK: undefined,
  topP: undefined,
  minP: undefined,
  repeatPenalty: undefined,
  maxTokens: 512,
  seed: undefined,
  threads: undefined,
  contextLength: 4096,
  weights: 'auto',
  memory: 'f32',
  pictures: 'whole',
  theme: 'auto',
  tools: 'on',
  search: '',
  language: 'auto',
})

export const LENGTH_FIELD: NumberField = {
  key: 'maxTokens',
  label: 'set-maxTokens',
  hint: 'set-maxTokens-hint',
  min: 1,
  max: 8192,
  step: 1,
}

export const SAMPLER_FIELDS: readonly NumberField[] = [
  {
    key: 'temperature',
    label: 'set-temperature',
    hint: 'set-temperature-hint',
    min: 0,
    max: 2,
    step: 0.05,
    empty: 'usual',
  },
  { key: 'topK', label: 'set-topK', hint: 'set-topK-hint', min: 0, max: 200, step: 1, empty: 'usual' },
  {
    key: 'topP',
    label: 'set-topP',
    hint: 'set-topP-hint',
    min: 0,
    max: 1,
    step: 0.01,
    empty: 'usual',
  },
  {
    key: 'minP',
    label: 'set-minP',
    hint: 'set-minP-hint',
    min: 0,
    max: 1,
    step: 0.01,
    empty: 'usual',
  },
  {
    key: 'repeatPenalty',
    label: 'set-repeatPenalty',
    hint: 'set-repeatPenalty-hint',
    min: 0.5,
    max: 2,
    step: 0.05,
    empty: 'usual',
  },
  {
    key: 'seed',
    label: 'set-seed',
    hint: 'set-seed-hint',
    min: 0,
    max: 4294967295,
    step: 1,
    empty: 'random',
  },
]

export const ENGINE_FIELDS: readonly NumberField[] = [
  {
    key: 'threads',
    label: 'set-threads',
    hint: 'set-threads-hint',
    min: 1,
    max: 32,
    step: 1,
    empty: 'measured',
  },
  {
    key: 'contextLength',
    label: 'set-contextLength',
    hint: 'set-contextLength-hint',
    min: 64,
    max: 131072,
    step: 64,
  },
]

export const WEIGHTS_FIELD: ChoiceField = {
  key: 'weights',
  label: 'set-weights',
  hint: 'set-weights-hint',
  choices: { auto: 'asStored', w4: 'bits4', w8: 'bits8', f32: 'bits32' },
}

export const MEMORY_FIELD: ChoiceField = {
  key: 'memory',
  label: 'set-memory',
  hint: 'set-memory-hint',
  choices: { f32: 'exact', int8: 'bits8', fp8: 'bits8fp8' },
}

export const PICTURES_FIELD: ChoiceField = {
  key: 'pictures',
  label: 'set-pictures',
  hint: 'set-pictures-hint',
  choices: { whole: 'asWhole', parts: 'inParts' },
}

export const THEME_FIELD: ChoiceField = {
  key: 'theme',
  label: 'set-theme',
  hint: 'set-theme-hint',
  choices: { auto: 'automatic', light: 'light', dark: 'dark' },
}

export const TOOLS_FIELD: ChoiceField = {
  key: 'tools',
  label: 'set-tools',
  hint: 'set-tools-hint',
  choices: { on: 'on', off: 'off' },
}

/** The dialog adds the languages under their own names. */
export const LANGUAGE_FIELD: ChoiceField = {
  key: 'language',
  label: 'set-language',
  hint: 'set-language-hint',
  choices: { auto: 'automatic' },
}

const CHOICE_FIELDS = [WEIGHTS_FIELD, MEMORY_FIELD, PICTURES_FIELD, TOOLS_FIELD, THEME_FIELD]

const KEY = 'halfbyte-settings'
/** Records without a version hold the page's values even for options that the user did not set. */
const VERSION = 2

export function readSettings(): Settings {
  try {
    return parseSettings(localStorage.getItem(KEY) ?? '{}')
  } catch {
    // If storage is unavailable, the page starts with the defaults.
    return DEFAULT_SETTINGS
  }
}

export function writeSettings(settings: Settings): void {
  try {
    localStorage.setItem(KEY, JSON.stringify({ version: VERSION, ...settings }))
  } catch {
    // A private window may deny storage. The settings then last until the page closes.
  }
}

/** Reads stored settings; each invalid one becomes its default. */
export function parseSettings(text: string): Settings {
  let stored: Record<string, unknown> = {}
  try {
    stored = Object(JSON.parse(text))
  } catch {
    // The next change replaces an unreadable record.
  }
  const settings: Record<string, unknown> = { ...DEFAULT_SETTINGS }
  for (const field of [LENGTH_FIELD, ...SAMPLER_FIELDS, ...ENGINE_FIELDS]) {
    settings[field.key] = checkNumber(field, stored[field.key]) ?? DEFAULT_SETTINGS[field.key]
  }
  if (stored['version'] === undefined) {
    for (const key of RECOMMENDED) if (settings[key] === PAGE_SAMPLING[key]) settings[key] = undefined
  }
  for (const { key, choices } of CHOICE_FIELDS) {
    const value = stored[key]
    if (typeof value === 'string' && Object.hasOwn(choices, value)) settings[key] = value
  }
  settings['language'] = ['en', ...TRANSLATED].find((code) => code === stored['language']) ?? 'auto'
  for (const key of ['system', 'search']) {
    if (typeof stored[key] === 'string') settings[key] = stored[key]
  }
  return settings as unknown as Settings
}

/** The number if it lies within the field's bounds, otherwise undefined. */
export function checkNumber(field: NumberField, value: unknown): number | undefined {
  if (typeof value !== 'number' || !Number.isFinite(value)) return undefined
  if (value < field.min || value > field.max) return undefined
  return field.step >= 1 ? Math.round(value) : value
}

/**
 * The options of a reply. For options that the user has not chosen, they are the model's values if its files
 * recommend any sampling options, and otherwise the page's.
 */
export function replyOptions(settings: Settings, sampling: SamplerOptions): GenerateOptions {
  const usual = Object.keys(sampling).length > 0 ? {} : PAGE_SAMPLING
  const chosen = RECOMMENDED.filter((key) => settings[key] !== undefined)
  const { maxTokens, seed } = settings
  return {
    ...usual,
    ...Object.fromEntries(chosen.map((key) => [key, settings[key]])),
    maxTokens,
    ...(seed !== undefined && { seed }),
  }
}

/** The value of a sampling option if the user chooses nothing. */
export function usualValue(key: Recommended, sampling: SamplerOptions): number {
  const isSilent = Object.keys(sampling).length === 0
  return isSilent ? PAGE_SAMPLING[key] : (sampling[key] ?? ENGINE_SAMPLING[key])
}

export function sameEngineSettings(a: EngineSettings, b: EngineSettings): boolean {
  return OF_ENGINE.every((key) => a[key] === b[key])
}
