// Times a network and an onnxruntime-web session of the same file, in Node or in a page. In: both, and their
// inputs. Out: times by round, one after the other in each round, and how far the first outputs differ.
import type { InferenceSession, TensorConstructor } from 'onnxruntime-web'
import type { Network } from '../../../src/network/api/network.ts'
import { toOrtFeeds } from '../../../src/network/compile/staged/ort-tensors.ts'
import { feedsOf } from './inputs.ts'

/** Runs of at least this long are measured, because the clock of processor time is coarse. */
const LEAST_MS = 40
/** Differences are a share of the largest number, or of this one if all are smaller. */
const LEAST_VALUE = 1e-3
/** Runs after which both engines' functions are optimised. */
const WARM = 8

interface Engines {
  readonly network: Network
  readonly session: InferenceSession
  readonly Tensor: TensorConstructor
}

export interface Measuring {
  /** Shape of the first input, if some of its axes are open. */
  readonly shape: readonly number[] | undefined
  readonly rounds: number
}

/** Milliseconds per run, by round. */
interface Times {
  readonly clock: readonly number[]
  readonly processor: readonly number[]
  /** The fastest run of all rounds, by the clock: what remains comparable on a busy machine. */
  readonly fastest: number
}

export interface Comparison {
  readonly own: Times
  readonly other: Times
  /** The largest difference as a share of the largest number. */
  readonly difference: number
}

/** `processorMs`: the processor time of this process so far. */
export async function compareEngines(
  { network, session, Tensor }: Engines,
  { shape, rounds }: Measuring,
  processorMs: () => number | Promise<number>,
): Promise<Comparison> {
  const feeds = feedsOf(
    network.inputs.map(({ name, dtype, dims }) => ({ name, type: { dtype, dims } })),
    shape,
  )
  const inputs = Object.fromEntries(feeds)
  const theirs = toOrtFeeds(Tensor, feeds)
  const output = network.outputs[0]!.name
  const runs = [
    async () => (await network.run(inputs))[output]!.data as Float32Array,
    async () => (await session.run(theirs))[output]!.data as Float32Array,
  ] as const
  const found = await runs[0]()
  const wanted = await runs[1]()
  const largest = wanted.reduce((most, value) => Math.max(most, Math.abs(value)), LEAST_VALUE)
  const difference = found.reduce((most, value, at) => Math.max(most, Math.abs(value - wanted[at]!)), 0)
  const repeats: number[] = []
  for (const run of runs) {
    let fastest = Number.POSITIVE_INFINITY
    for (let warm = 0; warm < WARM; warm++) {
      const start = performance.now()
      await run()
      fastest = Math.min(fastest, performance.now() - start)
    }
    repeats.push(Math.max(1, Math.ceil(LEAST_MS / fastest)))
  }
  const times = runs.map(() => ({
    clock: [] as number[],
    processor: [] as number[],
    fastest: Number.POSITIVE_INFINITY,
  }))
  for (let round = 0; round < rounds; round++)
    for (const [index, run] of runs.entries()) {
      const count = repeats[index]!
      const taken = times[index]!
      const spent = await processorMs()
      const start = performance.now()
      let last = start
      for (let each = 0; each < count; each++) {
        await run()
        const now = performance.now()
        taken.fastest = Math.min(taken.fastest, now - last)
        last = now
      }
      taken.clock.push((last - start) / count)
      taken.processor.push(((await processorMs()) - spent) / count)
    }
  return { own: times[0]!, other: times[1]!, difference: difference / largest }
}
