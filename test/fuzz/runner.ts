// The runner: starts a process that generates and reads a target's inputs, and counts findings. If the
// process hangs, dies or grows too large, the runner ends it, and the next one continues after its input.
import { type ChildProcess, fork } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { effortOf } from './effort.ts'
import type { StoredInput } from './input.ts'
import type { Fault } from './judge.ts'
import type { TargetName } from './target.ts'
import type { Answer, ChildOptions, Order } from './wire.ts'

/** The limits of every input. */
export interface Limits {
  /** Maximum time of one input, whether the process works or sleeps. Default 5000. */
  readonly inputMs?: number
  /** Maximum bytes that one input may add to the process. Default 512 MB. */
  readonly memoryBytes?: number
}

export interface Finding {
  readonly target: TargetName
  readonly fault: Fault
  /** Where it was found: `SEED:INDEX`, or the corpus entry. */
  readonly at: string
  /** Absent if the process died before it could report it. */
  readonly input?: StoredInput | undefined
  /** Number of inputs that showed it. */
  readonly count: number
}

export interface Tally {
  readonly inputs: number
  readonly ms: number
  readonly outcomes: Readonly<Record<string, number>>
  readonly findings: readonly Finding[]
}

const HEAP_MEGABYTES = 1024
const LOOK_MS = 100
/** How long opening a target may take; it builds the valid files. */
const START_MS = 60_000
/** A run stops after this many ended processes, because it would only find the same fault again. */
const MAX_DEATHS = 12

const CHILD = join(import.meta.dirname, 'child.ts')

/** Generates and reads `inputs` inputs, or as many as `ms` allows. Rejects if the target cannot be opened. */
export function fuzz(
  target: TargetName,
  { seed, inputs, ms, limits }: { seed: number; inputs: number; ms: number; limits?: Limits },
): Promise<Tally> {
  return drive(target, limits, inputs, (from, spentMs) =>
    spentMs < ms ? { type: 'draw', seed, from, end: inputs, ms: ms - spentMs } : undefined,
  ).then(named((index) => `${seed}:${index}`))
}

/** Reads these inputs, by their titles. */
export function readInputs(
  target: TargetName,
  entries: readonly { readonly title: string; readonly input: StoredInput }[],
  limits?: Limits,
): Promise<Tally> {
  const order = (from: number): Order => ({
    type: 'read',
    inputs: entries.slice(from).map(({ input }) => input),
  })
  const titleOf = (index: number) => entries[index]?.title ?? ''
  return drive(target, limits, entries.length, order).then(named(titleOf, true))
}

/** The smallest input found that shows the same fault, or the input itself. */
export async function smallest(
  target: TargetName,
  { fault, input }: Finding,
): Promise<StoredInput | undefined> {
  if (input === undefined || (fault.kind !== 'raw' && fault.kind !== 'internal')) return input
  return (await ask(target, { type: 'minimise', input, signature: fault.signature })) ?? input
}

/** The generated input with this number. */
export function shown(target: TargetName, seed: number, index: number): Promise<StoredInput | undefined> {
  return ask(target, { type: 'show', seed, index })
}

/** Undefined if the process is late or dies. */
async function ask(target: TargetName, order: Order): Promise<StoredInput | undefined> {
  const { child, isLate, end } = await start(target, {})
  let timer: NodeJS.Timeout | undefined
  try {
    return await new Promise((resolve) => {
      timer = setInterval(() => isLate() && resolve(undefined), LOOK_MS)
      child.on('exit', () => resolve(undefined))
      child.on('message', (answer: Answer) => answer.type === 'smaller' && resolve(answer.input))
      child.send(order)
    })
  } finally {
    clearInterval(timer)
    end()
  }
}

interface Driven extends Omit<Tally, 'findings'> {
  readonly target: TargetName
  readonly raw: readonly Raw[]
}

interface Raw {
  readonly fault: Fault
  readonly index: number
  readonly input?: StoredInput
}

/**
 * Merges findings with the same cause. Faults that are seen only from outside have no cause to compare, so
 * they are not merged. Named entries are not merged either.
 */
const named =
  (name: (index: number) => string, isEach = false) =>
  ({ target, inputs, ms, outcomes, raw }: Driven): Tally => {
    const byCause = new Map<string, Finding>()
    for (const { fault, index, input } of raw) {
      const isCause = fault.kind === 'raw' || fault.kind === 'internal'
      const key = isCause && !isEach ? fault.signature : `${fault.signature} ${index}`
      const known = byCause.get(key) ?? { target, fault, at: name(index), input, count: 0 }
      byCause.set(key, { ...known, count: known.count + 1 })
    }
    return { inputs, ms, outcomes, findings: [...byCause.values()] }
  }

/** Starts processes until `inputs` have been read or `order` is complete. */
async function drive(
  target: TargetName,
  limits: Limits = {},
  inputs: number,
  order: (from: number, spentMs: number) => Order | undefined,
): Promise<Driven> {
  const outcomes: Record<string, number> = {}
  const raw: Raw[] = []
  let read = 0
  // Excludes the time that starting processes and building valid files takes.
  let spentMs = 0
  for (let deaths = 0; read < inputs && deaths < MAX_DEATHS; ) {
    const next = order(read, spentMs)
    if (next === undefined) break
    const { count, ms, death } = await follow(target, limits, next, read, outcomes, raw)
    read += count
    spentMs += ms
    if (death === undefined) break
    deaths += 1
  }
  return { target, inputs: read, ms: spentMs, outcomes, raw }
}

/** Runs one process until it ends, or until an input ends it. */
async function follow(
  target: TargetName,
  limits: Limits,
  order: Order,
  from: number,
  outcomes: Record<string, number>,
  raw: Raw[],
): Promise<{ count: number; ms: number; death?: Fault['kind'] }> {
  const { child, at, isLate, end } = await start(target, limits)
  const begin = performance.now()
  const base = order.type === 'read' ? from : 0
  try {
    return await new Promise((resolve) => {
      let said = 0
      let isOver = false
      const leave = (count: number, death?: Fault['kind']) => {
        clearInterval(timer)
        resolve({ count, ms: performance.now() - begin, death })
      }
      const stop = (kind: Fault['kind'], message: string) => {
        const index = Math.max(at(), 0) + base
        raw.push({ index, fault: { kind, message, signature: kind } })
        outcomes[kind] = (outcomes[kind] ?? 0) + 1
        leave(index + 1 - from, kind)
      }
      const timer = setInterval(() => {
        if (isLate()) stop('hang', `it took more than ${(limits.inputMs ?? 5000) / 1000} s`)
      }, LOOK_MS)
      child.on('exit', (code, signal) =>
        stop(
          signal === 'SIGABRT' || code === 134 ? 'memory' : 'crash',
          `the process ended with ${signal ?? code}`,
        ),
      )
      child.on('message', (answer: Answer) => {
        if (answer.type === 'fault') {
          raw.push({ ...answer, index: answer.index + base })
          isOver = answer.fault.kind === 'memory'
        } else if (answer.type === 'progress') {
          said = answer.read
          for (const [outcome, count] of Object.entries(answer.outcomes))
            outcomes[outcome] = (outcomes[outcome] ?? 0) + count
          if (isOver) leave(said, 'memory')
        } else if (answer.type === 'done') leave(said)
      })
      child.send(order)
    })
  } finally {
    end()
  }
}

/** A hung process does not notice that its parent has exited, so the runner ends it on exit. */
const running = new Set<ChildProcess>()
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL')
})
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130))

/** A process that has opened its target. */
async function start(target: TargetName, limits: Limits) {
  const { inputMs = 5000, memoryBytes = 512 << 20 } = limits
  const folder = mkdtempSync(join(tmpdir(), 'halfbyte-fuzz-'))
  const clock = join(folder, 'clock')
  const options: ChildOptions = { target, clock, memoryBytes }
  const child: ChildProcess = fork(CHILD, [JSON.stringify(options)], {
    execArgv: [`--max-old-space-size=${HEAP_MEGABYTES}`, '--disable-warning=ExperimentalWarning'],
    // V8 prints a long report about a full heap, which is just one more finding here.
    stdio: ['ignore', 'inherit', 'pipe', 'ipc'],
  })
  let words = ''
  child.stderr?.on('data', (data: Buffer) => {
    words = (words + data.toString()).slice(-4000)
  })
  running.add(child)
  const effort = effortOf(child.pid ?? 0, LOOK_MS)
  const end = () => {
    running.delete(child)
    child.removeAllListeners()
    child.kill('SIGKILL')
    rmSync(folder, { recursive: true, force: true })
  }
  let timer: NodeJS.Timeout | undefined
  await new Promise<void>((resolve, reject) => {
    let spent = 0
    timer = setInterval(() => {
      spent += effort()
      if (spent > START_MS) reject(new Error(`${target} was not opened in ${START_MS} ms`))
    }, LOOK_MS)
    child.once('exit', (code) => reject(new Error(`${target} cannot be opened (${code}):\n${words}`)))
    child.once('message', () => {
      child.removeAllListeners('exit')
      resolve()
    })
  })
    .catch((error) => {
      end()
      throw error
    })
    .finally(() => clearInterval(timer))
  const entry = (): Float64Array => {
    const bytes = readFileSync(clock)
    return bytes.length < 16
      ? Float64Array.of(-1, 0)
      : new Float64Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + 16))
  }
  let last = { index: -1, since: 0, spent: 0 }
  return {
    child,
    end,
    /** The number of the input being read; -1 between inputs. */
    at: () => entry()[0] as number,
    /** Call every LOOK_MS. */
    isLate: () => {
      const [index = -1, since = 0] = entry()
      const worked = effort()
      const isSame = index === last.index && since === last.since
      last = { index, since, spent: isSame ? last.spent + worked : 0 }
      return index >= 0 && last.spent > inputMs
    },
  }
}
