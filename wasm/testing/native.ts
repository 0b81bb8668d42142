// The exports of the kernels compiled for this machine under sanitizers, called in a separate process where
// all memory except the operands is poisoned (wasm/native/host.c).
import { spawn, spawnSync } from 'node:child_process'
import {
  appendFileSync,
  closeSync,
  constants,
  existsSync,
  ftruncateSync,
  mkdtempSync,
  openSync,
  readFileSync,
  readSync,
  rmSync,
  writeSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ABI } from '../../src/core/abi/constants.ts'
import { ENCODINGS } from '../../src/core/abi/encodings.ts'
import { OPS, type OpName, opEntry } from '../../src/core/abi/ops.ts'
import { type Build, DOT_FORM, type TestExports } from './machine.ts'

/** Whether tests run native kernels: `npm run test:sanitizers` sets it. */
export const isNative = process.env.HALFBYTE_KERNELS === 'native'

const folder = new URL('../../build/native/', import.meta.url)
/**
 * Constants of host.c: the first address in its file, the bytes that it maps, and the bytes of a call's name
 * and head.
 */
const MEMORY = 0x100000
const MEMORY_BYTES = 0x30000000
const NAME_BYTES = 32
const HEAD_BYTES = 48
/** Operands that are closer to each other than this are copied together, with the bytes in between. */
const NEAR_BYTES = 4096

/** Address and size of each operand. */
export type Operands = readonly (readonly [at: number, bytes: number])[]

/** A process that serves calls until one of them kills it, and its last output. */
class Host {
  readonly #input: number
  readonly #output: number
  readonly #memory: number
  readonly #report: string

  constructor(program: string) {
    if (!existsSync(program)) throw new Error('the native kernels are not built; run npm run test:sanitizers')
    const place = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'halfbyte-native-'))
    process.once('exit', () => rmSync(place, { recursive: true, force: true }))
    const paths = ['input', 'output', 'memory', 'report'].map((name) => join(place, name))
    const [input, output, memory, report] = paths as [string, string, string, string]
    spawnSync('mkfifo', [input, output])
    this.#memory = openSync(memory, 'w+')
    ftruncateSync(this.#memory, MEMORY_BYTES)
    this.#report = report
    // Both pipes exist before either is opened, because opening one waits for the other.
    const itsInput = openSync(input, constants.O_RDONLY | constants.O_NONBLOCK)
    this.#input = openSync(input, constants.O_WRONLY)
    const both = openSync(output, constants.O_RDWR)
    this.#output = openSync(output, constants.O_RDONLY)
    const itsReport = openSync(report, 'w')
    spawn(program, [memory], { stdio: [itsInput, both, itsReport] }).unref()
    for (const end of [itsInput, both, itsReport]) closeSync(end)
  }

  /**
   * Throws the sanitizer's report if a call kills the process. The process cannot be used after that.
   */
  call(u8: Uint8Array, message: Uint8Array, operands: Operands): number {
    const spans = spansOf(operands)
    const result = Buffer.alloc(8)
    try {
      for (const [at, end] of spans) writeSync(this.#memory, u8, at, end - at, at - MEMORY)
      for (let done = 0; done < message.length; ) done += writeSync(this.#input, message, done)
      for (let done = 0; done < 8; ) {
        const count = readSync(this.#output, result, done, 8 - done, null)
        if (count === 0) throw new Error('the process has ended')
        done += count
      }
      for (const [at, end] of spans) readSync(this.#memory, u8, at, end - at, at - MEMORY)
    } catch (error) {
      for (const end of [this.#input, this.#output, this.#memory]) closeSync(end)
      throw new Error(readFileSync(this.#report, 'utf8') || String(error))
    }
    return result.readDoubleLE(0)
  }
}

/** The ranges of operands: first and last addresses. */
function spansOf(operands: Operands): [number, number][] {
  const spans: [number, number][] = []
  for (const [at, bytes] of operands) {
    const last = spans.at(-1)
    if (last !== undefined && at - last[1] < NEAR_BYTES) last[1] = Math.max(last[1], at + bytes)
    else spans.push([at, at + bytes])
  }
  return spans
}

const hosts = new Map<string, Host>()
const seen = new Set<string>()

/** The exports of `build`. `operands` is called for each call. */
export function nativeExports(
  build: Build,
  memory: WebAssembly.Memory,
  operands: () => Operands,
): TestExports {
  const isa = build.split(' ')[0]!
  const call = (name: string, given: readonly number[]): number => {
    if (name === 'choose_dots') return 0
    note(build, name, given, new Uint32Array(memory.buffer))
    const host = hosts.get(isa) ?? new Host(fileURLToPath(new URL(`halfbyte-${isa}`, folder)))
    hosts.set(isa, host)
    const regions = operands().toSorted(([a], [b]) => a - b)
    const message = Buffer.alloc(HEAD_BYTES + (given.length + regions.length) * 8)
    message.write(name)
    for (const [index, word] of [DOT_FORM[build], given.length, regions.length].entries())
      message.writeUInt32LE(word, NAME_BYTES + index * 4)
    for (const [index, value] of given.entries()) message.writeDoubleLE(value, HEAD_BYTES + index * 8)
    new Uint32Array(message.buffer, message.byteOffset + HEAD_BYTES + given.length * 8).set(regions.flat())
    try {
      return host.call(new Uint8Array(memory.buffer), message, regions)
    } catch (error) {
      hosts.delete(isa)
      throw error
    }
  }
  const functions = new Map<string, (...given: number[]) => number>()
  return new Proxy({} as TestExports, {
    get: (_, name: string) => {
      const known = functions.get(name) ?? ((...given: number[]) => call(name, given))
      functions.set(name, known)
      return known
    },
  })
}

/**
 * Adds the code that a call runs to the coverage list: a function, and the kernel of each op with its
 * encoding.
 */
function note(build: Build, name: string, given: readonly number[], u32: Uint32Array): void {
  const kernels = name === 'run' ? kernelsOf(u32, given[1]!, given[3]!, given[4]!) : [name]
  for (const line of kernels.map((kernel) => `${build}: ${kernel}\n`)) {
    if (seen.has(line)) continue
    seen.add(line)
    appendFileSync(new URL('covered.txt', folder), line)
  }
}

/** The name of the entry with this code. */
const nameOf = <Name extends string>(
  table: Readonly<Record<Name, { readonly code: number }>>,
  code: number | undefined,
) => (Object.keys(table) as Name[]).find((name) => table[name].code === code)

function kernelsOf(u32: Uint32Array, plan: number, first: number, last: number): string[] {
  return Array.from({ length: last - first }, (_, index) => {
    const word = (plan + (first + index) * ABI.OP_BYTES) / 4
    const name: OpName | undefined = nameOf(OPS, u32[word])
    if (name === undefined) return 'none'
    const field = opEntry(name).fields.indexOf('encoding')
    const encoding = field < 0 ? undefined : nameOf(ENCODINGS, u32[word + 2 + field])
    return encoding === undefined ? name : `${name} ${encoding}`
  })
}
