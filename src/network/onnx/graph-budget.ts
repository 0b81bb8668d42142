// The budget of a graph: the limits for understanding, planning and running it. Everything is charged before
// it is done: by the evaluator and the passes, and by the lowering of each node.
import { Budget, type Excess } from '../../core/base/budget.ts'
import { HalfbyteError } from '../../core/base/errors.ts'

/** The limits of a network's graph; every key is optional. A count, or `Infinity`. */
export interface NetworkLimits {
  /**
   * Units of work before a run: elements that are computed in advance, entries of tables, nodes and loops of
   * the program. Default 2^27, about 3 s.
   */
  readonly planning?: number | undefined
  /**
   * Steps of a run: multiplications of products; every other instruction on an element counts as 16. Default
   * 2^40, a minute on one core.
   */
  readonly steps?: number | undefined
  /** Bytes of the values that a run holds at once, without the file's weights. Default 512 MiB. */
  readonly bytes?: number | undefined
}

/** Elements read and written, products added up, nodes. About 3 s. */
const MOST_WORK = 2 ** 27
/** Maximum bytes of live values. */
const MOST_BYTES = 2 ** 28
/** Steps of a run of a network, and bytes of its values. */
const MOST_STEPS = 2 ** 40
const MOST_RUN_BYTES = 2 ** 29

export const NETWORK_LIMITS: Readonly<Record<keyof NetworkLimits, number>> = Object.freeze({
  planning: MOST_WORK,
  steps: MOST_STEPS,
  bytes: MOST_RUN_BYTES,
})

/** The budget of the work that one file of a decoder may cause. */
export const graphBudget = (signal?: AbortSignal): Budget =>
  new Budget({ work: MOST_WORK, bytes: MOST_BYTES, signal, refuse: tooMuch })

const tooMuch = ({ what, asked, most }: Excess): HalfbyteError =>
  new HalfbyteError(
    'out-of-memory',
    what === 'work'
      ? `the graph needs ${asked} steps of work to be understood and may take ${most}; export the model with less computed in its graph, or as GGUF or safetensors`
      : `the graph holds ${asked} bytes of computed values at once and may hold ${most}; export the model with smaller masks and tables, or as GGUF or safetensors`,
    { what, asked, most },
  )

/** One program of a network: the budget of its passes and of the evaluator, and what a run of it may take. */
export class ProgramBudget extends Budget {
  readonly #steps: number
  readonly #bytes: number
  #asked = 0

  constructor({ planning, steps, bytes }: NetworkLimits = {}, signal?: AbortSignal) {
    const most = bytes ?? NETWORK_LIMITS.bytes
    super({
      work: planning ?? NETWORK_LIMITS.planning,
      // Constants that are made in advance are copied into the network's memory.
      bytes: most / 2,
      signal,
      refuse: ({ what, asked, most }) =>
        what === 'work'
          ? beyond('planning', `planning it takes ${asked} units of work`, asked, most)
          : beyond('bytes', `constants that are computed in advance hold ${asked} bytes`, asked, 2 * most),
    })
    this.#steps = steps ?? NETWORK_LIMITS.steps
    this.#bytes = most
  }

  /** Charges for steps of a run. `node`: who takes them. */
  step(node: string, steps: number): void {
    this.#asked += steps
    if (!(this.#asked <= this.#steps))
      throw beyond('steps', `a run takes ${this.#asked} steps up to node ${node}`, this.#asked, this.#steps)
  }

  /** Forgets the steps of a program that is made again. */
  startAgain(): void {
    this.#asked = 0
  }

  /** Checks the bytes that a run holds at once. `what`: which, as a noun. */
  room(what: string, bytes: number): void {
    if (!(bytes <= this.#bytes)) throw beyond('bytes', `${what} takes ${bytes} bytes`, bytes, this.#bytes)
  }
}

const beyond = (limit: keyof NetworkLimits, what: string, asked: number, most: number): HalfbyteError =>
  new HalfbyteError(
    'out-of-memory',
    `the network asks for too much: ${what} where its limit is ${most}; give smaller inputs, or raise limits.${limit} of Network.load if you trust the file`,
    { limit, asked, most },
  )
