// Shared by the soak scripts: options, counts of checks, and the log.
import { mkdir, writeFile } from 'node:fs/promises'
import { cpus } from 'node:os'
import { join } from 'node:path'
import { Command } from 'commander'
import type { Check } from './rounds.ts'
import { memoryPlot, type Sample } from './trend.ts'

interface SoakOptions {
  readonly minutes: number
  /** Number of rounds after which the run ends, regardless of the time. */
  readonly rounds?: number
  readonly seed: number
  readonly folder: string
}

/** Options of a script that writes `file`.json and `file`.svg. `options` adds its own. */
interface SoakScript {
  readonly options?: (command: Command) => Command
  readonly name: string
  readonly description: string
  readonly minutes: number
  readonly file: string
}

/** Seconds between two memory samples. */
const SAMPLE_SECONDS = 4

const MB = (bytes: number): string => (bytes / 1e6).toFixed(1)

/** One run: reads the command-line options, then keeps time, checks and samples. */
export class SoakRun<Own extends object = object> {
  readonly options: SoakOptions & Own
  readonly samples: Sample[] = []
  readonly failed: Check[] = []
  passed = 0
  rounds = 0
  readonly #file: string
  #start = performance.now()
  #printed = 0

  constructor({ name, description, minutes, file, options = (command) => command }: SoakScript) {
    this.#file = file
    this.options = options(new Command(name))
      .description(description)
      .option('--minutes <n>', 'how long', Number, minutes)
      .option('--rounds <n>', 'number of rounds, regardless of the time', Number)
      .option('--seed <n>', 'seed of all random choices', Number, 1)
      .option('--folder <path>', `folder for ${file}.json and ${file}.svg`, 'build/soak')
      .parse()
      .opts<SoakOptions & Own>()
  }

  /** The run's time starts here. */
  begin(): void {
    this.#start = performance.now()
  }

  get minute(): number {
    return (performance.now() - this.#start) / 60_000
  }

  get isOver(): boolean {
    const { minutes, rounds } = this.options
    return rounds === undefined ? this.minute >= minutes : this.rounds >= rounds
  }

  /** Whether the last sample is old enough for another. */
  get isDue(): boolean {
    return (this.minute - this.samples.at(-1)!.minute) * 60 >= SAMPLE_SECONDS
  }

  count(checks: readonly Check[]): void {
    for (const check of checks) {
      if (check.holds) this.passed++
      else {
        this.failed.push(check)
        console.log(`FAILED ${check.what}`)
      }
    }
  }

  get counts(): string {
    return `${this.passed} passed, ${this.failed.length} failed`
  }

  /** Prints a line about the last sample, once a minute. */
  print(done: string): void {
    const { minute } = this
    if (minute < this.#printed) return
    this.#printed = Math.floor(minute) + 1
    const { heapBytes, residentBytes, files } = this.samples.at(-1)!
    console.log(
      `minute ${minute.toFixed(1)}: ${done}, heap ${MB(heapBytes)} MB, resident ${MB(residentBytes)} MB, ` +
        `${files} files, ${this.counts}`,
    )
  }

  /** Writes the log and the plot, and sets the exit code. `more`: this script's own counters. */
  async end(more: object): Promise<void> {
    const { options, samples, failed, passed } = this
    const machine = `${cpus().length} x ${cpus()[0]?.model}, Node ${process.version}`
    const about = { date: new Date().toISOString(), machine, ...options }
    const log = { about, passed, failed: failed.length, failures: failed, ...more, samples }
    await mkdir(options.folder, { recursive: true })
    await writeFile(join(options.folder, `${this.#file}.json`), `${JSON.stringify(log, undefined, 1)}\n`)
    await writeFile(join(options.folder, `${this.#file}.svg`), memoryPlot(samples))
    process.exitCode = failed.length === 0 && passed > 0 ? 0 : 1
  }
}
