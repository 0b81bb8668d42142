// Writes a value of plain objects, arrays, maps, sets, typed arrays, numbers and strings as bytes, and reads
// it back. An object that occurs several times is one object again. Objects that cannot be written, such as
// open files, are replaced by names.
//
//   4 bytes    length of the header
//   header     JSON: simple values, keys of objects, typed arrays, names; padded with spaces
//   words      one record for each object, after the objects that it contains: its form, then a number for
//              each part. Simple values have the first numbers, objects the following ones.
//   bytes      the typed arrays, one after the other, each at a multiple of eight
import { isCount } from '../../../core/base/values.ts'

/** The form of a record: one of these, or `FORMS` plus the index of an object's keys. */
const ARRAY = 0
const MAP = 1
const SET = 2
const TYPED = 3
const NAMED = 4
const FORMS = 5

const ARRAYS = [
  Float32Array,
  Float64Array,
  Int8Array,
  Uint8Array,
  Int16Array,
  Uint16Array,
  Int32Array,
  Uint32Array,
  BigInt64Array,
  BigUint64Array,
] as const

type Numbers = InstanceType<(typeof ARRAYS)[number]>
const isTyped = (value: object): value is Numbers => ARRAYS.some((each) => value instanceof each)

/** Numbers that JSON cannot represent. */
const SPECIAL: ReadonlyMap<string, unknown> = new Map<string, unknown>([
  ['undefined', undefined],
  ['NaN', Number.NaN],
  ['Infinity', Number.POSITIVE_INFINITY],
  ['-Infinity', Number.NEGATIVE_INFINITY],
  ['-0', -0],
])

interface Header {
  /** A list has the name of a special number, or the digits of a bigint. */
  readonly simple: readonly (string | number | boolean | null | readonly [string])[]
  readonly keys: readonly (readonly string[])[]
  /** The class and the number of elements of each typed array. */
  readonly arrays: readonly (readonly [number, number])[]
  readonly names: readonly string[]
  /** Number of words. */
  readonly words: number
}

/** `nameOf`: the name of an object that is not written; undefined for all others. */
export function objectBytes(value: unknown, nameOf: (object: object) => string | undefined): Uint8Array {
  return new ObjectWriter(nameOf).write(value)
}

class ObjectWriter {
  readonly #nameOf: (object: object) => string | undefined
  readonly #simple: Header['simple'][number][] = []
  readonly #numbers = new Map<unknown, number>()
  readonly #keys: string[][] = []
  readonly #keyNumbers = new Map<string, number>()
  readonly #arrays: Numbers[] = []
  readonly #names: string[] = []
  /** Objects are numbered from -1 downwards until the number of simple values is known. */
  readonly #objects = new Map<object, number>()
  readonly #words: number[] = []

  constructor(nameOf: (object: object) => string | undefined) {
    this.#nameOf = nameOf
  }

  write(value: unknown): Uint8Array {
    const last = this.#number(value)
    this.#words.push(ARRAY, 1, last)
    const header: Header = {
      simple: this.#simple,
      keys: this.#keys,
      arrays: this.#arrays.map((array) => [ARRAYS.findIndex((each) => array instanceof each), array.length]),
      names: this.#names,
      words: this.#words.length,
    }
    const first = this.#simple.length
    const words = Int32Array.from(this.#words, (word) => (word < 0 ? first - 1 - word : word))
    const json = new TextEncoder().encode(JSON.stringify(header))
    const wordsAt = aligned(4 + json.length)
    let end = aligned(wordsAt + words.byteLength)
    const places = this.#arrays.map(({ byteLength }) => {
      end += aligned(byteLength)
      return end - aligned(byteLength)
    })
    const bytes = new Uint8Array(end)
    new Uint32Array(bytes.buffer, 0, 1)[0] = wordsAt - 4
    bytes.fill(SPACE, 4, wordsAt)
    bytes.set(json, 4)
    bytes.set(new Uint8Array(words.buffer), wordsAt)
    for (const [at, { buffer, byteOffset, byteLength }] of this.#arrays.entries())
      bytes.set(new Uint8Array(buffer, byteOffset, byteLength), places[at]!)
    return bytes
  }

  #number(value: unknown): number {
    if (typeof value !== 'object' || value === null) return this.#simpleNumber(value)
    const known = this.#objects.get(value)
    if (known !== undefined) return known
    const record = this.#record(value)
    for (const word of record) this.#words.push(word)
    const number = -1 - this.#objects.size
    this.#objects.set(value, number)
    return number
  }

  #record(value: object): readonly number[] {
    const name = this.#nameOf(value)
    if (name !== undefined) return [NAMED, this.#names.push(name) - 1]
    const list = (items: Iterable<unknown>) => Array.from(items, (item) => this.#number(item))
    if (Array.isArray(value)) return [ARRAY, value.length, ...list(value)]
    if (value instanceof Map) return [MAP, value.size, ...list([...value].flat(1))]
    if (value instanceof Set) return [SET, value.size, ...list(value)]
    if (isTyped(value)) return [TYPED, this.#arrays.push(value) - 1]
    if (Object.getPrototypeOf(value) !== Object.prototype)
      throw new TypeError(`${value.constructor?.name} cannot be written`)
    return [FORMS + this.#form(Object.keys(value)), ...list(Object.values(value))]
  }

  #form(keys: string[]): number {
    const text = keys.join()
    const known = this.#keyNumbers.get(text)
    if (known !== undefined) return known
    this.#keyNumbers.set(text, this.#keys.length)
    return this.#keys.push(keys) - 1
  }

  #simpleNumber(value: unknown): number {
    // A map does not tell -0 from 0.
    const key = Object.is(value, -0) ? SPECIAL : value
    const known = this.#numbers.get(key)
    if (known !== undefined) return known
    this.#numbers.set(key, this.#simple.length)
    return this.#simple.push(simpleOf(value)) - 1
  }
}

function simpleOf(value: unknown): Header['simple'][number] {
  if (typeof value === 'bigint') return [`${value}`]
  for (const [name, special] of SPECIAL) if (Object.is(special, value)) return [name]
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') return value
  if (value === null) return value
  throw new TypeError(`a ${typeof value} cannot be written`)
}

/** Bytes of `objectBytes`, of which only the names have been read. */
interface ReadObject {
  readonly names: readonly string[]
  /** The value. `named`: an object for each of the names. */
  restore(named: readonly unknown[]): unknown
}

/** Throws if the bytes are not of `objectBytes`, as `restore` does. Typed arrays are copies. */
export function readObject(bytes: Uint8Array): ReadObject {
  const { buffer, byteOffset, byteLength } = bytes
  const size = byteLength < 4 ? 0 : new DataView(buffer, byteOffset).getUint32(0, true)
  const wordsAt = 4 + size
  if (wordsAt % 8 !== 0 || wordsAt > byteLength) throw wrong('its header')
  const header = JSON.parse(new TextDecoder().decode(bytes.subarray(4, wordsAt))) as Header
  const { names, words } = header
  if (!isCount(words) || wordsAt + 4 * words > byteLength) throw wrong('its length')
  if (header.keys.flat().includes('__proto__')) throw wrong('a key')
  return {
    names,
    restore: (named) => {
      const own = bytes.slice(wordsAt, wordsAt + 4 * words)
      const arrays = typedArrays(header, bytes, aligned(wordsAt + 4 * words))
      return restored(header, new Int32Array(own.buffer), arrays, named)
    },
  }
}

function typedArrays({ arrays }: Header, bytes: Uint8Array, start: number): readonly Numbers[] {
  let at = start
  return arrays.map(([kind, length]) => {
    const made = new ARRAYS[kind]!(length)
    if (at + made.byteLength > bytes.byteLength) throw wrong('its arrays')
    new Uint8Array(made.buffer).set(bytes.subarray(at, at + made.byteLength))
    at += aligned(made.byteLength)
    return made
  })
}

function restored(
  { simple, keys }: Header,
  words: Int32Array,
  arrays: readonly Numbers[],
  named: readonly unknown[],
): unknown {
  const made: unknown[] = simple.map((value) => (Array.isArray(value) ? specialOf(value[0]) : value))
  let at = 0
  const part = (): unknown => {
    const number = words[at++]
    if (number === undefined || number < 0 || number >= made.length) throw wrong('a record')
    return made[number]
  }
  const parts = (count: number): unknown[] => {
    if (!(count <= words.length - at)) throw wrong('a record')
    const list: unknown[] = []
    for (let index = 0; index < count; index++) list.push(part())
    return list
  }
  while (at < words.length) {
    const form = words[at++]!
    if (form === ARRAY) made.push(parts(words[at++]!))
    else if (form === MAP) {
      const map = new Map<unknown, unknown>()
      for (let left = words[at++]!; left > 0; left--) {
        const key = part()
        map.set(key, part())
      }
      made.push(map)
    } else if (form === SET) made.push(new Set(parts(words[at++]!)))
    else if (form === TYPED) made.push(arrays[words[at++]!])
    else if (form === NAMED) made.push(named[words[at++]!])
    else {
      const object: Record<string, unknown> = {}
      for (const key of keys[form - FORMS] ?? []) object[key] = part()
      made.push(object)
    }
  }
  return (made.at(-1) as readonly unknown[])[0]
}

const specialOf = (text: string): unknown => (SPECIAL.has(text) ? SPECIAL.get(text) : BigInt(text))

const SPACE = 0x20
const aligned = (bytes: number): number => Math.ceil(bytes / 8) * 8
const wrong = (what: string): Error => new Error(`${what} is damaged`)
