// Test models. In: sizes, or random choices. Out: small graphs, and seeded weights that their encodings hold
// exactly.
import { randomFrom } from '../../../../test/helpers/random.ts'
import type { Encoding } from '../../abi/encodings.ts'
import { graphBuilder, matrix, vector } from '../builder.ts'
import type { Value } from '../ir.ts'
import type { Graph } from '../nodes.ts'
import type { EncodingOf } from '../passes/split.ts'
import type { Machine } from './interpret.ts'

/** Smallest and largest code, and a scale that gives weights of about 0.08. */
const CODES: Readonly<Record<Encoding, readonly [number, number, number]>> = {
  f32: [-127, 127, 2 ** -10],
  f16: [-127, 127, 2 ** -10],
  bf16: [-127, 127, 2 ** -10],
  w8_g32: [-127, 127, 2 ** -10],
  w4_g32: [-8, 7, 2 ** -6],
  w4m_g32: [-8, 7, 2 ** -6],
  w4_channel: [-8, 7, 2 ** -6],
  w2_g256: [-1, 1, 2 ** -4],
}

/**
 * Codes times one scale. Every group contains the code with the largest magnitude, so that quantising finds
 * the same scale.
 */
function weightValues(name: string, n: number, k: number, encoding: Encoding): Float64Array {
  const random = randomFrom(name)
  const [least, most, scale] = CODES[encoding]
  const draw = (index: number) => {
    const code = least + Math.floor(random() * (most - least + 1))
    return (index % k) % 32 === 0 ? least : code
  }
  // Norm weights near 1.
  if (/decay/.test(name)) return Float64Array.from({ length: n * k }, () => -0.1 - random())
  if (/norm/.test(name)) return Float64Array.from({ length: n }, () => 0.75 + random() / 2)
  return Float64Array.from({ length: n * k }, (_, index) => draw(index) * scale)
}

export function machineOf(encodingOf: EncodingOf, frequencies: readonly Float64Array[]): Machine {
  const known = new Map<string, Float64Array>()
  const weightOf = (name: string, n: number, k: number) => {
    const values = known.get(name) ?? weightValues(name, n, k, encodingOf(name) as Encoding)
    known.set(name, values)
    return values
  }
  return { weightOf, encodingOf, frequencies, state: new Map(), kept: new Map() }
}

export const frequenciesOf = (dims: number): Float64Array =>
  Float64Array.from({ length: dims / 2 }, (_, pair) => 100 ** ((-2 * pair) / dims))

/** Vocabulary of every test model. */
export const VOCAB = 40
/** Width of a head in `randomGraph`. All of it is rotated. */
export const HEAD_DIM = 8

/** A valid graph, grown by one step per choice: norms, products, gates, attention and sums in any order. */
export function randomGraph(choices: readonly number[], width = 24): Graph {
  const b = graphBuilder()
  const pool: Value[] = [b.embed('embed', matrix(width, { embed: VOCAB }))]
  let layer = 0
  for (const [index, choice] of choices.entries()) {
    const name = `n${index}`
    const from = pool[Math.floor(choice / 5) % pool.length] as Value
    switch (choice % 5) {
      case 0:
        pool.push(b.rmsnorm(name, from, vector({ [`${name}.norm`]: width }), 1e-5))
        // A clamped value may still be read in its original form.
        if (choice % 3 === 0) pool.push(b.clamp(`${name}.limited`, pool.at(-1)!, { least: -1, most: 0.5 }))
        break
      case 1: {
        const bias = choice % 2 === 0 ? vector({ [`${name}.bias`]: width }) : undefined
        pool.push(b.linear(name, from, matrix(width, { [name]: width }), bias))
        break
      }
      case 2: {
        const weight = matrix(width, { [`${name}.gate`]: width, [`${name}.up`]: width })
        pool.push(b.swiglu(name, b.parts(b.linear(name, from, weight), weight)))
        break
      }
      case 3: {
        const heads = width / HEAD_DIM
        const weight = matrix(width, {
          [`${name}.q`]: width,
          [`${name}.k`]: HEAD_DIM,
          [`${name}.v`]: HEAD_DIM,
        })
        const shape = {
          layer: layer++,
          heads,
          kvHeads: 1,
          headDim: HEAD_DIM,
          window: choice % 3 === 0 ? 3 : 0,
        }
        const rope = { table: 0, dims: HEAD_DIM, pairing: 'halves' } as const
        pool.push(b.attend(name, b.parts(b.linear(name, from, weight), weight), shape, rope))
        break
      }
      default: {
        // One of the two is overwritten, so nothing may read that one later.
        pool.splice(pool.indexOf(from), 1)
        pool.push(b.add(name, from, pool.at(-1) ?? from))
      }
    }
  }
  const last = b.rmsnorm('last', b.takeRows('wanted', pool.at(-1) as Value), vector({ norm: width }), 1e-5)
  return b.finish(b.linear('logits', last, matrix(width, { output: VOCAB })))
}
