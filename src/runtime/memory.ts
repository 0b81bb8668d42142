// Memory. In: how many bytes are needed and how many would be good. Out: one WebAssembly.Memory that may grow so far.
import { HalfbyteError } from '../base/errors.ts'
import type { MemoryKind } from './features.ts'

export const PAGE_BYTES = 65536
/** What 32-bit addresses reach. */
export const MOST_BYTES = 65536 * PAGE_BYTES
/** Holds any engine module's own data and first stack. */
const INITIAL_BYTES = 2 * 1024 * 1024
/** Maxima tried between what would be good and what is needed. */
const PROBES = 6

/**
 * Makes an engine's memory. A plain one may grow to 4 GiB. A shared one is reserved by its maximum on some devices, so it
 * starts at `wantBytes` and probes downward to `needBytes`.
 * Throws `out-of-memory` when even `needBytes` is refused or more than 32-bit addresses reach.
 */
export function createMemory(kind: MemoryKind, needBytes: number, wantBytes = needBytes): WebAssembly.Memory {
  if (needBytes > MOST_BYTES) throw refused(needBytes, MOST_BYTES)
  const initial = pages(INITIAL_BYTES)
  if (kind === 'plain') return attempt({ initial }) ?? fail(needBytes)
  const need = Math.max(initial, pages(needBytes))
  const want = Math.max(need, Math.min(pages(wantBytes), pages(MOST_BYTES)))
  for (let probe = 0; probe <= PROBES; probe++) {
    const maximum = need + Math.floor(((want - need) * (PROBES - probe)) / PROBES)
    const memory = attempt({ initial, maximum, shared: true })
    if (memory !== undefined) return memory
  }
  return fail(needBytes)
}

/** How finely `grantedBytes` looks: 16 MiB. */
const GRANT_STEP = 256
/** First guesses, each half of the one before. */
const GRANT_HALVINGS = 6

/**
 * The most bytes that a memory of this kind is granted here, found by asking for 4 GiB, then for less and less; nothing is
 * kept. `deviceBytes`: what the whole device has, where that is known: more is granted by some systems, and never there.
 */
export function grantedBytes(kind: MemoryKind, deviceBytes = MOST_BYTES): number {
  const most = Math.min(pages(MOST_BYTES), Math.floor(deviceBytes / PAGE_BYTES))
  const isGranted = (count: number): boolean =>
    attempt(
      kind === 'plain' ? { initial: count } : { initial: 1, maximum: Math.max(1, count), shared: true },
    ) !== undefined
  if (isGranted(most)) return most * PAGE_BYTES
  let refused = most
  let granted = Math.floor(most / 2)
  for (let halving = 0; !isGranted(granted); halving++) {
    if (halving === GRANT_HALVINGS) return 0
    refused = granted
    granted = Math.floor(granted / 2)
  }
  while (refused - granted > GRANT_STEP) {
    const middle = Math.floor((refused + granted) / 2)
    if (isGranted(middle)) granted = middle
    else refused = middle
  }
  return granted * PAGE_BYTES
}

/** `out-of-memory` with both numbers. */
export function refused(neededBytes: number, grantedBytes: number, purpose = 'the model'): HalfbyteError {
  return new HalfbyteError(
    'out-of-memory',
    `${purpose} needs ${megabytes(neededBytes)} MB of memory but only ${megabytes(grantedBytes)} MB were granted; ` +
      'close other tabs, shorten the context or choose a smaller model',
    { neededBytes, grantedBytes },
  )
}

const pages = (bytes: number): number => Math.ceil(bytes / PAGE_BYTES)
const megabytes = (bytes: number): string => (bytes / 1e6).toFixed(1)

function attempt(descriptor: WebAssembly.MemoryDescriptor): WebAssembly.Memory | undefined {
  try {
    return new WebAssembly.Memory(descriptor)
  } catch (error) {
    if (error instanceof RangeError) return undefined
    throw error
  }
}

function fail(neededBytes: number): never {
  throw refused(neededBytes, 0)
}
