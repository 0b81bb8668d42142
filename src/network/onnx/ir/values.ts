// Values other than tensors of numbers: strings, held as indices into a list, and sequences of tensors.
import { memo } from '../../../core/base/values.ts'
import { countToMake, type Tensor } from './tensor.ts'

/** An optional value that is absent. */
export const NONE: Tensor = { dtype: 'none', dims: [], data: new Int32Array(0) }

export const sequenceOf = (items: readonly Tensor[]): Tensor => ({
  dtype: 'sequence',
  dims: [items.length],
  data: new Int32Array(0),
  items,
})

/** A tensor of these strings, in row-major order. Throws what `countToMake` throws. */
export function stringTensor(dims: readonly number[], texts: readonly string[]): Tensor {
  const list = new StringList()
  const data = new Int32Array(countToMake(dims))
  for (const [at, text] of texts.entries()) data[at] = list.add(text)
  return { dtype: 'string', dims, data, strings: list.strings }
}

/** The strings of a tensor, in row-major order. */
export const textsOf = ({ data, strings = [] }: Tensor): string[] =>
  Array.from(data as Int32Array, (at) => strings[at] ?? '')

/** The strings of one evaluation. Tensors with the same list can be joined and compared by their indices. */
export class StringList {
  readonly strings: string[] = ['']
  readonly #places = new Map<string, number>([['', 0]])
  /** A tensor that a loop reads again and again is converted once. */
  readonly #known = new WeakMap<Tensor, Tensor>()
  readonly #hold: (bytes: number) => void

  /** `hold`: called with the bytes of each new string. */
  constructor(hold: (bytes: number) => void = () => undefined) {
    this.#hold = hold
  }

  /** The string's index. */
  add(text: string): number {
    const known = this.#places.get(text)
    if (known !== undefined) return known
    this.#hold(STRING_BYTES + 2 * text.length)
    this.#places.set(text, this.strings.length)
    return this.strings.push(text) - 1
  }

  /** The value with indices into this list. Returns the same object if nothing changes. */
  of(tensor: Tensor): Tensor {
    if (tensor.items !== undefined) {
      const items = tensor.items.map((item) => this.of(item))
      return items.every((item, at) => item === tensor.items?.[at]) ? tensor : sequenceOf(items)
    }
    if (tensor.dtype !== 'string' || tensor.strings === this.strings) return tensor
    return memo(this.#known, tensor, () => this.#converted(tensor))
  }

  #converted(tensor: Tensor): Tensor {
    const { strings } = this
    // An operator that made it from tensors of this list.
    if (tensor.strings === undefined) return { ...tensor, strings }
    const places = tensor.strings.map((text) => this.add(text))
    return { ...tensor, strings, data: (tensor.data as Int32Array).map((at) => places[at] ?? 0) }
  }
}

/** Roughly what a string takes beside its characters. */
const STRING_BYTES = 64

/** The value with a list of only its own strings. Returns the same object if there are none. */
export function withOwnStrings(tensor: Tensor): Tensor {
  if (tensor.items !== undefined) return sequenceOf(tensor.items.map(withOwnStrings))
  return tensor.dtype === 'string' ? stringTensor(tensor.dims, textsOf(tensor)) : tensor
}
