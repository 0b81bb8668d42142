// Summarises samples: medians with their spread, ratios to Halfbyte, shares of what memory bandwidth allows.
import { type Spread, spread } from '../spread.ts'
import { ENGINES, type EngineKind, type EngineName, OURS, type Run } from './engines.ts'
import type { Agreement, GroupResults, Sample, TurnSample } from './results.ts'

export interface Summary {
  /** Halfbyte's version in package.json. */
  readonly version: string
  /** ISO date of the last sample. */
  readonly date: string
  readonly machine: string
  readonly browser: string
  readonly command: string
  readonly groups: readonly GroupSummary[]
}
/** One shape with one number of threads. */
export interface GroupSummary {
  readonly shape: string
  readonly threads: number
  /** GB/s and GOP/s; absent if not measured. */
  readonly read?: Spread | undefined
  readonly dot?: Spread | undefined
  readonly rows: readonly Row[]
  readonly engines: readonly EngineSummary[]
  /** Absent if not measured. */
  readonly turns?: readonly TurnSample[] | undefined
}
/** One engine with one length of prompt. Rates are tokens per second. */
export interface Row {
  readonly engine: EngineName
  readonly prompt: number
  readonly rounds: number
  readonly decoded: number
  readonly prefill: Spread
  readonly decode: Spread
  /** Halfbyte's median divided by this engine's. */
  readonly prefillRatio?: number | undefined
  readonly decodeRatio?: number | undefined
  /**
   * For Halfbyte: bytes that a decode step must read, the rate that one read stream allows, and the share of
   * it that was reached.
   */
  readonly stepBytes?: number | undefined
  readonly allowed?: number | undefined
  readonly share?: number | undefined
  /** Largest share of the machine in use just before a round. */
  readonly busy: number
}
export interface EngineSummary {
  readonly engine: EngineName
  readonly version: string
  /** Medians; absent if not measured. */
  readonly loadMs?: number | undefined
  readonly memoryBytes?: number | undefined
  readonly agreement?: Agreement | undefined
  readonly failure?: string | undefined
}

export const prefillRate = ({ promptTokens, prefillMs }: Omit<Run, 'ids'>): number =>
  (1000 * promptTokens) / prefillMs
/** The first token belongs to the prefill. */
export const decodeRate = ({ decodedTokens, decodeMs }: Omit<Run, 'ids'>): number =>
  (1000 * (decodedTokens - 1)) / decodeMs

export function summarise(groups: readonly GroupResults[], command: string, version: string): Summary {
  const dates = groups.flatMap(({ samples }) => samples.map(({ at }) => at)).sort()
  return {
    version,
    date: dates.at(-1) ?? '',
    machine: groups[0]?.machine ?? '',
    browser: groups[0]?.browser ?? '',
    command,
    groups: groups.map(summariseGroup),
  }
}

function summariseGroup(group: GroupResults): GroupSummary {
  const { shape, threads, limits, samples, stepBytes, turns } = group
  const read = limits.length > 0 ? spread(limits.map((each) => each.readGigabytesPerSecond)) : undefined
  const dot = limits.length > 0 ? spread(limits.map((each) => each.dotGigaopsPerSecond)) : undefined
  const cells = Map.groupBy(samples, ({ engine, prompt }) => `${engine} ${prompt}`)
  const bare = Array.from(cells.values(), (cell) => bareRow(cell)).sort(byEngineAndPrompt)
  const ours = new Map(bare.filter(({ engine }) => engine === OURS).map((row) => [row.prompt, row]))
  const rows = bare.map((row): Row => {
    const own = ours.get(row.prompt)
    const bytes = stepBytes[row.prompt]
    if (row.engine !== OURS) {
      return {
        ...row,
        prefillRatio: own && own.prefill.median / row.prefill.median,
        decodeRatio: own && own.decode.median / row.decode.median,
      }
    }
    const allowed = read && bytes !== undefined ? (read.median * 1e9) / bytes : undefined
    return { ...row, stepBytes: bytes, allowed, share: allowed && row.decode.median / allowed }
  })
  return { shape, threads, read, dot, rows, engines: engineSummaries(group), turns }
}

type BareRow = Omit<Row, 'prefillRatio' | 'decodeRatio' | 'stepBytes' | 'allowed' | 'share'>

function bareRow(cell: readonly Sample[]): BareRow {
  const { engine, prompt, decodedTokens } = cell[0] as Sample
  return {
    engine,
    prompt,
    rounds: cell.length,
    decoded: decodedTokens,
    prefill: spread(cell.map(prefillRate)),
    decode: spread(cell.map(decodeRate)),
    busy: Math.max(...cell.map(({ busy }) => busy)),
  }
}

const rankOf = (engine: EngineName): number => ENGINES.findIndex(({ name }) => name === engine)
const byEngineAndPrompt = (a: BareRow, b: BareRow): number =>
  rankOf(a.engine) - rankOf(b.engine) || a.prompt - b.prompt

function engineSummaries({ engines, samples }: GroupResults): EngineSummary[] {
  const median = (values: readonly number[]) => (values.length > 0 ? spread(values).median : undefined)
  return ENGINES.flatMap(({ name }: EngineKind): EngineSummary[] => {
    const record = engines[name]
    if (record === undefined) return []
    const { version, loadMs, memoryBytes, agreement, failure } = record
    const isMeasured = samples.some(({ engine }) => engine === name)
    if (!isMeasured && failure === undefined) return []
    return [
      {
        engine: name,
        version,
        agreement,
        failure,
        loadMs: median(loadMs),
        memoryBytes: median(memoryBytes),
      },
    ]
  })
}
