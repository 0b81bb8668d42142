// Results of the engines on real models: one row per model, engine and number of threads.
import { readFile } from 'node:fs/promises'
import type { EngineName } from '../engines.ts'

export interface RealResults {
  /** Halfbyte's version in package.json. */
  readonly version: string
  /** Changes with Halfbyte's code, including kernels. */
  readonly fingerprint: string
  readonly machine: string
  readonly browser: string
  /** ISO date of the last row. */
  readonly date: string
  readonly command: string
  readonly rows: readonly RealRow[]
}

export interface RealRow {
  /** A name that `npm run setup` knows, or a file. */
  readonly model: string
  readonly threads: number
  readonly engine: EngineName
  /** The engine's name and version. */
  readonly title: string
  /** Tokens of a prompt, at most. */
  readonly prompt: number
  readonly loadMs?: number | undefined
  readonly memoryBytes?: number | undefined
  /** Tokens per second of each round. */
  readonly prefill: readonly number[]
  readonly decode: readonly number[]
  /** The error of an engine that could not load the model or failed in a round. */
  readonly failure?: string | undefined
}

/** Undefined if there is no such file. */
export async function readResults(file: string | URL): Promise<RealResults | undefined> {
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error
  })
  return text === undefined ? undefined : (JSON.parse(text) as RealResults)
}

/** The rows of an earlier run that are still valid: of this code, machine and browser. */
export function stillValid(
  earlier: RealResults | undefined,
  now: Pick<RealResults, 'fingerprint' | 'machine' | 'browser'>,
): readonly RealRow[] {
  const isSame =
    earlier?.fingerprint === now.fingerprint &&
    earlier.machine === now.machine &&
    earlier.browser === now.browser
  return isSame ? earlier.rows : []
}
