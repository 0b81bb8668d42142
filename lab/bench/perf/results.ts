// Stores the measurements of one shape and thread count in a file from which a later run can continue.
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import type { EngineName } from './engines.ts'

/** One round of one cell. */
export interface Sample {
  readonly engine: EngineName
  readonly prompt: number
  readonly promptTokens: number
  readonly prefillMs: number
  readonly decodedTokens: number
  readonly decodeMs: number
  /** Share of the machine in use just before the round, 0 to 1. */
  readonly busy: number
  /** ISO date. */
  readonly at: string
}

/** A second turn: a history, a token, a message. */
export interface TurnSample {
  readonly engine: EngineName
  /** Tokens of the history. */
  readonly history: number
  /** Tokens that the engine processed before the turn's first token. */
  readonly readTokens: number
  readonly ms: number
}

export interface EngineRecord {
  /** e.g. `3.8.1` */
  readonly version: string
  /** Changes with anything that could change the engine's speed. */
  readonly fingerprint: string
  readonly loadMs: readonly number[]
  /** Memory gained by its processes from before the load to after the runs. */
  readonly memoryBytes: readonly number[]
  /** Number of first greedy tokens that equal the reference's. */
  readonly agreement?: Agreement | undefined
  /** Why the engine is missing. */
  readonly failure?: string | undefined
}
export interface Agreement {
  readonly same: number
  readonly of: number
  readonly reference: EngineName
}

/** The machine's limits in this browser, measured once per round. */
export interface LimitSample {
  /** One stream, over about as many bytes as the weights have. */
  readonly readGigabytesPerSecond: number
  readonly dotGigaopsPerSecond: number
}

export interface GroupResults {
  readonly shape: string
  readonly threads: number
  readonly machine: string
  readonly browser: string
  /**
   * Bytes of weights and state that Halfbyte's decode step must read, by prompt, in the middle of its
   * decoding.
   */
  readonly stepBytes: Readonly<Record<string, number>>
  readonly engines: Readonly<Partial<Record<EngineName, EngineRecord>>>
  readonly samples: readonly Sample[]
  readonly limits: readonly LimitSample[]
  /** Absent in files of runs without second turns. */
  readonly turns?: readonly TurnSample[]
}

const fileOf = (folder: URL, shape: string, threads: number) => new URL(`${shape}-${threads}t.json`, folder)

export async function loadResults(
  folder: URL,
  shape: string,
  threads: number,
): Promise<GroupResults | undefined> {
  const text = await readFile(fileOf(folder, shape, threads), 'utf8').catch(() => undefined)
  return text === undefined ? undefined : (JSON.parse(text) as GroupResults)
}

/** Writes atomically. */
export async function saveResults(folder: URL, results: GroupResults): Promise<void> {
  await mkdir(folder, { recursive: true })
  const file = fileOf(folder, results.shape, results.threads)
  const part = new URL(`${file.href}.part`)
  await writeFile(part, `${JSON.stringify(results, undefined, 1)}\n`)
  await rename(part, file)
}

/**
 * The results of an earlier run that are still valid, which excludes other machines, browsers and engine
 * versions.
 */
export function carriedOver(
  earlier: GroupResults | undefined,
  now: Pick<GroupResults, 'machine' | 'browser'> & { fingerprints: ReadonlyMap<EngineName, string> },
): Pick<GroupResults, 'engines' | 'samples' | 'limits' | 'turns'> {
  if (earlier === undefined || earlier.machine !== now.machine || earlier.browser !== now.browser) {
    return { engines: {}, samples: [], limits: [], turns: [] }
  }
  const isSame = (name: EngineName) => {
    const fingerprint = now.fingerprints.get(name)
    return fingerprint === undefined || earlier.engines[name]?.fingerprint === fingerprint
  }
  const engines = Object.entries(earlier.engines).filter(([name]) => isSame(name as EngineName))
  return {
    engines: Object.fromEntries(engines),
    samples: earlier.samples.filter(({ engine }) => isSame(engine)),
    limits: earlier.limits,
    turns: earlier.turns?.filter(({ engine }) => isSame(engine)) ?? [],
  }
}
