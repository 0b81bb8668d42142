// Reads the energy that the processor's packages have used, from the counters that Linux offers (RAPL).
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'

const COUNTERS = '/sys/class/powercap'

/** Domains inside a package, such as `intel-rapl:0:1`, are part of its counter. */
const PACKAGE = /^intel-rapl:\d+$/

interface Counter {
  readonly path: string
  /** The counter starts again at zero after this value. */
  readonly range: number
  readonly before: number
}

/**
 * Starts measuring. The returned function gives the joules used since then by all packages, whatever ran on
 * them. Undefined if there are no counters, or this process may not read them, as in most containers.
 */
export async function startEnergy(folder = COUNTERS): Promise<(() => Promise<number>) | undefined> {
  let counters: readonly Counter[]
  try {
    const names = (await readdir(folder)).filter((name) => PACKAGE.test(name))
    counters = await Promise.all(names.map((name) => openCounter(join(folder, name))))
  } catch {
    return undefined
  }
  if (counters.length === 0) return undefined
  return async () => {
    const used = await Promise.all(counters.map(usedSince))
    return used.reduce((sum, microjoules) => sum + microjoules, 0) / 1e6
  }
}

async function openCounter(folder: string): Promise<Counter> {
  const path = join(folder, 'energy_uj')
  return {
    path,
    range: await readNumber(join(folder, 'max_energy_range_uj')),
    before: await readNumber(path),
  }
}

async function usedSince({ path, range, before }: Counter): Promise<number> {
  const now = await readNumber(path)
  return now < before ? now + range - before : now - before
}

const readNumber = async (path: string): Promise<number> => Number(await readFile(path, 'utf8'))
