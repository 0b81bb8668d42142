// Runs all windows through a segment: up to each product, for the statistics of its inputs, and to its end.
//
// The values before the last product are stored, so that the segment's output takes only this product. The
// original model's weights do not change, so its output is computed in the same pass.
import type { ByteSource } from '../../../core/base/bytes.ts'
import type { Host } from '../../../core/runtime/host.ts'
import { type InputStats, InputSums } from '../matrix/hessian.ts'
import type { GramMachine } from './gram.ts'
import type { SegmentRunner, Tap, TapInputs, Window } from './segment-runner.ts'
import type { WorkFiles } from './work-files.ts'

/** A segment of one of the two models. */
export interface Side {
  readonly runner: SegmentRunner
  /** Reads the segment's input for a window. */
  readonly read: (index: number) => Promise<Window>
}

interface PassOptions {
  readonly gram: GramMachine
  readonly host: Host
  readonly signal: AbortSignal
  readonly windows: readonly unknown[]
  readonly work: WorkFiles
  /** The work file of the values before the last product. */
  readonly file: string
  readonly report: (what: string, done: number) => void
}

export class SegmentPass {
  readonly #main: Side
  readonly #float: Side | undefined
  readonly #last: Tap | undefined
  readonly #options: PassOptions
  #ahead: ByteSource | undefined

  /**
   * `sides`: the compressed model, and the original one if drift is measured. `last`: the segment's last
   * product if its output will be needed.
   */
  constructor(sides: readonly Side[], last: Tap | undefined, options: PassOptions) {
    const [main, float] = sides as [Side, Side?]
    this.#main = main
    this.#float = float
    this.#last = last
    this.#options = options
  }

  /** Throws `integrity` if an input is not finite, and what the runner and the work files throw. */
  async stats(tap: Tap, name: string): Promise<InputStats> {
    const sums = new InputSums(name, tap.k)
    const pass = this.#addWindows(tap, name, sums)
    const { gram, work, file } = this.#options
    gram.begin(tap)
    if (tap !== this.#last) for await (const _ of pass);
    else {
      await work.write(file, pass)
      this.#ahead = await work.open(file)
    }
    gram.read(tap, sums)
    return sums.done()
  }

  /** The output of a side for each window. */
  async *outputs(side: number): AsyncGenerator<Uint8Array> {
    const { windows, report } = this.#options
    for (const index of windows.keys()) {
      report('its output', index)
      yield bytesOf(await (side === 0 ? this.#mainOutput(index) : this.#floatOutput(index)))
      await this.#pause()
    }
  }

  /** Adds all windows to `sums`. At the last product, yields what `outputs` needs of each window. */
  async *#addWindows(tap: Tap, name: string, sums: InputSums): AsyncGenerator<Uint8Array> {
    const { runner, read } = this.#main
    const isLast = tap === this.#last
    for (const index of this.#options.windows.keys()) {
      this.#options.report(name, index)
      const own = await runner.inputs(tap, await read(index))
      const was = await this.#float?.runner.inputs(tap, await this.#float.read(index), isLast)
      if (isLast && runner.endsWith(tap))
        for (const part of [own.x, own.residual]) if (part) yield bytesOf(part)
      if (was?.output !== undefined) yield bytesOf(was.output)
      sums.addRows(own.x)
      if (was !== undefined) subtractInputs(was, own)
      await this.#options.gram.add(tap, own.x, was)
      await this.#pause()
    }
  }

  async #mainOutput(index: number): Promise<Float32Array> {
    const { runner, read } = this.#main
    const tap = this.#last
    if (this.#ahead === undefined || tap?.residual === undefined || !runner.endsWith(tap))
      return runner.outputs(await read(index))
    const values = await this.#stored(this.#ahead, index)
    const [end, last] = this.#ends(tap, values)
    return runner.outputsFrom(tap, { x: values.subarray(0, end), residual: values.subarray(end, last) })
  }

  async #floatOutput(index: number): Promise<Float32Array> {
    const { runner, read } = this.#float as Side
    if (this.#ahead === undefined || this.#last === undefined) return runner.outputs(await read(index))
    const values = await this.#stored(this.#ahead, index)
    const [, last] = this.#ends(this.#last, values)
    return values.subarray(last)
  }

  /** Where the inputs and the residual of the last product end among the stored values of a window. */
  #ends(tap: Tap, values: Float32Array): readonly [number, number] {
    const { runner } = this.#main
    if (tap.residual === undefined || !runner.endsWith(tap)) return [0, 0]
    const { width } = tap.residual
    const rows = values.length / (tap.k + width + (this.#float === undefined ? 0 : width))
    return [rows * tap.k, rows * (tap.k + width)]
  }

  async #stored(file: ByteSource, index: number): Promise<Float32Array> {
    const { windows, signal } = this.#options
    const length = file.size / windows.length
    // The bytes may be unaligned within their buffer.
    return new Float32Array((await file.read(index * length, length, signal)).slice().buffer)
  }

  /** Lets an abort arrive. */
  async #pause(): Promise<void> {
    await this.#options.host.yieldTask()
    this.#options.signal.throwIfAborted()
  }
}

/** Changes the original model's inputs and residual to their differences from the compressed model's. */
function subtractInputs(was: TapInputs, own: TapInputs): void {
  subtract(was.x, own.x)
  if (was.residual !== undefined && own.residual !== undefined) subtract(was.residual, own.residual)
}

function subtract(left: Float32Array, right: Float32Array): void {
  for (let i = 0; i < left.length; i++) left[i]! -= right[i]!
}

const bytesOf = ({ buffer, byteOffset, byteLength }: Float32Array): Uint8Array =>
  new Uint8Array(buffer, byteOffset, byteLength)
