// A folder on disk as the device of a model store: the same files, checks and rules as in a page.
import { constants, promises } from 'node:fs'
import { join } from 'node:path'
import type { Device } from '../../../core/store/device/device.ts'
import { systemCode } from '../system-errors.ts'
import { DiskFolder } from './disk-folder.ts'
import { lockFiles } from './lock-files.ts'

/** Only the owner may look: addresses may contain secrets, and weights may be private. */
const MODE = 0o700

const ROOM = {
  name: 'the disk',
  storage: 'the folder of stored models',
  instead: 'remove stored models (halfbyte prune-store) or load without storing (--no-store, store: false)',
}

/**
 * Stores in `folder`. If it cannot be made or written, `onDenied` gets the reason once, models that are there
 * are read, and nothing more is stored. `onDenied` may throw instead.
 */
export function diskDevice(folder: string, onDenied: (reason: string) => void = () => undefined): Device {
  let isTold = false
  const denied = (error: unknown) => {
    if (isTold) return
    onDenied(`models are not stored: ${folder} cannot be written (${systemCode(error) ?? error})`)
    isTold = true
  }
  return {
    async openFolder(name) {
      // Pages put the library's name before folder names, because other scripts share their storage.
      const path = join(folder, name.replace(/^halfbyte-/, ''))
      const made = await promises.mkdir(path, { recursive: true, mode: MODE }).catch((error) => ({ error }))
      if (typeof made === 'object') {
        denied(made.error)
        return undefined
      }
      await promises.access(path, constants.W_OK).catch(denied)
      return new DiskFolder(path, join(folder, 'drafts'))
    },
    alone: lockFiles(join(folder, 'locks')),
    room: {
      ...ROOM,
      async freeBytes() {
        // Older versions of Bun and Deno lack statfs.
        const found = await promises.statfs?.(folder).catch(() => undefined)
        return found === undefined ? Number.POSITIVE_INFINITY : found.bavail * found.bsize
      },
    },
  }
}
