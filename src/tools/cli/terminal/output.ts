// Writes bytes to a file that appears only when it is complete, or to stdout.

import { createWriteStream } from 'node:fs'
import { realpath, rename, rm, stat } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { LoadProgress } from '../../../engine/api/types.ts'
import { isSet } from '../processes.ts'
import { isPlain, outputError, systemError } from './failure.ts'
import { JobProgress, type TimeLeft } from './job-progress.ts'
import { StatusLine } from './status-line.ts'

const status = new StatusLine({
  now: () => performance.now(),
  columns: () => (process.stderr.isTTY && !isPlain() ? process.stderr.columns || 80 : undefined),
  write: (text) => void process.stderr.write(text),
  every: (ms, tick) => {
    const timer = setInterval(tick, ms).unref()
    return () => clearInterval(timer)
  },
})

/** Whether the user wants no progress lines. */
const isQuiet = (): boolean => isSet('HALFBYTE_QUIET')

/** Says what the command is doing; see `StatusLine`. */
export function overwrite(text: string, left?: TimeLeft): void {
  if (!isQuiet()) status.show(text, left)
}

export function clearProgress(): void {
  download = undefined
  status.clear()
}

/** Shows the current work, of which `share` is done, and the estimated time left. */
export function shareProgress(): (text: string, share: number) => void {
  const job = new JobProgress({ work: 1 })
  return (text, share) => overwrite(text, job.at('work', share))
}

/** The download that is running. */
let download: ReturnType<typeof shareProgress> | undefined

export function showProgress(event: LoadProgress): void {
  if (event.phase !== 'download' || event.total <= 0) {
    overwrite(describe(event))
    return
  }
  download ??= shareProgress()
  download(describe(event), event.loaded / event.total)
}

function describe(event: LoadProgress): string {
  switch (event.phase) {
    case 'download':
      return event.total > 0
        ? `reading ${megabytes(event.loaded)} of ${megabytes(event.total)} MB`
        : `reading ${megabytes(event.loaded)} MB`
    case 'convert':
      return `preparing weights, ${event.done} of ${event.total}`
    case 'compile':
      return 'compiling kernels'
    case 'warmup':
      return 'warming up'
    default:
      return event satisfies never
  }
}

const megabytes = (bytes: number): string => (bytes / 1e6).toFixed(1)

/** Progress texts for `done` of `total` bytes. */
export const hashingText = (done: number, total: number): string =>
  `hashing weights, ${megabytes(done)} of ${megabytes(total)} MB`

export const writingText = (done: number, total: number): string =>
  `writing, ${Math.floor((100 * done) / total)} %`

/** The suffix of an incomplete file's name. */
export const PART = '.part'

type Chunks = Iterable<Uint8Array> | AsyncIterable<Uint8Array>

/**
 * Writes to `path`, or to stdout if there is none. A file appears under its name once it is complete. Throws
 * `storage-full` if the disk is full, `unsupported` if the path cannot be written, or the signal's reason.
 */
export async function writeOutput(
  path: string | undefined,
  chunks: Chunks,
  signal?: AbortSignal,
): Promise<void> {
  const source = Readable.from(chunks)
  if (path === undefined) {
    return pipeline(source, process.stdout, { end: false, signal }).catch((error) => {
      throw outputError(error)
    })
  }
  try {
    await writeFile(await realpath(path).catch(() => path), source, signal)
  } catch (error) {
    signal?.throwIfAborted()
    throw systemError(error, 'unsupported', `${path} cannot be written`, 'choose another place')
  }
}

async function writeFile(path: string, source: Readable, signal: AbortSignal | undefined): Promise<void> {
  // Devices and pipes are written directly, because a file cannot be renamed to them.
  const isSpecial = await stat(path).then(
    (found) => !found.isFile(),
    () => false,
  )
  if (isSpecial) return pipeline(source, createWriteStream(path), { signal })
  const partial = path + PART
  try {
    await pipeline(source, createWriteStream(partial, { flush: true }), { signal })
    await rename(partial, path)
  } catch (error) {
    await rm(partial, { force: true }).catch(() => undefined)
    throw error
  }
}
