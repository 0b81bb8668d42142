// A device: where stores keep their folders, and the locks between those that share them. This one is the
// browser's.
import { alone, openFolder } from './notes.ts'
import { BROWSER_ROOM, type Folder, type Room } from './sync-file.ts'

export interface Device {
  /** Undefined if the device denies storage. */
  openFolder(name: string): Promise<Folder | undefined>
  /**
   * `shared` work waits only for other kinds; `unused` work is done only if nobody else holds the lock, and
   * otherwise returns undefined. Rejects with the signal's reason if it aborts during the wait.
   */
  alone<T>(
    name: string,
    work: () => Promise<T>,
    how?: 'exclusive' | 'shared' | 'unused',
    signal?: AbortSignal,
  ): Promise<T>
  readonly room: Room
}

/** The origin's private file system, with Web Locks between its tabs. */
export const BROWSER: Device = { openFolder, alone, room: BROWSER_ROOM }
