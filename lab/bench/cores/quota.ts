// Creates cgroups, each of which limits its threads to a share of a core. Needs root on
// Linux, and the cpu controller of cgroup v1.
import { mkdirSync, readlinkSync, rmdirSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

const CPU = '/sys/fs/cgroup/cpu'
/**
 * The kernel's minimum quota. With the shortest periods, a slow core is slow all the time rather than
 * intermittently.
 */
const MIN_US = 1000

export interface SimulatedCore {
  readonly folder: string
  /** Limits the group's threads to `share` of a core from now on; above 0 and at most 1. */
  setShare(share: number): void
  /** Removes the group once its threads, which must be ending, have left. */
  remove(): Promise<void>
}

/** Throws if the system has no such groups or the process may not create them. */
export function simulateCore(index: number, share: number): SimulatedCore {
  const folder = join(CPU, `halfbyte-${process.pid}-${index}`)
  try {
    mkdirSync(folder)
  } catch (cause) {
    throw new Error(`quotas for threads need root and a writable ${CPU} (cgroup version 1)`, { cause })
  }
  const write = (name: string, value: number) => writeFileSync(join(folder, name), String(Math.round(value)))
  const core = {
    folder,
    setShare(to: number) {
      write('cpu.cfs_quota_us', -1)
      write('cpu.cfs_period_us', MIN_US / to)
      write('cpu.cfs_quota_us', MIN_US)
    },
    remove: () => removeGroup(folder),
  }
  // Priority above other programs, so that only the quota limits the thread.
  write('cpu.shares', 100_000)
  core.setShare(share)
  return core
}

async function removeGroup(folder: string): Promise<void> {
  for (let attempt = 0; attempt < 50; attempt++) {
    try {
      rmdirSync(folder)
      return
    } catch {
      await sleep(100)
    }
  }
  throw new Error(`${folder} still has threads; remove it when they have ended`)
}

/** Moves the calling thread into the group. */
export function joinCore(folder: string): void {
  writeFileSync(join(folder, 'tasks'), basename(readlinkSync('/proc/thread-self')))
}

/** Moves the calling thread back to a group without a quota. */
export function leaveCore(): void {
  joinCore(CPU)
}
