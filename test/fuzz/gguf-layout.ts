// The layout of a GGUF file. In: a good file. Out: the offset of every number in its header, and where
// entries begin and end.
import type { Field } from './mutate/mutate-bytes.ts'

export interface GgufLayout {
  readonly bytes: Uint8Array
  /** Numbers in the header: counts, lengths, types, values, dimensions, offsets. */
  readonly fields: readonly Field[]
  /** Metadata entries, each from its key to the end of its value. */
  readonly entries: readonly (readonly [from: number, end: number])[]
  readonly headBytes: number
}

/** Size of a value by its type. Texts and arrays have no fixed size and are parsed. */
const SIZES: Readonly<Record<number, Field['bytes']>> = {
  0: 1,
  1: 1,
  2: 2,
  3: 2,
  4: 4,
  5: 4,
  6: 4,
  7: 1,
  10: 8,
  11: 8,
  12: 8,
}
const TEXT = 8
const ARRAY = 9
/** The first items of a long list represent all of them. */
const MAX_ITEMS = 4

export function layoutOf(bytes: Uint8Array): GgufLayout {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  const fields: Field[] = []
  const entries: (readonly [number, number])[] = []
  let at = 4
  const number = (size: Field['bytes'], isField = true): number => {
    if (isField) fields.push({ at, bytes: size })
    const value = size === 8 ? Number(view.getBigUint64(at, true)) : size === 4 ? view.getUint32(at, true) : 0
    at += size
    return value
  }
  const text = (isField = true) => {
    const length = number(8, isField)
    at += length
  }
  const value = (type: number, isField = true): void => {
    if (type === TEXT) text(isField)
    else if (type === ARRAY) {
      const element = number(4)
      const count = number(8)
      for (let index = 0; index < count; index++) value(element, index < MAX_ITEMS || index === count - 1)
    } else number(SIZES[type] as Field['bytes'], isField)
  }
  number(4)
  const tensors = number(8)
  const count = number(8)
  for (let index = 0; index < count; index++) {
    const from = at
    text()
    value(number(4))
    entries.push([from, at])
  }
  for (let index = 0; index < tensors; index++) {
    text()
    for (let left = number(4); left > 0; left--) number(8)
    number(4)
    number(8)
  }
  return { bytes, fields, entries, headBytes: at }
}
