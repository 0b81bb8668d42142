// Protobuf mutations. In: a valid message, and others of its type. Out: the message with fields changed,
// removed, duplicated, moved or taken from another message. Lengths stay correct, so readers reach the
// change.
import { PbfReader, PbfWriter } from 'pbf'
import { joinBytes } from '../../../src/core/base/bytes.ts'
import type { Random } from '../../helpers/random.ts'
import { mutateBytes } from './mutate-bytes.ts'

interface Field {
  readonly number: number
  readonly type: number
  /** A field. Its tag begins at `start`; its value is [from, end). */
  readonly start: number
  readonly from: number
  readonly end: number
}

const VARINT = 0
const BYTES = 2
const TYPES = [VARINT, 1, BYTES, 5]
/** Types, counts and enum values, and values near the limits of their types. */
const NUMBERS = [
  0,
  1,
  2,
  3,
  4,
  5,
  6,
  7,
  8,
  9,
  10,
  16,
  23,
  24,
  64,
  127,
  128,
  2 ** 16,
  2 ** 20,
  2 ** 31 - 1,
  2 ** 31,
  2 ** 32,
  2 ** 40,
  2 ** 53,
  2 ** 62,
  -1,
  -2,
  -(2 ** 31),
  -(2 ** 63),
]
/** An outermost message has one large field, its body, in addition to versions and names. */
const IN_BODY = 0.95
const DEEPER = 0.8

/** Makes one to six changes. `donors`: messages of the same kind; `good` can be one of them. */
export function mutateProto(random: Random, good: Uint8Array, donors: readonly Uint8Array[]): Uint8Array {
  let bytes = good
  for (let left = random.few(); left > 0; left--) bytes = mutateOnce(random, bytes, donors, [])
  return bytes
}

/** `path`: the numbers of the fields that lead to `message`. */
function mutateOnce(
  random: Random,
  message: Uint8Array,
  donors: readonly Uint8Array[],
  path: readonly number[],
): Uint8Array {
  const fields = fieldsOf(message)
  if (fields === undefined || fields.length === 0) return mutateBytes(random, message)
  const field = path.length === 0 && random.chance(IN_BODY) ? largest(fields) : random.pick(fields)
  const before = message.subarray(0, field.start)
  const after = message.subarray(field.end)
  const own = message.subarray(field.start, field.end)
  const withValue = (value: Uint8Array) => joinBytes([before, written(field.number, value), after])
  const inner = [...path, field.number]
  if (field.type === BYTES && random.chance(DEEPER)) {
    const donor = random.chance(0.5) ? valueAt(random, random.pick(donors), inner) : undefined
    const value = message.subarray(field.from, field.end)
    const isMessage = (fieldsOf(value)?.length ?? 0) > 0
    return withValue(isMessage || donor === undefined ? mutateOnce(random, value, donors, inner) : donor)
  }
  switch (random.below(field.type === VARINT ? 6 : 4)) {
    case 0:
      return joinBytes([before, after])
    case 1:
      return joinBytes([before, own, own, after])
    case 2: {
      const at = random.pick(fields).start
      const rest = joinBytes([before, after])
      const place = at > field.start ? at - own.length : at
      return joinBytes([rest.subarray(0, place), own, rest.subarray(place)])
    }
    case 3: {
      const donor = valueAt(random, random.pick(donors), inner)
      return donor === undefined || field.type !== BYTES ? joinBytes([before, after, own]) : withValue(donor)
    }
    default: {
      const to = new PbfWriter()
      to.writeVarintField(field.number, random.pick(NUMBERS))
      return joinBytes([before, to.finish(), after])
    }
  }
}

/** Returns a message's fields, or undefined for bytes that are not a message. */
export function fieldsOf(bytes: Uint8Array): Field[] | undefined {
  const from = new PbfReader(bytes)
  const fields: Field[] = []
  try {
    while (from.pos < bytes.length) {
      const start = from.pos
      const tag = from.readVarint()
      const number = tag >>> 3
      const type = tag & 7
      if (number === 0 || !TYPES.includes(type)) return undefined
      const length = type === BYTES ? from.readVarint() : undefined
      const value = from.pos
      if (length === undefined) from.skip(type)
      else from.pos += length
      if (from.pos > bytes.length) return undefined
      fields.push({ number, type, start, from: value, end: from.pos })
    }
  } catch {
    return undefined
  }
  return fields
}

const largest = (fields: readonly Field[]): Field =>
  fields.reduce((best, field) => (field.end - field.start > best.end - best.start ? field : best))

/** The value of a field at a path of field numbers. */
function valueAt(random: Random, message: Uint8Array, path: readonly number[]): Uint8Array | undefined {
  let value = message
  for (const number of path) {
    const fields = fieldsOf(value)?.filter((field) => field.number === number && field.type === BYTES) ?? []
    if (fields.length === 0) return undefined
    const { from, end } = random.pick(fields)
    value = value.subarray(from, end)
  }
  return value
}

function written(number: number, value: Uint8Array): Uint8Array {
  const to = new PbfWriter()
  to.writeTag(number, BYTES)
  to.writeVarint(value.length)
  return joinBytes([to.finish(), value])
}
