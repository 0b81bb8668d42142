// Notes. In: keys and small values. Out: the values on the next visit with the same machine and browser, for
// a week; nothing where storage is refused.
import { fileKey, openFolder, readFields } from '../folder.ts'
import { openSyncFile, writeJson } from './sync-file.ts'

/** Small values that were found here, for the next load. */
export interface Notes {
  /** Undefined when nothing is known; else what was written, or what somebody has put in its place. */
  read(key: string): Promise<unknown>
  /** Replaces what was known. Resolves also where nothing can be kept. */
  write(key: string, value: unknown): Promise<void>
}

const FOLDER = 'halfbyte-notes'
/** What was measured while a machine was slow for a while is not believed for ever. */
const MOST_AGE_MS = 7 * 24 * 3600 * 1000

/** `machine`: what else a value depends on; a note of another one is none. Writing works in workers only. */
export function deviceNotes(machine: string): Notes {
  return {
    async read(key) {
      const folder = await openFolder(FOLDER)
      const note = folder && (await readFields(folder, await fileKey(key)))
      const age = Date.now() - Number(note?.['made'])
      return note?.['machine'] === machine && age >= 0 && age < MOST_AGE_MS ? note['value'] : undefined
    },
    async write(key, value) {
      try {
        const folder = await openFolder(FOLDER)
        const file = folder && (await openSyncFile(folder, await fileKey(key)))
        if (file === undefined) return
        try {
          writeJson(file, { machine, made: Date.now(), value })
        } finally {
          file.close()
        }
      } catch {
        // A full disk: the next load measures again.
      }
    },
  }
}
