// The progress of writing a smaller model and comparing it with the original.
import { JobProgress } from '../terminal/job-progress.ts'
import { overwrite, writingText } from '../terminal/output.ts'

type LastPhase = 'writing' | 'loading' | 'comparing'

/** Shows each phase with the time left. */
export class ShrinkProgress<Phase extends string> {
  protected readonly job: JobProgress<Phase | LastPhase>
  readonly #unit: string

  /** `costs`: see `JobProgress`. `unit`: what is compared, for example `window`. */
  constructor(costs: Readonly<Record<Phase | LastPhase, number>>, unit: string) {
    this.job = new JobProgress(costs)
    this.#unit = unit
  }

  readonly written = (done: number, total: number): void =>
    overwrite(writingText(done, total), this.job.at('writing', done / total))

  readonly loading = (): void => overwrite('loading both models', this.job.at('loading', 0))

  readonly compared = (done: number, total: number): void =>
    overwrite(
      `comparing with the original: ${this.#unit} ${done} of ${total}`,
      this.job.at('comparing', done / total),
    )
}
