// Reads the current and peak memory of Chromium's renderers. Linux only.
import { readdir, readFile, writeFile } from 'node:fs/promises'

/** Bytes of memory, including mapped files. */
export interface Held {
  readonly now: number
  /** Peak since `forgetPeak`. */
  readonly peak: number
}

/** Renderer processes below `browser`. */
export async function renderers(browser: number): Promise<number[]> {
  const parents = new Map<number, number>()
  const found: number[] = []
  for (const entry of await readdir('/proc')) {
    if (!/^\d+$/.test(entry)) continue
    const [stat, command] = await Promise.all(
      ['stat', 'cmdline'].map((name) => readFile(`/proc/${entry}/${name}`, 'utf8').catch(() => '')),
    )
    // The name in brackets may contain any characters.
    parents.set(Number(entry), Number(stat?.slice(stat.lastIndexOf(')') + 2).split(' ')[1]))
    if (command?.includes('--type=renderer')) found.push(Number(entry))
  }
  const isBelow = (pid: number | undefined): boolean =>
    pid !== undefined && pid > 1 && (pid === browser || isBelow(parents.get(pid)))
  return found.filter(isBelow)
}

/** Ignores processes that have ended: browsers end the spare renderers that they kept in reserve. */
export async function forgetPeak(pid: number): Promise<void> {
  await writeFile(`/proc/${pid}/clear_refs`, '5').catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT' && error.code !== 'ESRCH') throw error
  })
}

/** Zeros for a process that has ended. */
export async function held(pid: number): Promise<Held> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '')
  const field = (name: string) =>
    1024 * Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1] ?? 0)
  return { now: field('VmRSS'), peak: field('VmHWM') }
}
