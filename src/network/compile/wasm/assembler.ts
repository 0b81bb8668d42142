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
  #bytes = new Uint8Array(FIRST_BYTES)
  #length = 0
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
    return this.#byte(0x20).#leb(index)
  }

  set({ index }: Local): this {
    return this.#byte(0x21).#leb(index)
  }

  tee({ index }: Local): this {
    return this.#byte(0x22).#leb(index)
  }

  /** Adds a constant to the local. */
  increase(local: Local, by: number): this {
    return this.get(local).number(by).plain('i32.add').set(local)
  }

  number(value: number): this {
    this.#byte(0x41)
    for (let rest = value | 0; ; rest >>= 7) {
      const isLast = rest >= -64 && rest < 64
      this.#byte(isLast ? rest & 0x7f : (rest & 0x7f) | 0x80)
      if (isLast) return this
    }
  }

  /** An i64 with these bits. */
  long(value: bigint): this {
    return this.#byte(0x42).#push(signedLeb(BigInt.asIntN(64, value)))
  }

  /** An f64. */
  double(value: number): this {
    return this.#byte(0x44).#push(new Uint8Array(Float64Array.of(value).buffer))
  }

  plain(name: PlainName): this {
    return this.#byte(plainOpcode(name))
  }

  vector(name: VectorName): this {
    return this.#byte(VECTOR_PREFIX).#leb(vectorOpcode(name))
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
    return this.#byte(VECTOR_PREFIX).#leb(memoryOpcode(name)).#byte(alignment).#leb(offset)
  }

  load32(offset = 0): this {
    return this.#byte(0x28).#byte(ALIGNED_TO_4).#leb(offset)
  }

  store32(offset = 0): this {
    return this.#byte(0x36).#byte(ALIGNED_TO_4).#leb(offset)
  }

  /** A byte as an i32, from 0 to 255. */
  load8(offset = 0): this {
    return this.#byte(0x2d).#byte(0).#leb(offset)
  }

  store8(offset = 0): this {
    return this.#byte(0x3a).#byte(0).#leb(offset)
  }

  load64(offset = 0): this {
    return this.#byte(0x29).#byte(ALIGNED_TO_8).#leb(offset)
  }

  store64(offset = 0): this {
    return this.#byte(0x37).#byte(ALIGNED_TO_8).#leb(offset)
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
    return this.#byte(VECTOR_PREFIX).#byte(EXTRACT_LANE).#byte(lane)
  }

  /** Writes an i32 into one lane of the vector below it on the stack. */
  integerLane(lane: number): this {
    return this.#byte(VECTOR_PREFIX).#byte(REPLACE_INTEGER_LANE).#byte(lane)
  }

  /** Writes an f32 into one lane of the vector below it on the stack. */
  floatLane(lane: number): this {
    return this.#byte(VECTOR_PREFIX).#byte(REPLACE_FLOAT_LANE).#byte(lane)
  }

  /** Picks lanes of the two vectors on the stack: 0 to 3 are from the first, 4 to 7 from the second. */
  shuffle(lanes: readonly number[]): this {
    return this.#byte(VECTOR_PREFIX)
      .#byte(SHUFFLE)
      .#push(lanes.flatMap((lane) => [4 * lane, 4 * lane + 1, 4 * lane + 2, 4 * lane + 3]))
  }

  /** Repeats `inner` while its last value, an i32, is not 0. It runs at least once. */
  loop(inner: () => void): this {
    this.#byte(0x03).#byte(EMPTY)
    inner()
    return this.#byte(0x0d).#byte(0).#byte(0x0b)
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
    this.#byte(0x04).#byte(EMPTY)
    inner()
    return this.#byte(0x0b)
  }

  /** The function, encoded for the code section. */
  encoded(): Uint8Array<ArrayBuffer> {
    const locals = this.#locals.flatMap((type) => [1, TYPES[type]])
    const head = [...leb(this.#locals.length), ...locals]
    const length = leb(head.length + this.#length + 1)
    return joinBytes([
      Uint8Array.from([...length, ...head]),
      this.#bytes.subarray(0, this.#length),
      Uint8Array.of(0x0b),
    ])
  }

  #constant(bytes: Uint8Array): this {
    return this.#byte(VECTOR_PREFIX).#byte(VECTOR_CONST).#push(bytes)
  }

  #lane(code: number, lane: number, offset: number): this {
    return this.#byte(VECTOR_PREFIX).#byte(code).#byte(ALIGNED_TO_4).#leb(offset).#byte(lane)
  }

  #push(bytes: ArrayLike<number>): this {
    for (let at = 0; at < bytes.length; at++) this.#byte(bytes[at]!)
    return this
  }

  #leb(value: number): this {
    let rest = value >>> 0
    for (; rest > 0x7f; rest >>>= 7) this.#byte((rest & 0x7f) | 0x80)
    return this.#byte(rest)
  }

  #byte(byte: number): this {
    if (this.#length === this.#bytes.length) {
      const longer = new Uint8Array(2 * this.#length)
      longer.set(this.#bytes)
      this.#bytes = longer
    }
    this.#bytes[this.#length++] = byte
    return this
  }
}

/** Most functions are longer. */
const FIRST_BYTES = 512

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
