// Interleaved rotations. In: heads or angles. Out: nodes that rotate each adjacent pair, or duplicate each
// angle, in the exporters' various forms.
import type { NodeWriter } from '../../../../src/network/onnx/testing/node-writer.ts'

/** How pairs are split: by Slice with step 2, or as [.., pairs, 2] by Split or Gather. */
export type Neighbours = 'slice' | 'split' | 'gather'

/** (-second, first) of each pair. `x`: four axes, the last of `dims` numbers. */
export function turnedNeighbours(g: NodeWriter, x: string, dims: number, how: Neighbours): string {
  const [first, second] = columnsOf(g, x, dims, how)
  const turned = g.op('Concat', [g.op('Neg', [second]), first], { axis: -1 + 5 })
  return g.op('Reshape', [turned, g.ints([0, 0, 0, dims])])
}

/** The first and second number of each pair, [.., pairs, 1]. */
function columnsOf(g: NodeWriter, x: string, dims: number, how: Neighbours): [string, string] {
  if (how === 'slice') {
    const every = (from: number) =>
      g.op('Slice', [x, g.ints([from]), g.ints([dims]), g.ints([3]), g.ints([2])])
    return [g.unsqueeze(every(0), -1), g.unsqueeze(every(1), -1)]
  }
  const pairs = g.op('Reshape', [x, g.ints([0, 0, 0, dims / 2, 2])])
  if (how === 'split') {
    const both: [string, string] = [`${pairs}_0`, `${pairs}_1`]
    g.node('Split', [pairs, g.ints([1, 1])], both, { axis: 4 })
    return both
  }
  const one = (index: number) => g.unsqueeze(g.op('Gather', [pairs, g.int(index)], { axis: 4 }), 4)
  return [one(0), one(1)]
}

/** Angles [1, tokens, pairs], each twice: next to each other, or as two consecutive copies. */
export function twice(g: NodeWriter, angles: string, dims: number, order: 'neighbours' | 'halves'): string {
  if (order === 'halves') return g.op('Concat', [angles, angles], { axis: 2 })
  const both = g.op('Concat', [g.unsqueeze(angles, 3), g.unsqueeze(angles, 3)], { axis: 3 })
  return g.op('Reshape', [both, g.ints([0, 0, dims])])
}
