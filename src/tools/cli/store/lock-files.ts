// Locks between processes. Each holder or candidate has its own file:
//
//   <lock>.<pid>.<host>.<token>.<kind>    `kind` is `exclusive` or `shared`
//
// A process creates its file, then looks for others. If there are others that exclude it, it removes its own
// and waits, so two processes that start at once may both step back, but never both go on. Since no two files
// ever have the same name, removing a dead holder's file cannot remove a live one's.
//
// A holder touches its file regularly. It is dead if its process has ended, or if its file has not been
// touched while another process watched it for a while: clocks of machines that share a folder are never
// compared.
import { randomUUID } from 'node:crypto'
import { closeSync, openSync, readdirSync, rmSync, statSync, utimesSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import type { Device } from '../../../core/store/device/device.ts'
import { hasEnded } from '../processes.ts'
import { systemCode } from '../system-errors.ts'

const BEAT_MS = 2000
/** A holder that was not touched for this long while it was watched is dead. Several beats. */
const DEAD_MS = 15_000
const POLL_MS = 100

/** Enough of the name of a machine to tell a few machines with one folder apart. */
const hostKey = (): string =>
  [...hostname()].reduce((sum, char) => (sum * 31 + char.charCodeAt(0)) >>> 0, 7).toString(36)

/**
 * `Device.alone` for all processes that use the folder. If it cannot be written, this process is assumed to
 * be the only one.
 */
export function lockFiles(
  folder: string,
  { beatMs = BEAT_MS, deadMs = DEAD_MS }: { readonly beatMs?: number; readonly deadMs?: number } = {},
): Device['alone'] {
  return async (name, work, how = 'exclusive', signal) => {
    const kind = how === 'shared' ? how : 'exclusive'
    const own = `${name}.${process.pid}.${hostKey()}.${randomUUID().slice(0, 8)}.${kind}`
    const others = new Others(folder, name, own, deadMs)
    const isUsable = await mkdir(folder, { recursive: true, mode: 0o700 }).then(
      () => true,
      () => false,
    )
    while (isUsable) {
      signal?.throwIfAborted()
      if (!others.excluding(kind)) {
        if (!create(join(folder, own))) break
        if (!others.excluding(kind)) return holding(join(folder, own), beatMs, work)
        rmSync(join(folder, own), { force: true })
      }
      // The type of `Device.alone` leaves this case to its callers, as that of Web Locks does.
      if (how === 'unused') return undefined as never
      await pause(signal)
    }
    return work()
  }
}

async function holding<T>(path: string, beatMs: number, work: () => Promise<T>): Promise<T> {
  const beat = setInterval(() => {
    try {
      utimesSync(path, new Date(), new Date())
    } catch {
      // Another process took this one for dead, because it was suspended. Checksums protect what both write.
    }
  }, beatMs)
  beat.unref()
  try {
    return await work()
  } finally {
    clearInterval(beat)
    rmSync(path, { force: true })
  }
}

/** False if the folder cannot be written. */
function create(path: string): boolean {
  try {
    closeSync(openSync(path, 'wx'))
    return true
  } catch (error) {
    if (systemCode(error) === undefined) throw error
    return false
  }
}

/** The other files of a lock, as one process sees them. */
class Others {
  readonly #folder: string
  readonly #name: string
  readonly #own: string
  readonly #deadMs: number
  /** When each file was last touched, and when this process first saw that time. */
  readonly #seen = new Map<string, { readonly touched: number; readonly since: number }>()

  constructor(folder: string, name: string, own: string, deadMs: number) {
    this.#folder = folder
    this.#name = name
    this.#own = own
    this.#deadMs = deadMs
  }

  /** Whether a live holder excludes this kind. Removes the files of dead ones. */
  excluding(kind: string): boolean {
    const files = filesIn(this.#folder).filter(
      (file) => file.startsWith(`${this.#name}.`) && file !== this.#own,
    )
    return files.some((file) => {
      if (kind === 'shared' && file.endsWith('.shared')) return false
      if (!this.#isDead(file)) return true
      rmSync(join(this.#folder, file), { force: true })
      return false
    })
  }

  #isDead(file: string): boolean {
    const [pid = '', host = ''] = file.slice(this.#name.length + 1).split('.')
    if (host === hostKey() && hasEnded(Number(pid))) return true
    const now = performance.now()
    const touched = touchedAt(join(this.#folder, file))
    const before = this.#seen.get(file)
    if (before?.touched !== touched) this.#seen.set(file, { touched, since: now })
    return before !== undefined && before.touched === touched && now - before.since > this.#deadMs
  }
}

/** Names of the files; empty if the folder was removed meanwhile. */
function filesIn(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return []
    throw error
  }
}

/** 0 for a file that was removed meanwhile. */
const touchedAt = (path: string): number => statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0

/** Adds jitter, so that two processes that have backed off do not collide again. */
function pause(signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    const timer = setTimeout(
      () => {
        signal?.removeEventListener('abort', stop)
        resolve()
      },
      POLL_MS * (0.5 + Math.random()),
    )
    signal?.addEventListener('abort', stop, { once: true })
  })
}
