// The process that reads inputs for the runner, and reports outcomes and faults. It writes the current
// input's number to a file, so that the runner knows it even if this process hangs or dies.
import { openSync, readFileSync, writeSync } from 'node:fs'
import { Random } from '../helpers/random.ts'
import { type Input, restoreInput, storeInput } from './input.ts'
import { type Fault, faultOf, judge, type Verdict } from './judge.ts'
import { minimise } from './mutate/minimise.ts'
import { importTarget } from './target.ts'
import type { Answer, ChildOptions, Order } from './wire.ts'

const options = JSON.parse(process.argv[2] ?? '') as ChildOptions
const clock = openSync(options.clock, 'w')
const entry = new Float64Array(2)
/** Time between two reports. */
const REPORT_MS = 200
/** Inputs that are read in less time cannot have filled much memory. */
const MEMORY_MS = 3

const answer = (message: Answer) => process.send?.(message)

let stray: Fault | undefined
for (const event of ['uncaughtException', 'unhandledRejection']) {
  process.on(event, (error: unknown) => {
    stray ??= faultOf('raw', error)
  })
}

const target = await (await importTarget(options.target)).openTarget()

/** The number between inputs. */
const IDLE = -1

function note(index: number): void {
  entry[0] = index
  entry[1] = Date.now()
  writeSync(clock, entry, 0, 16, 0)
}

/**
 * The peak of resident memory in bytes. getrusage starts from the parent's peak, so on Linux another source
 * is used.
 */
function peakMemory(): number {
  if (process.platform !== 'linux') return process.resourceUsage().maxRSS * 1024
  return Number(/VmHWM:\s*(\d+)/.exec(readFileSync('/proc/self/status', 'latin1'))?.[1]) * 1024
}

async function read(index: number, input: Input): Promise<Verdict> {
  note(index)
  const peak = peakMemory()
  const start = performance.now()
  let verdict = await judge(target, input)
  if (stray !== undefined) {
    verdict = { outcome: 'raw', fault: stray }
    stray = undefined
  }
  if (performance.now() - start < MEMORY_MS) return verdict
  const grown = peakMemory() - peak
  if (grown <= options.memoryBytes) return verdict
  const message = `it took ${Math.round(grown / 2 ** 20)} MB more than any earlier input`
  return { outcome: 'memory', fault: { kind: 'memory', message, signature: 'memory' } }
}

/** Reads inputs one after another, and yields to the event loop between reports. */
async function readAll(next: (read: number) => readonly [number, Input] | undefined): Promise<void> {
  let outcomes: Record<string, number> = {}
  let count = 0
  let reported = performance.now()
  for (let one = next(count); one !== undefined; one = next(count)) {
    const [index, input] = one
    const { outcome, fault } = await read(index, input)
    outcomes[outcome] = (outcomes[outcome] ?? 0) + 1
    count += 1
    if (fault !== undefined) answer({ type: 'fault', index, fault, input: storeInput(input) })
    const isOver = fault?.kind === 'memory'
    if (performance.now() - reported < REPORT_MS && !isOver) continue
    answer({ type: 'progress', read: count, outcomes })
    // The peak memory of a process never falls, so the next input needs a new process.
    if (isOver) return
    outcomes = {}
    await new Promise((resolve) => setImmediate(resolve))
    reported = performance.now()
  }
  note(IDLE)
  answer({ type: 'progress', read: count, outcomes })
  answer({ type: 'done' })
}

process.on('message', async (order: Order) => {
  if (order.type === 'draw') {
    const { seed, from, end, ms } = order
    const until = Date.now() + ms
    await readAll((count) => {
      const index = from + count
      if (index >= end || Date.now() >= until) return undefined
      // Generating an input counts as reading it, because it must not hang either.
      note(index)
      return [index, target.draw(new Random(seed, index))]
    })
  } else if (order.type === 'read') {
    await readAll((count) => {
      const stored = order.inputs[count]
      return stored === undefined ? undefined : [count, restoreInput(stored)]
    })
  } else if (order.type === 'show') {
    answer({ type: 'smaller', input: storeInput(target.draw(new Random(order.seed, order.index))) })
    answer({ type: 'done' })
  } else {
    const shows = async (input: Input) => (await read(0, input)).fault?.signature === order.signature
    const smaller = await minimise(restoreInput(order.input), shows)
    note(IDLE)
    answer({ type: 'smaller', input: storeInput(smaller) })
    answer({ type: 'done' })
  }
})

process.on('disconnect', () => process.exit())
note(IDLE)
answer({ type: 'ready' })
