// The progress of `quantize`, `prune` and `calibrate`: the phase, and the time that the run still needs.
import type { WalkProgress } from '../../shrink/calibrate/walk.ts'
import { hashingText, overwrite, shareProgress } from '../terminal/output.ts'
import { ShrinkProgress } from './shrink-progress.ts'

/** The sizes from which the costs of the phases follow. */
interface JobSize {
  readonly parameters: number
  /** Total size of the stored weights. */
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

function costsOf({ parameters, weightBytes, tokens, held, isSurveyed }: JobSize) {
  const inputs = COSTS.inputs * parameters * tokens
  return {
    hashing: COSTS.hashing * weightBytes,
    surveying: isSurveyed ? inputs : 0,
    solving: tokens === 0 ? COSTS.writing * parameters : inputs + COSTS.solving * parameters,
    writing: COSTS.writing * weightBytes,
    loading: held === 0 ? 0 : COSTS.loading * parameters,
    comparing: COSTS.comparing * parameters * held,
  }
}

/** About how long it takes to compress a model and write it, in milliseconds on one typical core. */
export function compressMs(size: Pick<JobSize, 'parameters' | 'weightBytes' | 'tokens'>): number {
  const { hashing, solving, writing } = costsOf({ ...size, held: 0, isSurveyed: false })
  return hashing + solving + writing
}

/** Shows each phase with the time left. */
export class CompressProgress extends ShrinkProgress<'hashing' | 'surveying' | 'solving'> {
  readonly #isSurveyed: boolean
  #phase: 'surveying' | 'solving'
  #segment = 0

  constructor(size: JobSize) {
    super(costsOf(size), 'window')
    this.#isSurveyed = size.isSurveyed
    this.#phase = size.isSurveyed ? 'surveying' : 'solving'
  }

  readonly hashed = (done: number, total: number): void =>
    overwrite(hashingText(done, total), this.job.at('hashing', done / total))

  readonly walked = (progress: WalkProgress): void => {
    const { segment, segments } = progress
    if (this.#isSurveyed && segment < this.#segment) this.#phase = 'solving'
    this.#segment = segment
    overwrite(walkText(progress), this.job.at(this.#phase, segment / segments))
  }
}

/** Shows a walk that is the whole job. */
export function walkProgress(): (progress: WalkProgress) => void {
  const show = shareProgress()
  return (progress) => show(walkText(progress), progress.segment / progress.segments)
}

export const walkText = ({ segment, segments, what, done, total }: WalkProgress): string =>
  `block ${segment + 1} of ${segments}: ${what}, ${done} of ${total}`
