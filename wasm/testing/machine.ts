// A machine: a build of the kernels with poisoned memory for operands. It runs ops with the kernels or with
// their definitions.
import { existsSync, readFileSync } from 'node:fs'
import { ABI, ROWS, SEQUENCE_WORDS, STEP_WORDS } from '../../src/core/abi/constants.ts'
import { type Encoding, matrixBytes, roundUp } from '../../src/core/abi/encodings.ts'
import { FLOAT_FIELDS, OPS, type OpName } from '../../src/core/abi/ops.ts'
import { detectFeatures } from '../../src/core/runtime/features.ts'
import type { EngineExports } from '../../src/core/runtime/module.ts'
import { isNative, nativeExports, type Operands } from './native.ts'

/**
 * A build that tests run: a module and a dot form, regardless of what this machine would choose.
 */
export type Build = 'relaxed' | 'relaxed pairs' | 'relaxed wide' | 'simd128' | 'simd128 products'
const hasRelaxed = isNative || detectFeatures(globalThis).relaxedSimd
/**
 * The forms with defined results here: the wide form needs a dot with two signed operands, which x64 lacks.
 */
export const BUILDS: readonly Build[] = [
  ...(hasRelaxed ? (['relaxed', 'relaxed pairs'] as const) : []),
  ...(['simd128', 'simd128 products'] as const),
  ...(hasRelaxed && (process.arch === 'arm64' || isNative) ? (['relaxed wide'] as const) : []),
]
/** `enum dot_form` of wasm/simd/simd.h. */
export const DOT_FORM = {
  relaxed: 0,
  'relaxed pairs': 1,
  'relaxed wide': 2,
  simd128: 0,
  'simd128 products': 3,
} as const

/** The exports of the test modules besides the engine's own: see wasm/testing/*.c. */
export interface TestExports extends EngineExports {
  reference(op: number, step: number): void
  /** One of DOT_FORM. */
  choose_dots(form: number): void
  /** The form that run() uses, or -1 before it has chosen. */
  dots_in_use(): number
  make_claimer(to: number, thread: number, threads: number): void
  claim(sync: number, claimer: number, count: number): number
  exponential(y: number, scalar: number, x: number, n: number): void
  step_size(y: number, scalar: number, x: number, n: number): void
  power_of_two(y: number, scalar: number, x: number, n: number): void
}

export function readModule(build: Build, kind: 'plain' | 'shared'): WebAssembly.Module {
  const file = new URL(`../../build/test-wasm/halfbyte-${build.split(' ')[0]}-${kind}.wasm`, import.meta.url)
  if (!existsSync(file)) throw new Error('the kernels are not built; run npm run build:wasm')
  return new WebAssembly.Module(readFileSync(file))
}

/** f32 or a8 rows in a machine's memory. */
export interface Rows {
  readonly at: number
  /** Bytes. */
  readonly stride: number
  readonly count: number
  readonly width: number
}

/**
 * Address of the first operand: after the data and the stack of any build, so that addresses are the same in
 * all builds.
 */
const BASE = 1 << 20
const PAGES = 160
/** Bytes between operands, which nothing may touch. */
const GAP = 96
const POISON = 0xff
/**
 * Poisoned bytes after the last operand. Poisoning the rest of memory would cost more than most scenes,
 * because the system first clears each page.
 */
const REACH = 1 << 16

export class Machine {
  readonly memory: WebAssembly.Memory
  readonly exports: TestExports
  readonly ops: number[] = []
  readonly u8: Uint8Array
  readonly i32: Int32Array
  readonly u32: Uint32Array
  readonly f32: Float32Array
  step = 0
  #next = BASE
  /** Everything between BASE and this address is poison, unless it has been written since. */
  #poisoned = BASE
  #scratch: number
  readonly #operands = new Map<number, number>()

  constructor(module: WebAssembly.Module, build: Build, shared = false, used?: WebAssembly.Memory) {
    this.memory =
      used ?? new WebAssembly.Memory(shared ? { initial: PAGES, maximum: 65536, shared } : { initial: PAGES })
    if (used !== undefined) new Uint8Array(used.buffer).fill(0, 0, BASE)
    this.exports =
      isNative && !shared
        ? nativeExports(build, this.memory, () => this.operands())
        : (new WebAssembly.Instance(module, { env: { memory: this.memory } })
            .exports as unknown as TestExports)
    this.exports.choose_dots(DOT_FORM[build])
    const { buffer } = this.memory
    this.u8 = new Uint8Array(buffer)
    this.i32 = new Int32Array(buffer)
    this.u32 = new Uint32Array(buffer)
    this.f32 = new Float32Array(buffer)
    this.#scratch = this.u8.length
  }

  /** Poisoned bytes with poison around them. */
  allocate(bytes: number): number {
    const at = this.#next
    this.#operands.set(at, bytes)
    this.#next = roundUp(at + bytes + GAP, 16)
    if (this.#next > this.#scratch) throw new Error(`the test needs more than ${this.u8.length} bytes`)
    if (this.#poisoned < this.#next + GAP) {
      const end = Math.min(this.#next + REACH, this.#scratch)
      this.u8.fill(POISON, this.#poisoned, end)
      this.#poisoned = end
    }
    return at
  }

  /** Bytes at the end of memory, which `image` does not include, so kernels may leave anything there. */
  scratch(bytes: number): number {
    const end = this.#scratch
    this.#scratch = (end - bytes) & ~63
    this.#operands.set(this.#scratch, bytes)
    if (this.#next > this.#scratch) throw new Error(`the test needs more than ${this.u8.length} bytes`)
    this.u8.fill(POISON, this.#scratch, end)
    return this.#scratch
  }

  /** All allocated memory, exact to the byte. */
  operands(): Operands {
    return [...this.#operands].filter(([, bytes]) => bytes > 0)
  }

  /** Poisoned rows. Their `bytes` are operands, but not the bytes between them. */
  #rowsOf(count: number, stride: number, bytes: number): number {
    const at = this.allocate(count * stride)
    for (let m = 0; m < count; m++) this.#operands.set(at + m * stride, bytes)
    return at
  }

  /** Makes the word after the lanes of each row, and everything up to it, part of the operand. */
  wordBehind({ at, stride, count, width }: Rows): void {
    for (let m = 0; m < count; m++) this.#operands.set(at + m * stride, roundUp(width, 32) * 4 + 4)
  }

  words(values: readonly number[]): number {
    const at = this.allocate(values.length * 4)
    this.u32.set(values, at / 4)
    return at
  }

  /**
   * f32 rows. Lanes past `width` are zero up to a multiple of 32, then poison. Without values, rows are
   * poison.
   */
  rows(count: number, width: number, value?: (row: number, lane: number) => number): Rows {
    const stride = roundUp(width, 32) * 4 + 32
    const at = this.#rowsOf(count, stride, roundUp(width, 32) * 4)
    for (let m = 0; value !== undefined && m < count; m++) {
      for (let i = 0; i < roundUp(width, 32); i++)
        this.f32[(at + m * stride) / 4 + i] = i < width ? value(m, i) : 0
    }
    return { at, stride, count, width }
  }

  /** a8 rows: given codes, and a scale for each group; the sums follow. */
  a8Rows(
    count: number,
    width: number,
    code?: (row: number, lane: number) => number,
    scale?: (row: number, group: number) => number,
  ): Rows {
    const wide = roundUp(width, 32)
    const groups = wide / 32
    const stride = roundUp(wide + 8 * groups, 16) + 16
    const at = this.#rowsOf(count, stride, stride - 16)
    for (let m = 0; code !== undefined && m < count; m++) {
      const row = at + m * stride
      for (let g = 0; g < groups; g++) {
        let sum = 0
        for (let i = g * 32; i < g * 32 + 32; i++) {
          const q = i < width ? code(m, i) : 0
          this.u8[row + i] = q
          sum += q
        }
        this.f32[(row + wide) / 4 + g] = scale?.(m, g) ?? 1
        this.i32[(row + wide) / 4 + groups + g] = sum
      }
    }
    return { at, stride, count, width }
  }

  matrix(encoding: Encoding, n: number, k: number, fill: (bytes: Uint8Array, k: number) => void): number {
    const at = this.allocate(matrixBytes(encoding, n, k))
    fill(this.u8.subarray(at, at + matrixBytes(encoding, n, k)), k)
    return at
  }

  /** Appends an op record; `rows` defaults to tokens. */
  op(name: OpName, fields: Readonly<Record<string, number>>): void {
    const at =
      this.ops.length === 0 ? this.allocate(64 * ABI.OP_BYTES) : this.ops[0]! + this.ops.length * ABI.OP_BYTES
    this.u32.fill(0, at / 4, at / 4 + ABI.OP_BYTES / 4)
    this.u32[at / 4] = OPS[name].code
    for (const [index, field] of ['rows', ...OPS[name].fields].entries()) {
      const value = fields[field] ?? (field === 'rows' ? ROWS.tokens : 0)
      if (FLOAT_FIELDS.has(field)) this.f32[at / 4 + 1 + index] = value
      else this.u32[at / 4 + 1 + index] = value
    }
    this.ops.push(at)
  }

  /**
   * Writes the step's descriptor for sequences of (first position, rows, block addresses per state group).
   */
  setStep(options: {
    /** `whole`: rows attend to each other. Default: only to earlier rows. */
    sequences: readonly {
      position: number
      rows: number
      whole?: boolean | undefined
      tables?: readonly (readonly number[])[]
    }[]
    ids?: readonly number[]
    logitRows?: readonly number[]
    ropes?: readonly number[]
    /** Address of the rows that the step supplies itself. Default: none. */
    inputs?: number
  }): void {
    const { sequences, logitRows = [], ropes = [], inputs = 0 } = options
    const each = sequences.flatMap(({ position, rows }, index) =>
      Array.from({ length: rows }, (_, r) => ({ index, position: position + r })),
    )
    const records: number[] = []
    let row0 = 0
    for (const { position, rows, whole = false, tables = [] } of sequences) {
      const addresses = tables.map((table) => this.words(table))
      records.push(
        row0,
        rows,
        position,
        whole ? 1 : 0,
        ...addresses,
        ...new Array(ABI.MAX_STATE_GROUPS - addresses.length).fill(0),
      )
      row0 += rows
    }
    if (records.length !== sequences.length * SEQUENCE_WORDS) throw new Error('a sequence has the wrong size')
    const ids = this.words(options.ids ?? each.map(() => 0))
    const words = [
      each.length,
      sequences.length,
      logitRows.length,
      ids,
      this.words(each.map(({ index }) => index)),
      this.words(each.map(({ position }) => position)),
      this.words(records),
      this.words(logitRows),
      ...Array.from({ length: ABI.MAX_ROPES }, (_, index) => ropes[index] ?? 0),
      inputs,
    ]
    if (words.length !== STEP_WORDS) throw new Error('the step has the wrong size')
    this.step = this.words(words)
  }

  /** Runs every op, on one thread. */
  run(): void {
    const failed = this.exports.run(0, this.ops[0]!, this.step, 0, this.ops.length, 0, 1)
    if (failed !== 0) throw new Error('run failed')
  }

  /** Runs every op's scalar definition. */
  runReference(): void {
    for (const op of this.ops) this.exports.reference(op, this.step)
  }

  /** All memory used so far, including poison. */
  image(): Uint8Array {
    return this.u8.slice(BASE, this.#next)
  }

  floats({ at, stride, width }: Rows, row: number): Float32Array {
    return this.f32.slice((at + row * stride) / 4, (at + row * stride) / 4 + width)
  }

  /** Bytes of a row as the kernels must write it, including padding lanes. */
  rowBytes({ at, stride, width }: Rows, row: number, kind: 'f32' | 'a8'): Uint8Array {
    const wide = roundUp(width, 32)
    return this.u8.slice(at + row * stride, at + row * stride + (kind === 'f32' ? wide * 4 : wide + wide / 4))
  }

  /** The values of an a8 row. */
  dequantized({ at, stride, width }: Rows, row: number): Float32Array {
    const start = at + row * stride
    const scales = (start + roundUp(width, 32)) / 4
    return Float32Array.from(
      { length: width },
      (_, i) => ((this.u8[start + i]! << 24) >> 24) * this.f32[scales + (i >> 5)]!,
    )
  }
}

/**
 * The memory of the last machine that `compare` or `compareAll` finished with. Allocating a new memory costs
 * more than most scenes, because its pages are cleared one by one, and an emulated processor never frees
 * them.
 */
let used: WebAssembly.Memory | undefined
const modules = new Map<Build, WebAssembly.Module>()
/** used: the memory of a finished machine. */
export function plainMachine(build: Build, used?: WebAssembly.Memory): Machine {
  const module = modules.get(build) ?? readModule(build, 'plain')
  modules.set(build, module)
  return new Machine(module, build, false, used)
}

/**
 * Sets up the scene in three machines and runs it with the scalar definitions, the relaxed kernels and the
 * simd128 kernels. Returns the first machine and the first difference of the memories, including poison;
 * undefined if they are equal.
 */
export function compare(scene: (machine: Machine) => void): {
  machine: Machine
  difference: string | undefined
} {
  const machine = plainMachine('relaxed')
  scene(machine)
  machine.runReference()
  const expected = machine.image()
  for (const build of BUILDS) {
    const other = plainMachine(build, used)
    used = other.memory
    scene(other)
    other.run()
    const image = other.image()
    if (Buffer.compare(image, expected) === 0) continue
    const at = image.findIndex((byte, index) => byte !== expected[index]) & ~3
    const word = (bytes: Uint8Array) => new Float32Array(bytes.buffer, at, 1)[0]
    return { machine, difference: `${build} at ${BASE + at}: ${word(image)} instead of ${word(expected)}` }
  }
  return { machine, difference: undefined }
}

/**
 * Like `compare`, for many scenes, each run before the next is set up, all in one memory. Returns the names
 * of the scenes that differ, with the build.
 */
export function compareAll(
  scenes: Readonly<Record<string, (machine: Machine) => void>>,
  builds: readonly Build[] = BUILDS,
): string[] {
  const play = (build: Build, run: (machine: Machine) => void): Uint8Array[] => {
    const machine = plainMachine(build, used)
    used = machine.memory
    let from = 0
    return Object.values(scenes).map((scene) => {
      machine.ops.length = 0
      scene(machine)
      run(machine)
      const image = machine.image().subarray(from)
      from += image.length
      return image
    })
  }
  const expected = play(builds[0]!, (machine) => machine.runReference())
  return builds.flatMap((build) => {
    const images = play(build, (machine) => machine.run())
    return Object.keys(scenes)
      .filter((_, index) => Buffer.compare(images[index]!, expected[index]!) !== 0)
      .map((name) => `${name} on ${build}`)
  })
}

/**
 * A function of one number, computed as in kernels, with vectors and with scalars. The inputs must fill whole
 * vectors.
 */
export function evaluate(
  machine: Machine,
  name: 'exponential' | 'step_size' | 'power_of_two',
  inputs: Float32Array,
): { readonly vector: Float32Array; readonly scalar: Float32Array } {
  const place = () => machine.allocate(inputs.byteLength)
  const x = place()
  const y = place()
  const scalar = place()
  machine.f32.set(inputs, x / 4)
  machine.exports[name](y, scalar, x, inputs.length)
  const read = (at: number) => machine.f32.slice(at / 4, at / 4 + inputs.length)
  return { vector: read(y), scalar: read(scalar) }
}
