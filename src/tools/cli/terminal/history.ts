// The lines typed in `halfbyte chat`, kept in a file across runs.
import { appendFileSync, chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { stateFolder } from '../platform-folders.ts'
import { systemCode } from '../system-errors.ts'
import { note } from './notes.ts'

/** Number of lines that a run starts with. */
const MOST_LINES = 1000

/** Only its owner may read it: people paste secrets. */
const MODE = 0o600

export interface History {
  /** Newest first, as readline wants them. */
  readonly lines: readonly string[]
  /** Lines that begin with a space are not kept. */
  add(line: string): void
}

export const NO_HISTORY: History = { lines: [], add: () => undefined }

/** A file that cannot be read or written gets one note, and the chat goes on without it. */
export function openHistory(path = join(stateFolder(), 'chat-history')): History {
  let isUsable = true
  const attempt = <T>(work: () => T): T | undefined => {
    try {
      return isUsable ? work() : undefined
    } catch (error) {
      if (systemCode(error) === undefined) throw error
      isUsable = false
      note(`the history is not saved: ${path} cannot be used (${systemCode(error)})`)
      return undefined
    }
  }
  const lines = attempt(() => readLines(path)) ?? []
  return {
    lines: lines.toReversed(),
    add(line) {
      if (line.trim() !== '' && !line.startsWith(' '))
        attempt(() => appendFileSync(path, `${line}\n`, { mode: MODE }))
    },
  }
}

/** Oldest first. Shortens the file if it has more lines than are read. */
function readLines(path: string): string[] {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  let text = ''
  try {
    text = readFileSync(path, 'utf8')
    chmodSync(path, MODE)
  } catch (error) {
    if (systemCode(error) !== 'ENOENT') throw error
  }
  const all = text.split('\n').filter((line) => line !== '')
  const last = all.slice(-MOST_LINES)
  if (last.length < all.length) writeFileSync(path, `${last.join('\n')}\n`, { mode: MODE })
  return last
}
