// Writes WebAssembly modules: functions as lists of instructions, and the sections around them.
import { joinBytes } from '../../../core/base/bytes.ts'
import {
  ALIGNMENTS,
  EXTRACT_LANE,
  LOAD_LANE,
  type MemoryName,
  memoryOpcode,
  type PlainName,
  plainOpcode,
  REPLACE_FLOAT_LANE,
  REPLACE_INTEGER_LANE,
  SHUFFLE,
  STORE_HALF,
  STORE_LANE,
  VECTOR_CONST,
  VECTOR_PREFIX,
  type VectorName,
  vectorOpcode,
} from './opcodes.ts'

type ValueType = 'i32' | 'i64' | 'v128'
const TYPES: Readonly<Record<ValueType, number>> = { i32: 0x7f, i64: 0x7e, v128: 0x7b }
const EMPTY = 0x40
/** log2 of 4: elements are aligned to their own size. */
const ALIGNED_TO_4 = 2
const ALIGNED_TO_8 = 3

/** A local variable of the function that created it. */
export interface Local {
  readonly index: number
  readonly type: ValueType
}

function leb(value: number): number[] {
  const bytes: number[] = []
  let rest = value >>> 0
  do {
    const more = rest > 0x7f
    bytes.push((rest & 0x7f) | (more ? 0x80 : 0))
    rest >>>= 7
  } while (rest > 0)
  return bytes
}

function signedLeb(value: bigint): number[] {
  const bytes: number[] = []
  let rest = value
  for (;;) {
    const byte = Number(rest & 0x7fn)
    rest >>= 7n
    const isLast = rest === ((byte & 0x40) === 0 ? 0n : -1n)
    bytes.push(isLast ? byte : byte | 0x80)
    if (isLast) return bytes
  }
}

/**
 * The body of one function. Its parameters are i32. Methods return the body, so that calls can be chained.
 */
export class FunctionBody {
  readonly #bytes: number[] = []
  readonly #locals: ValueType[] = []
  readonly #parameters: number

  constructor(parameters: number) {
    this.#parameters = parameters
  }

  parameter(index: number): Local {
    return { index, type: 'i32' }
  }

  local(type: ValueType): Local {
    this.#locals.push(type)
    return { index: this.#parameters + this.#locals.length - 1, type }
  }

  get({ index }: Local): this {
    return this.#indexed(0x20, index)
  }

  set({ index }: Local): this {
    return this.#indexed(0x21, index)
  }

  tee({ index }: Local): this {
    return this.#indexed(0x22, index)
  }

  /** Adds a constant to the local. */
  increase(local: Local, by: number): this {
    return this.get(local).number(by).plain('i32.add').set(local)
  }

  number(value: number): this {
    this.#bytes.push(0x41)
    let rest = value | 0
    for (; rest < -64 || rest >= 64; rest >>= 7) this.#bytes.push((rest & 0x7f) | 0x80)
    this.#bytes.push(rest & 0x7f)
    return this
  }

  /** An i64 with these bits. */
  long(value: bigint): this {
    this.#bytes.push(0x42)
    return this.#push(signedLeb(BigInt.asIntN(64, value)))
  }

  /** An f64. */
  double(value: number): this {
    this.#bytes.push(0x44)
    return this.#push(new Uint8Array(Float64Array.of(value).buffer))
  }

  plain(name: PlainName): this {
    this.#bytes.push(plainOpcode(name))
    return this
  }

  vector(name: VectorName): this {
    return this.#indexed(VECTOR_PREFIX, vectorOpcode(name))
  }

  /** The same f32 in all four lanes. */
  floats(value: number): this {
    return this.#constant(new Uint8Array(Float32Array.of(value, value, value, value).buffer))
  }

  /** The same f64 in both lanes. */
  doubles(value: number): this {
    return this.#constant(new Uint8Array(Float64Array.of(value, value).buffer))
  }

  /** The same i32 in all four lanes. */
  integers(value: number): this {
    return this.lanes([value, value, value, value])
  }

  /** Four i32 lanes. */
  lanes(values: readonly number[]): this {
    return this.#constant(new Uint8Array(Int32Array.from(values).buffer))
  }

  /** A load, splat or store at the address on the stack plus `offset` bytes. */
  memory(name: MemoryName, offset = 0): this {
    const alignment = ALIGNMENTS[name] ?? ALIGNED_TO_4
    return this.#indexed(VECTOR_PREFIX, memoryOpcode(name)).#indexed(alignment, offset)
  }

  load32(offset = 0): this {
    this.#bytes.push(0x28)
    return this.#indexed(ALIGNED_TO_4, offset)
  }

  store32(offset = 0): this {
    this.#bytes.push(0x36)
    return this.#indexed(ALIGNED_TO_4, offset)
  }

  /** A byte as an i32, from 0 to 255. */
  load8(offset = 0): this {
    this.#bytes.push(0x2d)
    return this.#indexed(0, offset)
  }

  store8(offset = 0): this {
    this.#bytes.push(0x3a)
    return this.#indexed(0, offset)
  }

  load64(offset = 0): this {
    this.#bytes.push(0x29)
    return this.#indexed(ALIGNED_TO_8, offset)
  }

  store64(offset = 0): this {
    this.#bytes.push(0x37)
    return this.#indexed(ALIGNED_TO_8, offset)
  }

  /** Replaces one lane of the vector on the stack. */
  loadLane(lane: number, offset = 0): this {
    return this.#lane(LOAD_LANE, lane, offset)
  }

  storeLane(lane: number, offset = 0): this {
    return this.#lane(STORE_LANE, lane, offset)
  }

  /** Stores the low (0) or high (1) eight bytes of the vector on the stack. */
  storeHalf(half: number, offset = 0): this {
    return this.#lane(STORE_HALF, half, offset)
  }

  extractLane(lane: number): this {
    this.#bytes.push(VECTOR_PREFIX, EXTRACT_LANE, lane)
    return this
  }

  /** Writes an i32 into one lane of the vector below it on the stack. */
  integerLane(lane: number): this {
    this.#bytes.push(VECTOR_PREFIX, REPLACE_INTEGER_LANE, lane)
    return this
  }

  /** Writes an f32 into one lane of the vector below it on the stack. */
  floatLane(lane: number): this {
    this.#bytes.push(VECTOR_PREFIX, REPLACE_FLOAT_LANE, lane)
    return this
  }

  /** Picks lanes of the two vectors on the stack: 0 to 3 are from the first, 4 to 7 from the second. */
  shuffle(lanes: readonly number[]): this {
    this.#bytes.push(VECTOR_PREFIX, SHUFFLE)
    return this.#push(lanes.flatMap((lane) => [4 * lane, 4 * lane + 1, 4 * lane + 2, 4 * lane + 3]))
  }

  /** Repeats `inner` while its last value, an i32, is not 0. It runs at least once. */
  loop(inner: () => void): this {
    this.#bytes.push(0x03, EMPTY)
    inner()
    this.#bytes.push(0x0d, 0, 0x0b)
    return this
  }

  /** Repeats `inner` while the local is below the limit; `inner` must advance it. */
  whileLess(local: Local, limit: Local, inner: () => void): this {
    const isLess = () => this.get(local).get(limit).plain('i32.lt_s')
    isLess()
    return this.when(() =>
      this.loop(() => {
        inner()
        isLess()
      }),
    )
  }

  /** Takes an i32 from the stack and runs `inner` if it is not 0. */
  when(inner: () => void): this {
    this.#bytes.push(0x04, EMPTY)
    inner()
    this.#bytes.push(0x0b)
    return this
  }

  /** The function, encoded for the code section. */
  encoded(): Uint8Array<ArrayBuffer> {
    const head = leb(this.#locals.length)
    for (const type of this.#locals) head.push(1, TYPES[type])
    const length = leb(head.length + this.#bytes.length + 1)
    return joinBytes([
      new Uint8Array(length),
      new Uint8Array(head),
      new Uint8Array(this.#bytes),
      Uint8Array.of(0x0b),
    ])
  }

  #constant(bytes: Uint8Array): this {
    this.#bytes.push(VECTOR_PREFIX, VECTOR_CONST)
    return this.#push(bytes)
  }

  #lane(code: number, lane: number, offset: number): this {
    this.#bytes.push(VECTOR_PREFIX, code)
    this.#indexed(ALIGNED_TO_4, offset).#bytes.push(lane)
    return this
  }

  #push(bytes: ArrayLike<number>): this {
    for (let at = 0; at < bytes.length; at++) this.#bytes.push(bytes[at]!)
    return this
  }

  /** A byte, and a number in LEB128, which has mostly one byte too. */
  #indexed(byte: number, value: number): this {
    let rest = value >>> 0
    if (rest < 0x80) {
      this.#bytes.push(byte, rest)
      return this
    }
    this.#bytes.push(byte)
    for (; rest > 0x7f; rest >>>= 7) this.#bytes.push((rest & 0x7f) | 0x80)
    this.#bytes.push(rest)
    return this
  }
}

const HEADER = [0, 0x61, 0x73, 0x6d, 1, 0, 0, 0]

const section = (id: number, contents: readonly number[]): number[] => [
  id,
  ...leb(contents.length),
  ...contents,
]

const text = (value: string): number[] => {
  const bytes = new TextEncoder().encode(value)
  return [...leb(bytes.length), ...bytes]
}

interface ModuleOptions {
  /** The number of parameters of every function, each an i32. */
  readonly parameters: number
  /** If the imported memory is shared: its maximum number of 64 KB pages. */
  readonly sharedPages?: number | undefined
}

/**
 * A module with a memory `env.memory` and these encoded functions, exported as `f0`, `f1` and so on.
 */
export function moduleBytes(
  codes: readonly Uint8Array[],
  { parameters, sharedPages }: ModuleOptions,
): Uint8Array<ArrayBuffer> {
  const type = [1, 0x60, ...leb(parameters), ...Array.from({ length: parameters }, () => TYPES.i32), 0]
  const limits = sharedPages === undefined ? [0, 1] : [3, 1, ...leb(sharedPages)]
  const imports = [1, ...text('env'), ...text('memory'), 2, ...limits]
  const functions = [...leb(codes.length), ...codes.map(() => 0)]
  const exported = codes.flatMap((_, index) => [...text(`f${index}`), 0, ...leb(index)])
  const parts = [
    HEADER,
    section(1, type),
    section(2, imports),
    section(3, functions),
    section(7, [...leb(codes.length), ...exported]),
  ]
  const count = leb(codes.length)
  const length = codes.reduce((sum, { byteLength }) => sum + byteLength, count.length)
  return joinBytes([
    ...parts.map((part) => Uint8Array.from(part)),
    Uint8Array.from([10, ...leb(length), ...count]),
    ...codes,
  ])
}
