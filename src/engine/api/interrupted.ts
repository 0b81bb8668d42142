// Killed loads of earlier visits, and the memory limit that they imply.
import { dateNow } from '../../core/base/time/clocks.ts'
import { isCount } from '../../core/base/values.ts'
import type { KvFormat } from '../../core/graph/ir.ts'
import { fileName } from '../../core/store/address.ts'
import { beginMark, deadMarks, eraseMark } from '../../core/store/device/load-marks.ts'
import type { WeightPolicy } from '../../core/weights/policy.ts'
import type { LoadHooks } from '../wire/client.ts'
import { resolveSource } from './request/load-request.ts'
import type { LoadOptions, ModelSource } from './types.ts'

/** A load whose page or tab ended before it finished, most often because the device ran out of memory. */
export interface InterruptedLoad {
  /** The file's name, for display. */
  readonly name: string
  /** The model's address. Absent for files, and for an address that may contain a secret. */
  readonly source?: string | undefined
  /** The load's context length in tokens; absent if the load did not set it. */
  readonly contextLength?: number | undefined
  /** Absent if the load did not set this option. */
  readonly kvCache?: Partial<KvFormat> | undefined
  /** Absent if the load did not set this option. */
  readonly weights?: WeightPolicy | undefined
  /** Bytes of memory needed with a full context. Absent if the load ended before this was known. */
  readonly neededBytes?: number | undefined
  /** When the load started, in milliseconds since 1970. */
  readonly startedAt: number
}

/** A killed load needed too much memory. The limit is this fraction of what it needed. */
const TOO_MUCH = 0.9

/**
 * Loads of earlier visits that were killed, newest last. A page cannot catch an out-of-memory kill, so call
 * this when the page opens, before it loads the same model again: `Engine.probe` then suggests something
 * smaller. A load leaves the list when the same model loads successfully, or after `forgetInterruptedLoads`.
 * Empty if the page has no `localStorage`.
 */
export async function interruptedLoads(): Promise<InterruptedLoad[]> {
  const marks = await deadMarks(isInterruptedLoad)
  return marks.map(({ note }) => note).sort((left, right) => left.startedAt - right.startedAt)
}

/** Clears the list, or only the entries of one model. */
export async function forgetInterruptedLoads(source?: ModelSource): Promise<void> {
  const about = source === undefined ? undefined : describe(source, {})
  for (const { key, note } of await deadMarks(isInterruptedLoad)) {
    if (about === undefined || isSame(about, note)) eraseMark(key)
  }
}

/**
 * Runs `load` with a mark that outlives the page. The load calls `onNeed` with the bytes of memory that it
 * needs.
 */
export async function noted<T>(
  source: ModelSource,
  options: LoadOptions,
  load: (hooks: Pick<LoadHooks, 'onNeed'>) => Promise<T>,
): Promise<T> {
  const about = describe(source, options)
  const mark = await beginMark<InterruptedLoad>(about)
  let loaded: T
  try {
    loaded = await load({ onNeed: (neededBytes) => mark.update({ ...about, neededBytes }) })
  } finally {
    mark.end()
  }
  await forgetInterruptedLoads(source)
  return loaded
}

/** Maximum memory in bytes that this device is assumed to grant; undefined if no load was killed. */
export async function deadlyBytes(): Promise<number | undefined> {
  const needs = (await interruptedLoads()).flatMap(({ neededBytes }) => neededBytes ?? [])
  return needs.length === 0 ? undefined : Math.floor(Math.min(...needs) * TOO_MUCH)
}

function describe(
  source: ModelSource,
  { contextLength, kvCache, weights, hub }: LoadOptions,
): InterruptedLoad {
  const place = resolveSource(source, globalThis.location?.href, hub)
  const options = { contextLength, kvCache, weights, startedAt: dateNow() }
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

/** An address with a query, a user or a password may contain a secret. */
function isOpen(address: string): boolean {
  try {
    const { search, username, password } = new URL(address, globalThis.location?.href)
    return search + username + password === ''
  } catch {
    return false
  }
}
