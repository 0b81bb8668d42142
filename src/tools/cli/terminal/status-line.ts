// The line that says what a command is doing. In: texts, as the work goes on. Out: a terminal's last line;
// without a terminal, a new line from time to time. Neither is silent for more than five seconds while work
// goes on.
import { visibleLine } from './failure.ts'
import type { TimeLeft } from './job-progress.ts'

/** The longest silence: a little less than promised, because timers fire late. */
const QUIET_MS = 4500
const TICK_MS = 1000

interface StatusOutput {
  /** Milliseconds. */
  readonly now: () => number
  /**
   * Columns of a terminal whose last line can be replaced; undefined if lines are written one after another.
   */
  readonly columns: () => number | undefined
  readonly write: (text: string) => void
  /** Calls `tick` regularly until the returned function is called. */
  readonly every: (ms: number, tick: () => void) => () => void
}

export class StatusLine {
  readonly #output: StatusOutput
  #text = ''
  #left: TimeLeft = () => ''
  #changedAt = 0
  /** When something was written; undefined before the first text. */
  #writtenAt: number | undefined
  #stop: (() => void) | undefined

  constructor(output: StatusOutput) {
    this.#output = output
  }

  /** Replaces the text. `left`: the time that follows it, called again whenever the text is repeated. */
  show(text: string, left: TimeLeft = () => ''): void {
    const now = this.#output.now()
    this.#left = left
    if (text !== this.#text) this.#changedAt = now
    this.#text = text
    this.#writtenAt ??= now
    this.#stop ??= this.#output.every(TICK_MS, () => this.#tick())
    const columns = this.#output.columns()
    if (columns !== undefined || now - this.#writtenAt >= QUIET_MS) this.#write(text, columns)
  }

  /** Removes the text. */
  clear(): void {
    if (this.#text !== '' && this.#output.columns() !== undefined) this.#output.write('\r\x1b[K')
    this.#text = ''
    this.#stop?.()
    this.#stop = undefined
  }

  /** Shows that the work continues. */
  #tick(): void {
    const now = this.#output.now()
    if (this.#text === '' || now - (this.#writtenAt ?? now) < QUIET_MS) return
    const seconds = Math.round((now - this.#changedAt) / 1000)
    this.#write(seconds < 1 ? this.#text : `${this.#text} (${seconds} s)`, this.#output.columns())
  }

  #write(text: string, columns: number | undefined): void {
    this.#writtenAt = this.#output.now()
    const line = visibleLine(text + this.#left())
    this.#output.write(
      columns === undefined ? `${line}\n` : `\r\x1b[K${line.slice(0, Math.max(1, columns - 1))}`,
    )
  }
}
