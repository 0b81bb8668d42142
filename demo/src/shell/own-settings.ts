// Settings in layers. In: the page's settings, a model's, and a conversation's. Out: the settings for an
// answer, and the layer of a change.
import {
  checkNumber,
  DEFAULT_SETTINGS,
  LENGTH_FIELD,
  RECOMMENDED,
  type Recommended,
  SAMPLER_FIELDS,
  type Settings,
  TOOLS_FIELD,
} from './settings.ts'
import { readItem, writeItem } from './storage.ts'

const OWN = ['system', 'tools', 'maxTokens', 'seed', ...RECOMMENDED] as const

/**
 * The settings that a conversation or a preset can override. A key that is `undefined` leaves the value to
 * the model.
 */
export type OwnSettings = Partial<Pick<Settings, (typeof OWN)[number]>>
type Sampling = Partial<Pick<Settings, Recommended>>

/** Sampling options by model key. */
const KEY = 'halfbyte-model-settings'
/** Maximum number of models whose options are stored. */
const MAX_MODELS = 32

/** Reads a stored record without its invalid values. Returns undefined if nothing remains. */
export function parseOwn(record: unknown): OwnSettings | undefined {
  const stored: Readonly<Record<string, unknown>> = Object(record)
  const { system, tools } = stored
  const own: Record<string, unknown> = {
    ...(typeof system === 'string' && { system }),
    ...(typeof tools === 'string' && Object.hasOwn(TOOLS_FIELD.choices, tools) && { tools }),
  }
  for (const field of [LENGTH_FIELD, ...SAMPLER_FIELDS]) {
    if (!Object.hasOwn(stored, field.key)) continue
    const value = stored[field.key]
    const number = checkNumber(field, value)
    const isLeft = value === undefined && field.empty !== undefined
    if (number !== undefined || isLeft) own[field.key] = number
  }
  return Object.keys(own).length > 0 ? own : undefined
}

/** The part of the settings that belongs to a conversation. */
export const ownPart = (settings: Settings): OwnSettings => pick(settings, OWN)

/** The sampling options stored for a model. */
export const modelSettings = (model: string): Sampling => pick(parseOwn(stored()[model]) ?? {}, RECOMMENDED)

/** Stores sampling options for a model, replacing earlier ones. */
export function keepForModel(model: string, sampling: Sampling): void {
  const { [model]: _, ...others } = stored()
  const chosen = Object.entries(sampling).filter(([, value]) => value !== undefined)
  const kept = Object.entries(others).slice(1 - MAX_MODELS)
  if (chosen.length > 0) kept.push([model, Object.fromEntries(chosen)])
  writeItem(KEY, kept.length > 0 ? JSON.stringify(Object.fromEntries(kept)) : undefined)
}

/** A user's changes, by layer. */
export interface Change {
  readonly page: Settings
  readonly model: Sampling
  readonly own: OwnSettings | undefined
}

/**
 * Sorts a change from the settings `hold` to `next` into layers. Settings of the engine and the page are
 * page-wide. The rest belong to the conversation if it `hasOwn` settings, and otherwise become defaults for
 * new ones: sampling options per model.
 */
export function sorted(before: Change, hold: Settings, next: Settings, hasOwn: boolean): Change {
  if (next === DEFAULT_SETTINGS) return { page: next, model: {}, own: hasOwn ? ownPart(next) : undefined }
  const changed = (Object.keys(next) as (keyof Settings)[]).filter((key) => next[key] !== hold[key])
  const own = hasOwn ? OWN.filter((key) => changed.includes(key)) : []
  const shared = changed.filter((key) => !own.some((other) => other === key))
  const sampling = RECOMMENDED.filter((key) => shared.includes(key))
  // A page-wide value from an earlier release would take effect again.
  const cleared = Object.fromEntries(sampling.map((key) => [key, undefined]))
  return {
    page: { ...before.page, ...pick(next, shared), ...cleared },
    model: { ...before.model, ...pick(next, sampling) },
    own: own.length > 0 ? { ...before.own, ...pick(next, own) } : before.own,
  }
}

function stored(): Readonly<Record<string, unknown>> {
  try {
    return Object(JSON.parse(readItem(KEY) ?? '{}'))
  } catch {
    return {}
  }
}

/** The entries of the record with these `keys`. */
function pick<T extends object, K extends keyof T>(record: T, keys: readonly K[]): Pick<T, K> {
  const found = keys.filter((key) => Object.hasOwn(record, key))
  return Object.fromEntries(found.map((key) => [key, record[key]])) as Pick<T, K>
}
