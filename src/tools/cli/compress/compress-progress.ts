// The progress of `quantize`, `prune` and `calibrate`: the phase, and the time that the run still needs.
import type { WalkProgress } from '../../shrink/calibrate/walk.ts'
import { JobProgress } from '../terminal/job-progress.ts'
import { megabytes, overwrite, shareProgress } from '../terminal/output.ts'

type Phase = 'hashing' | 'surveying' | 'solving' | 'writing' | 'comparing'

/** The sizes from which the costs of the phases follow. */
interface JobSize {
  readonly parameters: number
  /** Of the stored weights. */
  readonly weightBytes: number
  /** Tokens to calibrate on, and held-out tokens. */
  readonly tokens: number
  readonly held: number
  /** True if all blocks are visited once before the first is solved. */
  readonly isSurveyed: boolean
}

/** Milliseconds on a typical machine; only their ratios matter. */
const COSTS = {
  /** Per byte. */
  hashing: 2e-6,
  writing: 8e-6,
  /** Per parameter and token: the products' inputs with and without drift, and their sums. */
  inputs: 6e-7,
  /** Per parameter: the solver's own work. */
  solving: 8e-4,
  /** Per parameter and token: both models. */
  comparing: 1.5e-7,
  /** Per parameter: loading both models. */
  loading: 1e-5,
} as const

function costsOf({ parameters, weightBytes, tokens, held, isSurveyed }: JobSize): Record<Phase, number> {
  const inputs = COSTS.inputs * parameters * tokens
  return {
    hashing: COSTS.hashing * weightBytes,
    surveying: isSurveyed ? inputs : 0,
    solving: tokens === 0 ? COSTS.writing * parameters : inputs + COSTS.solving * parameters,
    writing: COSTS.writing * weightBytes,
    comparing: held === 0 ? 0 : parameters * (COSTS.comparing * held + COSTS.loading),
  }
}

/** Shows each phase with the time left. */
export class CompressProgress {
  readonly #job: JobProgress<Phase>
  readonly #isSurveyed: boolean
  #phase: 'surveying' | 'solving'
  #segment = 0

  constructor(size: JobSize) {
    this.#job = new JobProgress(costsOf(size))
    this.#isSurveyed = size.isSurveyed
    this.#phase = size.isSurveyed ? 'surveying' : 'solving'
  }

  readonly hashed = (done: number, total: number): void =>
    overwrite(
      `hashing weights, ${megabytes(done)} of ${megabytes(total)} MB${this.#job.at('hashing', done / total)}`,
    )

  readonly walked = ({ segment, segments, what, done, total }: WalkProgress): void => {
    if (this.#isSurveyed && segment < this.#segment) this.#phase = 'solving'
    this.#segment = segment
    const left = this.#job.at(this.#phase, segment / segments)
    overwrite(`block ${segment + 1} of ${segments}: ${what}, ${done} of ${total}${left}`)
  }

  readonly written = (done: number, total: number): void =>
    overwrite(`writing, ${Math.floor((100 * done) / total)} %${this.#job.at('writing', done / total)}`)

  readonly compared = (done: number, total: number): void =>
    overwrite(
      `comparing with the original: window ${done} of ${total}${this.#job.at('comparing', done / total)}`,
    )
}

/** Shows a walk that is the whole job. */
export function walkProgress(): (progress: WalkProgress) => void {
  const show = shareProgress()
  return ({ segment, segments, what, done, total }) =>
    show(`block ${segment + 1} of ${segments}: ${what}, ${done} of ${total}`, segment / segments)
}
