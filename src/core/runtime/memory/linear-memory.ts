// Creates a WebAssembly.Memory that can grow as far as a model needs, or as far as the browser grants.
import { HalfbyteError } from '../../base/errors.ts'
import type { MemoryKind } from '../features.ts'

export const PAGE_BYTES = 65536
/** The 32-bit address range. */
export const MAX_BYTES = 65536 * PAGE_BYTES
/** Enough for any engine module's own data and first stack. */
const INITIAL_BYTES = 2 * 1024 * 1024
/** How many maximum sizes to try between the wanted and the needed bytes. */
const PROBES = 6

/**
 * Creates an engine's memory. A plain memory may grow to 4 GiB. Some devices reserve a shared memory's
 * maximum at once, so the first maximum tried is `wantBytes`, then less and less, down to `needBytes`.
 * Throws `out-of-memory` if even `needBytes` is denied, or is beyond 32-bit addresses.
 */
export function createMemory(kind: MemoryKind, needBytes: number, wantBytes = needBytes): WebAssembly.Memory {
  if (needBytes > MAX_BYTES) throw refused(needBytes, MAX_BYTES)
  const initial = pages(INITIAL_BYTES)
  if (kind === 'plain') return attempt({ initial }) ?? fail(needBytes)
  const need = Math.max(initial, pages(needBytes))
  const want = Math.max(need, Math.min(pages(wantBytes), pages(MAX_BYTES)))
  for (let probe = 0; probe <= PROBES; probe++) {
    const maximum = need + Math.floor(((want - need) * (PROBES - probe)) / PROBES)
    const memory = attempt({ initial, maximum, shared: true })
    if (memory !== undefined) return memory
  }
  return fail(needBytes)
}

/** Resolution of `grantedBytes`, in pages: 16 MiB. */
const GRANT_STEP = 256
/** Number of initial guesses, each half the previous one. */
const GRANT_HALVINGS = 6

/**
 * The largest memory of this kind that the system grants, in bytes. Requests 4 GiB, then less and less, and
 * keeps none of it. `deviceBytes`: the memory of the whole device, if known, because some systems grant more
 * than they have.
 */
export function grantedBytes(kind: MemoryKind, deviceBytes = MAX_BYTES): number {
  const most = Math.min(pages(MAX_BYTES), Math.floor(deviceBytes / PAGE_BYTES))
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

/** The `out-of-memory` error, with both numbers. */
export function refused(neededBytes: number, grantedBytes: number, purpose = 'the model'): HalfbyteError {
  return new HalfbyteError(
    'out-of-memory',
    `${purpose} needs ${megabytes(neededBytes)} MB of memory but only ${megabytes(grantedBytes)} MB could be allocated; ` +
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
