// Rotations. In: the cosines and sines that heads are multiplied by. Out: the frequencies that they are of, after
// they were computed for steps of several sizes.
import type { Node } from '../ir/graph.ts'
import { unclaimed } from '../ir/operator.ts'
import { reader, type Tensor } from '../ir/tensor.ts'
import { probe, type StepSizes } from './probe.ts'
import { recogniseRope } from './rope-table.ts'
import type { Translator } from './translator.ts'

const PROMPT: StepSizes = { tokens: 1100, past: 0 }
const LATER: StepSizes = { tokens: 3, past: 5 }

/** Throws `unsupported` where the angle is not position times a fixed frequency. */
export async function proveRope(
  t: Translator,
  node: Node,
  { cos, sin }: { readonly cos: string; readonly sin: string },
  dim: number,
): Promise<void> {
  const table = `${cos} ${sin}`
  if (t.ropeTable === table) return
  const rowsOf = (name: string, sizes: StepSizes) =>
    rowReader(node, name, probe(t.graph, name, sizes), sizes, dim)
  const [allCos, allSin] = [rowsOf(cos, PROMPT), rowsOf(sin, PROMPT)]
  if (t.hasState) {
    for (const [name, all] of [
      [cos, allCos],
      [sin, allSin],
    ] as const) {
      const later = rowsOf(name, LATER)
      for (let row = 0; row < LATER.tokens; row++) {
        if (`${later(row)}` === `${all(LATER.past + row)}`) continue
        throw unclaimed(
          node,
          `${name} of token ${row} after ${LATER.past} is not that of position ${LATER.past + row}`,
        )
      }
    }
  }
  const found = await recogniseRope({
    half: dim / 2,
    positions: PROMPT.tokens,
    row: async (position) => ({ cos: allCos(position), sin: allSin(position) }),
  })
  if (found === undefined) throw unclaimed(node, `${cos} and ${sin} are no rotation by fixed frequencies`)
  t.noteRope(node, table, { ...found, dims: dim })
}

/** The first half of each row; the second half has the same. */
function rowReader(node: Node, name: string, tensor: Tensor, { tokens }: StepSizes, dim: number) {
  const [width = 1, rows = 1] = tensor.dims.toReversed()
  if (rows !== tokens || width !== dim || tensor.data.length !== rows * width)
    throw unclaimed(node, `${name} has the shape [${tensor.dims}] where [${tokens}, ${dim}] is due`)
  const value = reader(tensor)
  const half = dim / 2
  return (row: number): Float32Array =>
    Float32Array.from({ length: half }, (_, pair) => {
      const [first, second] = [value(row * dim + pair), value(row * dim + half + pair)]
      if (first === second) return first
      throw unclaimed(node, `${name} rotates neighbours, where halves are known`)
    })
}
