// Weights of transformers' cases. In: a tensor's name, shape, centre and spread. Out: the numbers that
// make.py gives it.

/** Name with numbers in braces, shape, centre, spread, and whether the numbers are -1, 0 and 1. */
export type Row = readonly [string, readonly number[], number, number, 'ternary'?]

export interface Tensor {
  readonly name: string
  readonly shape: readonly number[]
  readonly values: Float32Array
}

/** `a.{0,1}.b` is two tensors, a.0.b and a.1.b. */
export function* tensorsOf(rows: readonly Row[]): Generator<Tensor> {
  for (const [braced, shape, middle, spread, kind] of rows) {
    for (const name of expanded(braced)) {
      const values = drawn(name, shape, middle, spread)
      const rounded = (value: number) => (Math.abs(value) > spread / 2 ? spread * Math.sign(value) : 0)
      yield { name, shape, values: kind === 'ternary' ? values.map(rounded) : values }
    }
  }
}

function expanded(name: string): string[] {
  const [all, before, choices, after] = /^(.*?)\{([\d,]+)\}(.*)$/.exec(name) ?? []
  if (all === undefined || choices === undefined) return [name]
  return choices.split(',').flatMap((choice) => expanded(`${before}${choice}${after}`))
}

/** A hash of the name and of each index, as a number from -1 to 1. */
function drawn(name: string, shape: readonly number[], middle: number, spread: number): Float32Array {
  let seed = 0x811c9dc5
  for (const byte of new TextEncoder().encode(name)) seed = Math.imul(seed ^ byte, 0x01000193)
  const count = shape.reduce((product, size) => product * size, 1)
  return Float32Array.from({ length: count }, (_, index) => {
    let x = (Math.imul(index, 0x9e3779b9) + seed) | 0
    x = Math.imul(x ^ (x >>> 16), 0x7feb352d)
    x = Math.imul(x ^ (x >>> 15), 0x846ca68b)
    x ^= x >>> 16
    return middle + spread * ((x >>> 8) / 2 ** 23 - 1)
  })
}
