// Work locks. In: a folder. Out: the right to be the only process that works in it, for as long as this one
// runs.
//
// A lock is a file `lock-<n>` that names its process. The highest number counts. A process takes the next
// number when the holder of the highest has ended, looks again, and steps back if a higher one has appeared.
// No lock of another process is ever removed, so of two that take over at the same time one wins.
import { rmSync } from 'node:fs'
import { readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { HalfbyteError } from '../../base/errors.ts'
import { parseJson } from '../../base/json.ts'
import { systemCode, systemError } from '../terminal/failure.ts'

const LOCK = /^lock-(\d{1,9})$/

interface Holder {
  readonly pid: number
  /** Tells the process from a later one of the same number; undefined where the system does not say. */
  readonly began?: string | undefined
  readonly machine: string
}

/** Whether a file of a work folder is a lock. */
export const isLock = (name: string): boolean => LOCK.test(name)

export interface Lock {
  /** The end of the process does this too. */
  release(): void
  /** For a folder that is gone: another process may have one of the same name by then. */
  forget(): void
}

/** Throws `unsupported` when another process that runs holds the lock. */
export async function lockFolder(folder: string): Promise<Lock> {
  const own: Holder = { pid: process.pid, began: await beginning(process.pid), machine: hostname() }
  for (;;) {
    const last = await lastLock(folder)
    if (last > 0) await refuseIfHeld(folder, last)
    const path = join(folder, `lock-${last + 1}`)
    try {
      await writeFile(path, JSON.stringify(own), { flag: 'wx' })
    } catch (error) {
      if (systemCode(error) === 'EEXIST') continue
      throw systemError(error, 'unsupported', `${folder} cannot be written`, 'choose another place')
    }
    if ((await lastLock(folder)) > last + 1) {
      await rm(path, { force: true })
      continue
    }
    const release = () => {
      process.off('exit', release)
      rmSync(path, { force: true })
    }
    process.once('exit', release)
    return { release, forget: () => process.off('exit', release) }
  }
}

/** 0 if there is none. */
async function lastLock(folder: string): Promise<number> {
  const names = await readdir(folder)
  return Math.max(0, ...names.map((name) => Number(LOCK.exec(name)?.[1] ?? 0)))
}

/** A lock that is not complete is that of a process that was killed, or that will find ours above its own. */
async function refuseIfHeld(folder: string, number: number): Promise<void> {
  const path = join(folder, `lock-${number}`)
  const holder = await readFile(path, 'utf8').then(holderOf, () => undefined)
  if (holder === undefined) return
  const { pid, machine } = holder
  const isHere = machine === hostname()
  if (isHere && !(await isRunning(holder))) return
  throw new HalfbyteError(
    'unsupported',
    isHere
      ? `process ${pid} works in the folder ${folder}; wait until it has ended, or end it, and give --resume`
      : `process ${pid} on ${machine} works in the folder ${folder}; wait until it has ended, or remove ${path} if it has`,
    { path: folder, pid, machine },
  )
}

function holderOf(text: string): Holder | undefined {
  try {
    const { pid, began, machine } = parseJson(text) as Record<string, unknown>
    if (!Number.isSafeInteger(pid) || (pid as number) < 1 || typeof machine !== 'string') return undefined
    return { pid: pid as number, machine, began: typeof began === 'string' ? began : undefined }
  } catch {
    return undefined
  }
}

async function isRunning({ pid, began }: Holder): Promise<boolean> {
  try {
    process.kill(pid, 0)
  } catch (error) {
    // EPERM: it runs and belongs to another user.
    if (systemCode(error) !== 'EPERM') return false
  }
  const now = await beginning(pid)
  return began === undefined || now === undefined ? pid !== process.pid : began === now
}

/** When a process began, in ticks since the machine did: field 22 of /proc/<pid>/stat, which Linux has. */
async function beginning(pid: number): Promise<string | undefined> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')
  // The second field is a name in brackets, which may hold anything.
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19]
}
