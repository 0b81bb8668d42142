// node lab/bench/cores/main.ts measures pools on cores of unequal speed: how fast each number of threads
// decodes, how fast the automatically chosen number decodes, and how soon it adapts to a core that becomes
// slow.

import { openAsBlob } from 'node:fs'
import { cpus, loadavg } from 'node:os'
import { fileURLToPath } from 'node:url'
import { type Transferable, Worker } from 'node:worker_threads'
import { Command } from 'commander'
import { openModel } from '../../../src/core/arch/open-model.ts'
import { blobSource } from '../../../src/core/base/bytes.ts'
import type { ComputePort } from '../../../src/core/runtime/host.ts'
import { type BuiltModel, buildModel } from '../../../src/engine/load/build-model.ts'
import { prepareModel } from '../../../src/engine/load/prepare.ts'
import { nodeHost } from '../../../src/tools/cli/node-host.ts'
import { modelFile } from '../model-file.ts'
import { SHAPES } from '../shapes.ts'
import { spread, spreadText } from '../spread.ts'
import { joinCore, leaveCore, type SimulatedCore, simulateCore } from './quota.ts'

const numbers = (text: string) => text.split(',').map(Number)

const options = new Command('bench:cores')
  .description('Decodes on threads whose cores are unequal, by CPU quotas. Needs root and cgroup version 1.')
  .option('--shape <name>', SHAPES.map(({ name }) => name).join(', '), 'smollm2-135m')
  .option('--speeds <list>', 'speed of each core', numbers, [1, 1, 0.4, 0.4])
  .option('--scale <share>', 'share of a real core at speed 1', Number, 0.4)
  .option('--falls <speed>', 'speed of the second core after its slowdown', Number, 0.15)
  .option('--rounds <n>', 'rounds; ratios are taken within a round', Number, 3)
  .option('--seconds <n>', 'decoding before and after the slowdown', Number, 6)
  .option('--part <name>', 'unequal, falling or both', 'both')
  .parse()
  .opts<{
    shape: string
    speeds: number[]
    scale: number
    falls: number
    rounds: number
    seconds: number
    part: string
  }>()

const shape = SHAPES.find(({ name }) => name === options.shape)
if (shape === undefined) throw new Error(`there is no shape ${options.shape}`)
const model = fileURLToPath(await modelFile(shape))
const { speeds, scale, rounds, seconds, falls } = options
const cores = speeds.map((speed, index) => simulateCore(index, speed * scale))
const counts = speeds.map((_, index) => index + 1)

/** Thread 0 is the calling thread, so it is on the first core while it decodes. */
async function load(threads: number | 'auto'): Promise<BuiltModel> {
  let started = 0
  const host = {
    ...nodeHost(),
    cores: speeds.length,
    startWorker: () => startWorker(cores[1 + (started++ % (cores.length - 1))] as SimulatedCore),
  }
  const file = await openModel([blobSource(model, await openAsBlob(model))])
  const prepared = await prepareModel(file, { weights: 'auto', contextLength: 2048 })
  const hooks = { signal: new AbortController().signal, onProgress: () => undefined }
  return buildModel(prepared, { host, threads, build: 'auto' }, hooks)
}

function startWorker({ folder }: SimulatedCore): ComputePort {
  const worker = new Worker(new URL('compute.worker.ts', import.meta.url), { workerData: folder })
  return {
    postMessage: (message, transfer) => worker.postMessage(message, transfer as Transferable[]),
    onMessage: (listener) => void worker.on('message', listener),
    onError: (listener) => void worker.on('error', listener),
    terminate: () => void worker.terminate(),
  }
}

/** The time of each token, in seconds. Calls `during` after each token. */
async function decode(
  built: BuiltModel,
  forSeconds: number,
  during?: (second: number) => void,
): Promise<number[]> {
  const sequence = built.newSequence()
  sequence.setTokens([1, 2, 3, 4])
  const times: number[] = []
  const start = performance.now()
  await built.scheduler.generate({
    sequence,
    // Any token, because the text does not matter.
    sampler: { sample: (_, history, length = history.length) => 5 + (length % 100) },
    onToken() {
      const now = (performance.now() - start) / 1000
      times.push(now)
      during?.(now)
      return now >= forSeconds ? 'stop' : undefined
    },
  })
  sequence.release()
  return times
}

/** Tokens per second between two times. */
const speedBetween = (times: readonly number[], from: number, to: number): number =>
  times.filter((time) => time >= from && time < to).length / (to - from)

interface Run {
  readonly threads: string
  readonly times: readonly number[]
}

/** Decodes with each number of threads and with the automatic one, in turn. */
async function round(
  forSeconds: number,
  prepare: () => void,
  during?: (second: number) => void,
): Promise<Run[]> {
  const runs: Run[] = []
  for (const threads of [...counts, 'auto'] as const) {
    prepare()
    joinCore((cores[0] as SimulatedCore).folder)
    const built = await load(threads)
    runs.push({ threads: String(threads), times: await decode(built, forSeconds, during) })
    leaveCore()
    await built.dispose()
  }
  return runs
}

/** Tokens per second of every run, and of the automatic number relative to the best fixed one. */
function report(name: string, all: readonly Run[][], from: number, to: number): void {
  console.log(`\n${name}\n\n| threads | tok/s | of the best fixed number |\n|---|--:|--:|`)
  const table = all.map((runs) => runs.map(({ times }) => speedBetween(times, from, to)))
  for (const [index, { threads }] of (all[0] ?? []).entries()) {
    const speeds = table.map((row) => row[index] ?? Number.NaN)
    const shares = table.map((row, at) => (speeds[at] as number) / Math.max(...row.slice(0, -1)))
    console.log(`| ${threads} | ${spreadText(spread(speeds))} | ${spreadText(spread(shares), 2)} |`)
  }
}

/**
 * Seconds from the slowdown until the automatic number reaches 0.9 of the best fixed number's speed, over the
 * next second and over the rest of the run; NaN if it never does.
 */
function adaptedAfter(runs: readonly Run[], fall: number, end: number): number {
  const best = Math.max(...runs.slice(0, -1).map(({ times }) => speedBetween(times, fall + 1, end)))
  const times = runs.at(-1)?.times ?? []
  for (let from = fall; from + 1 <= end; from += 0.1) {
    const least = Math.min(speedBetween(times, from, from + 1), speedBetween(times, from, end))
    if (least >= 0.9 * best) return from - fall
  }
  return Number.NaN
}

try {
  console.log(
    `${cpus().length} x ${cpus()[0]?.model}, load ${loadavg()[0]?.toFixed(1)}, ${shape.name}, speeds ${speeds} x ${scale}`,
  )
  const reset = () => {
    for (const [index, core] of cores.entries()) core.setShare((speeds[index] as number) * scale)
  }
  if (options.part !== 'falling') {
    const all: Run[][] = []
    for (let turn = 0; turn < rounds; turn++) all.push(await round(seconds, reset))
    report('Unequal cores', all, 0.5, seconds)
  }
  if (options.part !== 'unequal') {
    const all: Run[][] = []
    const fall = seconds
    for (let turn = 0; turn < rounds; turn++) {
      let hasFallen = false
      const prepare = () => {
        reset()
        hasFallen = false
      }
      all.push(
        await round(2 * seconds, prepare, (second) => {
          if (hasFallen || second < fall) return
          hasFallen = true
          cores[1]?.setShare(falls * scale)
        }),
      )
    }
    report(
      `The second core slows down to ${falls}: from two seconds afterwards on`,
      all,
      fall + 2,
      2 * seconds,
    )
    const after = all.map((runs) => adaptedAfter(runs, fall, 2 * seconds))
    console.log(`\nadapted after ${spreadText(spread(after), 2)} s`)
  }
} finally {
  leaveCore()
  for (const core of cores) await core.remove()
}
