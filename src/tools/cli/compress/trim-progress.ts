// The progress of `trim`: the phase, and the time that the run still needs.
import { stat } from 'node:fs/promises'
import { overwrite } from '../terminal/output.ts'
import { ShrinkProgress } from './shrink-progress.ts'

interface TrimSize {
  /** Total size of the texts. */
  readonly textBytes: number
  readonly parameters: number
  /** Tokens for which the table is solved, and numbers in it; 0 if it is not solved. */
  readonly solvedTokens: number
  readonly tableSize: number
  /** Maximum held-out tokens. */
  readonly held: number
}

/** Milliseconds on a typical machine; only their ratios matter. */
const COSTS = {
  /** Per byte of text; the proof encodes and decodes with both tokenizers. */
  counting: 5e-4,
  proving: 2e-3,
  /** Per parameter and token, and per number of the table. */
  hidden: 5e-8,
  solving: 1e-3,
  /** Per parameter. */
  writing: 1e-5,
  loading: 1e-5,
  comparing: 1e-7,
} as const

export class TrimProgress extends ShrinkProgress<'counting' | 'proving' | 'solving'> {
  readonly #textBytes: number
  readonly #read = { counting: 0, proving: 0 }

  constructor({ textBytes, parameters, solvedTokens, tableSize, held }: TrimSize) {
    const costs = {
      counting: COSTS.counting * textBytes,
      proving: COSTS.proving * textBytes,
      solving: COSTS.hidden * parameters * solvedTokens + COSTS.solving * tableSize,
      writing: COSTS.writing * parameters,
      loading: held === 0 ? 0 : COSTS.loading * parameters,
      comparing: COSTS.comparing * parameters * held,
    }
    super(costs, 'text')
    this.#textBytes = textBytes
  }

  readonly counted = (text: string): void => this.#text('counting', 'counting tokens', text)
  readonly proven = (text: string): void => this.#text('proving', 'reading and writing texts', text)

  readonly solved = ({ what, done, total }: { what: string; done: number; total: number }): void => {
    // The hidden states are followed by the rows; only the rows take long.
    const left = this.job.at('solving', what.startsWith('rows of ') ? done / total : 0)
    overwrite(`solving the table, ${what}: ${done} of ${total}`, left)
  }

  #text(phase: 'counting' | 'proving', what: string, text: string): void {
    this.#read[phase] += text.length
    const share = Math.min(1, this.#read[phase] / Math.max(1, this.#textBytes))
    overwrite(`${what}, ${Math.floor(100 * share)} %`, this.job.at(phase, share))
  }
}

/** Total bytes of the files that exist; missing ones are reported when they are read. */
export async function bytesOf(files: readonly string[]): Promise<number> {
  const sizes = await Promise.all(
    files.map((file) =>
      stat(file).then(
        ({ size }) => size,
        () => 0,
      ),
    ),
  )
  return sizes.reduce((sum, size) => sum + size, 0)
}
