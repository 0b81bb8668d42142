// Measures this process's memory after a garbage collection, and counts its threads, ports and files.
import { readdir } from 'node:fs/promises'
import { queryObjects, setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

export interface Census {
  /** Bytes of reachable JavaScript objects. */
  readonly heapBytes: number
  /** Memory that JavaScript holds outside its heap: buffers and linear memories. */
  readonly externalBytes: number
  /** Resident memory of the process. */
  readonly residentBytes: number
  /** The number of resources of each kind that keep a process alive. */
  readonly resources: Readonly<Record<string, number>>
  /** Number of open files; 0 if the system does not report it. */
  readonly files: number
}

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as (how: { type: 'major'; flavor: 'last-resort' }) => void

/** Resources that come and go with the soak's own work. */
const PASSING = new Set(['Immediate', 'Timeout', 'FSReqPromise', 'FSReqCallback', 'TTYWrap', 'PipeWrap'])

export async function takeCensus(): Promise<Census> {
  // Finalizers run in a task after a collection and release more.
  for (let round = 0; round < 2; round++) {
    // The last-resort collection also returns free pages to the system.
    collect({ type: 'major', flavor: 'last-resort' })
    await new Promise((resolve) => setImmediate(resolve))
  }
  const { heapUsed, external, rss } = process.memoryUsage()
  return {
    heapBytes: heapUsed,
    externalBytes: external,
    residentBytes: rss,
    resources: resourcesHeld(),
    files: await filesHeld(),
  }
}

export function resourcesHeld(): Record<string, number> {
  const held: Record<string, number> = {}
  for (const name of process.getActiveResourcesInfo())
    if (!PASSING.has(name)) held[name] = (held[name] ?? 0) + 1
  return held
}

/** Objects of a class that are reachable after a garbage collection. */
export const reachable = (kind: object): number =>
  queryObjects(kind as never, { format: 'count' }) as unknown as number

async function filesHeld(): Promise<number> {
  try {
    // The folder that is being read is open too.
    return (await readdir('/proc/self/fd')).length - 1
  } catch {
    return 0
  }
}

/** Checks again while threads and ports end, until `isBack` returns true or `patienceMs` have passed. */
export async function settled(isBack: () => boolean, patienceMs = 10_000): Promise<boolean> {
  const end = performance.now() + patienceMs
  while (!isBack()) {
    if (performance.now() > end) return false
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
  return true
}
