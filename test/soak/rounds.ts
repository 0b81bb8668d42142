// One round of the soak: the operations, the memory before and after, and anything that was not freed.

import type { Engine } from '../../src/engine/api/engine.ts'
import type { LoadOptions } from '../../src/engine/api/types.ts'
import { openEngine } from '../conformance/testing/node-engine.ts'
import type { Random } from '../helpers/random.ts'
import { type Adapted, adapted } from './adapters.ts'
import { resourcesHeld, settled } from './census.ts'
import { CONTEXT_LENGTH, type SoakModel } from './models.ts'
import { describe, Operations } from './operations.ts'
import { site } from './tabs.ts'

export interface Report {
  readonly model: string
  readonly pool: string
  readonly operations: number
  readonly counts: Readonly<Record<string, number>>
  readonly refusals: Readonly<Record<string, number>>
  /** One entry per check. */
  readonly checks: readonly Check[]
}

export interface Check {
  readonly what: string
  readonly holds: boolean
}

/** An engine that lives for the whole soak, whose memory must stay constant. */
export interface Resident {
  readonly model: SoakModel
  readonly engine: Engine
  /** Linear memory before the first message. */
  readonly emptyBytes: number
}

/** Memory beyond the state: block tables, read buffers, and rounding. */
const SLACK_BYTES = 2 * 1024 * 1024

const POOLS: readonly Pick<LoadOptions, 'pool' | 'threads'>[] = [
  { pool: 'single', threads: 1 },
  { pool: 'shared', threads: 2 },
  { pool: 'shared', threads: 3 },
  { pool: 'shards', threads: 2 },
  { pool: 'shards', threads: 3 },
]

export async function resident(model: SoakModel): Promise<Resident> {
  const engine = await openEngine(model.files, options(model))
  return { model, engine, emptyBytes: (await engine.memory()).totalBytes }
}

/** Runs conversations on a resident engine. */
export async function talk({ model, engine, emptyBytes }: Resident, random: Random): Promise<Report> {
  const count = random.between(100, 400)
  const operations = new Operations(engine, random, model)
  await operations.perform(count, random.between(1, 4))
  await operations.end()
  return report(model.name, engine.pool, count, [operations], await memoryChecks(engine, model, emptyBytes))
}

/** Loads, uses and unloads a model, or aborts its load. */
export async function visit(model: SoakModel, random: Random): Promise<Report> {
  const how = random.pick(POOLS)
  const name = `${how.pool} of ${how.threads}`
  const held = resourcesHeld()
  const isBack = () => sameCounts(held, resourcesHeld())
  const { files, lora, how: adapters }: Adapted = await adapted(model, random)
  const all: LoadOptions = {
    ...options(model),
    ...how,
    lora,
    build: random.pick(['auto', 'simd128'] as const),
    weights: random.pick(['auto', 'w8', 'w4'] as const),
    kvCache: random.pick([undefined, { k: 'int8', v: 'int8' }, { k: 'int8', v: 'fp8' }] as const),
  }
  if (random.chance(0.15)) {
    const failures = await abortedLoad(files, all, random)
    const checks = [
      ...failures.map((what) => ({ what, holds: false })),
      {
        what: `${name}: an aborted load of ${model.name} leaves no worker and no port`,
        holds: await settled(isBack),
      },
    ]
    return {
      model: model.name,
      pool: name,
      operations: 0,
      counts: { 'aborted load': 1 },
      refusals: {},
      checks,
    }
  }
  const engine = await openEngine(files, all)
  const { totalBytes } = await engine.memory()
  const count = random.between(20, 120)
  const operations = new Operations(engine, random, model)
  await operations.perform(count, random.between(1, 4))
  await operations.end()
  const checks = await memoryChecks(engine, model, totalBytes)
  // Some engines are disposed in the middle of a reply.
  const last = random.chance(0.3) ? engine.complete('the river', { maxTokens: 200 }) : undefined
  last?.result.catch(() => undefined)
  await engine.dispose()
  const back = await settled(isBack)
  const left = back ? '' : ` (${JSON.stringify(resourcesHeld())}, before ${JSON.stringify(held)})`
  if (adapters !== undefined) operations.counts[adapters] = 1
  return report(
    model.name,
    name,
    count,
    [operations],
    [...checks, { what: `${name}: unloading ${model.name} ends its workers and ports${left}`, holds: back }],
  )
}

/** Opens and closes the tabs of a site, which share one engine. */
export async function share(model: SoakModel, random: Random): Promise<Report> {
  const how = random.pick(POOLS)
  const name = `${how.pool} of ${how.threads} in tabs`
  const held = resourcesHeld()
  const { tabs, loads, isSplit } = await site(model, { ...options(model), ...how }, random)
  const back = await settled(() => sameCounts(held, resourcesHeld()))
  const left = back ? '' : ` (${JSON.stringify(resourcesHeld())}, before ${JSON.stringify(held)})`
  const begun = Object.values(summed(tabs.map(({ counts }) => counts))).reduce((sum, n) => sum + n, 0)
  const all = report(model.name, name, begun, tabs, [
    { what: `${name}: only one tab at a time has ${model.name} in memory`, holds: !isSplit },
    { what: `${name}: closing every tab of ${model.name} ends workers and ports${left}`, holds: back },
  ])
  return { ...all, counts: { ...all.counts, tab: tabs.length, 'load by a leader': loads } }
}

const options = ({ stateBytes }: SoakModel): LoadOptions => ({ contextLength: CONTEXT_LENGTH, stateBytes })

function report(
  model: string,
  pool: string,
  count: number,
  operations: readonly Operations[],
  checks: readonly Check[],
): Report {
  const failures = operations.flatMap((each) => each.failures)
  const alarms = failures.map((what) => ({ what: `${model}, ${pool}: ${what}`, holds: false }))
  const none = { what: `${model}, ${pool}: ${count} operations fail only when expected`, holds: true }
  return {
    model,
    pool,
    operations: count,
    counts: summed(operations.map(({ counts }) => counts)),
    refusals: summed(operations.map(({ refusals }) => refusals)),
    checks: [...(alarms.length > 0 ? alarms : [none]), ...checks],
  }
}

function summed(counts: readonly Readonly<Record<string, number>>[]): Record<string, number> {
  const sums: Record<string, number> = {}
  for (const [name, count] of counts.flatMap((each) => Object.entries(each)))
    sums[name] = (sums[name] ?? 0) + count
  return sums
}

/** Call when every session is closed. */
async function memoryChecks(engine: Engine, model: SoakModel, emptyBytes: number): Promise<Check[]> {
  let use = await engine.memory()
  // Aborted work is released only after the page has been notified.
  for (let turn = 0; turn < 50 && use.stateBytes > 0; turn++) {
    await new Promise((resolve) => setTimeout(resolve, 10))
    use = await engine.memory()
  }
  const at = `${model.name}, ${engine.pool}`
  const most = emptyBytes + model.stateBytes + SLACK_BYTES
  return [
    {
      what: `${at}: no state is in use without a session (${use.stateBytes} bytes)`,
      holds: use.stateBytes === 0,
    },
    {
      what: `${at}: cached state stays within its budget (${use.keptBytes} of ${model.stateBytes} bytes)`,
      holds: use.keptBytes <= model.stateBytes,
    },
    {
      what: `${at}: linear memory stays within its budget (${use.totalBytes} of ${most} bytes)`,
      holds: use.totalBytes <= most,
    },
  ]
}

/** Returns a description of any unexpected result. */
async function abortedLoad(files: readonly File[], all: LoadOptions, random: Random): Promise<string[]> {
  const abort = new AbortController()
  const reason = new Error('enough')
  let left = random.between(0, 12)
  const onProgress = () => {
    if (left-- === 0) abort.abort(reason)
  }
  try {
    const engine = await openEngine(files, { ...all, signal: abort.signal, onProgress })
    await engine.dispose()
    return []
  } catch (error) {
    return error === reason ? [] : [`an aborted load rejects with ${describe(error)}`]
  }
}

function sameCounts(
  left: Readonly<Record<string, number>>,
  right: Readonly<Record<string, number>>,
): boolean {
  const names = new Set([...Object.keys(left), ...Object.keys(right)])
  // Ports of earlier rounds may have closed by now.
  return [...names].every((name) => (right[name] ?? 0) <= (left[name] ?? 0))
}
