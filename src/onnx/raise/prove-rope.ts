// Rotations. In: the cosines and sines that heads are multiplied by. Out: the frequencies that they are of,
// after they were computed for steps of several sizes.
import type { Node } from '../ir/graph.ts'
import { unclaimed } from '../ir/operator.ts'
import { reader, type Tensor } from '../ir/tensor.ts'
import type { Rotation } from './meaning.ts'
import { probe, type StepSizes } from './probe.ts'
import { provePositions } from './prove-positions.ts'
import { type RopeRows, recogniseRope } from './rope-table.ts'
import type { Translator } from './translator.ts'
import { floatsOf } from './weights/block-weights.ts'

const PROMPT: StepSizes = { tokens: 1100, past: 0 }
const LATER: StepSizes = { tokens: 3, past: 5 }

/** Throws `unsupported` where the angle is not position times a fixed frequency. */
export async function proveRope(
  t: Translator,
  node: Node,
  kind: 'all' | 'local',
  rotation: Rotation,
): Promise<void> {
  const { cos, sin, dims } = rotation
  const table = `${cos} ${sin} ${rotation.positions}`
  if (t.hasRope(node, kind, table)) return
  const half = dims / 2
  const rows = rotation.positions === undefined ? stepRows(t, node, rotation) : tableRows(t, node, rotation)
  const found = await recogniseRope({ ...rows, half })
  if (found === undefined) throw unclaimed(node, `${cos} and ${sin} are no rotation by fixed frequencies`)
  const positions = rotation.positions === undefined ? undefined : rows.positions
  t.noteRope(node, kind, { ...found, table, dims }, positions)
}

type Rows = Omit<RopeRows, 'half'>

/** Rows that the graph computes for a step. */
function stepRows(t: Translator, node: Node, { cos, sin, dims, isHalf }: Rotation): Rows {
  const rowsOf = (name: string, sizes: StepSizes) =>
    rowReader(node, name, probe(t, name, sizes), sizes, dims, isHalf)
  const [allCos, allSin] = [rowsOf(cos, PROMPT), rowsOf(sin, PROMPT)]
  for (const [name, all] of [
    [cos, allCos],
    [sin, allSin],
  ] as const) {
    if (!t.hasState) break
    const later = rowsOf(name, LATER)
    for (let row = 0; row < LATER.tokens; row++) {
      if (`${later(row)}` === `${all(LATER.past + row)}`) continue
      throw unclaimed(
        node,
        `${name} of token ${row} after ${LATER.past} is not that of position ${LATER.past + row}`,
      )
    }
  }
  return { positions: PROMPT.tokens, row: async (at) => ({ cos: allCos(at), sin: allSin(at) }) }
}

/** Rows of constant tables [position][dims / 2]. */
function tableRows(t: Translator, node: Node, { cos, sin, dims, positions: name = '' }: Rotation): Rows {
  provePositions(t, node, name)
  const [cosines, sines] = [cos, sin].map((each) => t.graph.constants.get(each))
  const [positions = 0, half] = cosines?.dims ?? []
  const isTable = cosines?.dims.length === 2 && half === dims / 2 && `${sines?.dims}` === `${cosines.dims}`
  if (cosines === undefined || sines === undefined || !isTable)
    throw unclaimed(node, `${cos} and ${sin} are no constant tables of ${dims / 2} angles`)
  const row = (at: number) => [at * half, (at + 1) * half, t.signal] as const
  return {
    positions,
    row: async (at) => ({
      cos: await floatsOf(cosines, ...row(at)),
      sin: await floatsOf(sines, ...row(at)),
    }),
  }
}

/** The angles of each row: all of it, or its first half, where the second half has the same. */
function rowReader(
  node: Node,
  name: string,
  tensor: Tensor,
  { tokens }: StepSizes,
  dims: number,
  isHalf: boolean,
) {
  const dim = isHalf ? dims / 2 : dims
  const [width = 1, rows = 1] = tensor.dims.toReversed()
  if (rows !== tokens || width !== dim || tensor.data.length !== rows * width)
    throw unclaimed(node, `${name} has the shape [${tensor.dims}] where [${tokens}, ${dim}] is due`)
  const value = reader(tensor)
  const half = dims / 2
  return (row: number): Float32Array =>
    Float32Array.from({ length: half }, (_, pair) => {
      const first = value(row * dim + pair)
      if (isHalf || first === value(row * dim + half + pair)) return first
      throw unclaimed(node, `${name} rotates neighbours, where halves are known`)
    })
}
