// Interrupted loads. In: loads of this page. Out: those of earlier visits that were killed, and what they say about the device.
import { isCount } from '../base/values.ts'
import type { LoadHooks } from '../engine/wire/client.ts'
import type { WeightPolicy } from '../engine/wire/protocol.ts'
import type { KvFormat } from '../graph/ir.ts'
import { fileName } from '../store/address.ts'
import { beginMark, deadMarks, eraseMark } from '../store/device/load-marks.ts'
import { resolveSource } from './source.ts'
import type { LoadOptions, ModelSource } from './types.ts'

/** A load whose page or tab ended in the middle of it, most often because the device had not enough memory. */
export interface InterruptedLoad {
  /** A file's name, for people. */
  readonly name: string
  /** The model's address; absent for files, and for an address that may hold a secret. */
  readonly source?: string | undefined
  readonly contextLength?: number | undefined
  readonly kvCache?: Partial<KvFormat> | undefined
  readonly weights?: WeightPolicy | undefined
  /** Memory that it was to take with a full context; absent when it had not come so far as to know. */
  readonly neededBytes?: number | undefined
  /** Milliseconds since 1970. */
  readonly startedAt: number
}

/** What killed a page once is this much too large. */
const TOO_MUCH = 0.9

/**
 * Loads of earlier visits that were killed, the newest last. An out-of-memory kill cannot be caught, so ask when the page
 * opens, before loading the same again: `Engine.probe` then proposes something smaller. A load is no longer among them when
 * the same model was loaded well, or after `forgetInterruptedLoads`. Empty where the page has no `localStorage`.
 */
export async function interruptedLoads(): Promise<InterruptedLoad[]> {
  const marks = await deadMarks(isInterruptedLoad)
  return marks.map(({ note }) => note).sort((left, right) => left.startedAt - right.startedAt)
}

/** Forgets them: all, or those of one model. */
export async function forgetInterruptedLoads(source?: ModelSource): Promise<void> {
  const about = source === undefined ? undefined : describe(source, {})
  for (const { key, note } of await deadMarks(isInterruptedLoad)) {
    if (about === undefined || isSame(about, note)) eraseMark(key)
  }
}

/** Runs `load` with a note that outlives the page. `onNeed` is to hear how much memory it will take. */
export async function noted<T>(
  source: ModelSource,
  options: LoadOptions,
  load: (hooks: Pick<LoadHooks, 'onNeed'>) => Promise<T>,
): Promise<T> {
  const about = describe(source, options)
  const mark = await beginMark<InterruptedLoad>(about)
  try {
    const loaded = await load({ onNeed: (neededBytes) => mark.update({ ...about, neededBytes }) })
    await forgetInterruptedLoads(source)
    return loaded
  } finally {
    mark.end()
  }
}

/** Bytes that are known to be too many for this device; undefined when none are. */
export async function deadlyBytes(): Promise<number | undefined> {
  const needs = (await interruptedLoads()).flatMap(({ neededBytes }) => neededBytes ?? [])
  return needs.length === 0 ? undefined : Math.floor(Math.min(...needs) * TOO_MUCH)
}

function describe(
  source: ModelSource,
  { contextLength, kvCache, weights, hub }: LoadOptions,
): InterruptedLoad {
  const place = resolveSource(source, globalThis.location?.href, hub)
  const options = { contextLength, kvCache, weights, startedAt: Date.now() }
  if (typeof place !== 'string') return { name: place.map(({ name }) => name).join(', '), ...options }
  const name = fileName(place.replace(/(\/resolve\/[^/]+)?\/$/, ''))
  return { name, ...(isOpen(place) && { source: place }), ...options }
}

const isInterruptedLoad = (value: unknown): value is InterruptedLoad => {
  const { name, startedAt, neededBytes = 0 }: Partial<InterruptedLoad> = Object(value)
  return typeof name === 'string' && isCount(startedAt) && isCount(neededBytes)
}

const isSame = (left: InterruptedLoad, right: InterruptedLoad): boolean =>
  left.source === right.source && left.name === right.name

/** An address with a query, a user or a password may hold a secret. */
function isOpen(address: string): boolean {
  try {
    const { search, username, password } = new URL(address, globalThis.location?.href)
    return search + username + password === ''
  } catch {
    return false
  }
}
