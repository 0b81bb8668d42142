// The progress of `tune`: what it does, and the time left of all its phases.
import { availableParallelism } from 'node:os'
import { compressMs, walkText } from '../compress/compress-progress.ts'
import { duration, JobProgress } from '../terminal/job-progress.ts'
import { hashingText, overwrite, writingText } from '../terminal/output.ts'

/** The sizes from which the times follow. */
interface TuneSize {
  readonly parameters: number
  readonly weightBytes: number
  /** Tokens to calibrate on; 0 if weights are rounded. */
  readonly calibrationTokens: number
  readonly heldTokens: number
  /** Tokens that both models may write. */
  readonly answerTokens: number
  readonly threads: number | 'auto'
}

/** Milliseconds per parameter and token of a held-out sequence, and of an answer. */
const READ = 4e-8
const WRITE = 2e-7

/** Milliseconds after the training. */
function costsOf({ threads, heldTokens, answerTokens, ...size }: TuneSize) {
  const cores = threads === 'auto' ? availableParallelism() : threads
  const compressing = compressMs({ ...size, tokens: size.calibrationTokens }) / cores
  const running = size.parameters * (READ * heldTokens + (WRITE * answerTokens) / 2)
  return {
    compressingBase: compressing,
    compressingTuned: compressing,
    runningBase: running,
    runningTuned: running,
  }
}

type Which = 'base' | 'tuned'
const COMPRESSING = { base: 'compressingBase', tuned: 'compressingTuned' } as const
const RUNNING = { base: 'runningBase', tuned: 'runningTuned' } as const
const NAMES = { base: 'the base model', tuned: 'the tuned model' } as const

export class TuneProgress {
  readonly #costs: ReturnType<typeof costsOf>
  #job: JobProgress<'training' | keyof ReturnType<typeof costsOf>>

  constructor(size: TuneSize) {
    this.#costs = costsOf(size)
    this.#job = new JobProgress({ training: 0, ...this.#costs })
  }

  /**
   * `trainingMs`: of the whole training, measured. Returns how long all will take, as a sentence's end, if
   * `share` of the training is done.
   */
  timed(trainingMs: number, share: number): string {
    this.#job = new JobProgress({ training: trainingMs, ...this.#costs })
    this.#job.at('training', share)
    const training = trainingMs * (1 - share)
    const rest = Object.values(this.#costs).reduce((sum, each) => sum + each, 0)
    return `about ${duration(training + rest)} in all: ${duration(training)} to train, ${duration(rest)} to compress and compare`
  }

  readonly trained = (step: number, steps: number, loss: number): void =>
    overwrite(
      `training, step ${step} of ${steps}: loss ${loss.toFixed(3)}`,
      this.#job.at('training', step / steps),
    )

  /** The callbacks of a compression. */
  compressing(which: Which) {
    const show = (text: string, share: number) =>
      overwrite(`compressing ${NAMES[which]}: ${text}`, this.#job.at(COMPRESSING[which], share))
    return {
      hashed: (done: number, total: number) => show(hashingText(done, total), 0),
      walked: (progress: Parameters<typeof walkText>[0]) =>
        show(walkText(progress), (0.98 * progress.segment) / progress.segments),
      written: (done: number, total: number) => show(writingText(done, total), 0.98 + (0.02 * done) / total),
    }
  }

  readonly running =
    (which: Which) =>
    (done: number, total: number): void =>
      overwrite(
        `running ${NAMES[which]} on held-out examples: ${done} of ${total}`,
        this.#job.at(RUNNING[which], done / total),
      )
}
