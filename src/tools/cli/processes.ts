// What this process knows about others and about its own environment.
import { readFile } from 'node:fs/promises'
import { systemCode } from './system-errors.ts'

/** Whether no process has this number. Of one that it may not signal, this process assumes that it runs. */
export function hasEnded(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return false
  } catch (error) {
    // Another user's process cannot be signalled, nor can any in Deno without its permission.
    return systemCode(error) === 'ESRCH'
  }
}

/** When a process started, in ticks since boot: field 22 of /proc/<pid>/stat, which Linux has. */
export async function processStart(pid: number): Promise<string | undefined> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')
  // The second field is a name in brackets, which may contain anything.
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19]
}

/** Whether an environment variable is set to anything but the empty string. */
export const isSet = (name: string, env: NodeJS.ProcessEnv = process.env): boolean => (env[name] ?? '') !== ''
