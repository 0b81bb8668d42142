// Rotations. In: the cosines and sines that heads are multiplied by. Out: the frequencies that they are of,
// after they were computed for steps of several sizes.
import { type Constant, isStored, type Node } from '../ir/graph.ts'
import { unclaimed } from '../ir/operator.ts'
import { reader, type Tensor } from '../ir/tensor.ts'
import type { Rotation } from './meaning.ts'
import type { StepSizes } from './probe.ts'
import { prove } from './prove.ts'
import { provePositions } from './prove-positions.ts'
import { type Angles, type FoundRope, frequenciesOf, recogniseRope, wrongPosition } from './rope-table.ts'
import type { Translator } from './translator.ts'
import { floatsOf } from './weights/block-weights.ts'

/** The prompt whose rows tell the frequencies. */
const PROMPT_TOKENS = 1024
/**
 * Rows of a table in a file that are read: a table may have more than anybody reads, and has to be loaded.
 */
const MOST_ROWS = 32_768

/** Throws `unsupported` where the angle is not position times a fixed frequency. */
export async function proveRope(
  t: Translator,
  node: Node,
  kind: 'all' | 'local',
  rotation: Rotation,
): Promise<void> {
  const { cos, sin, dims, isHalf, positions: chosen } = rotation
  const table = `${cos} ${sin} ${chosen} ${dims} ${isHalf}`
  if (t.hasRope(node, kind, table)) return
  if (chosen === undefined) {
    t.noteRope(node, kind, { ...(await computedRope(t, node, rotation)), table, dims })
    return
  }
  const tables = [cos, sin].map((each) => t.graph.constants.get(each)) as [Constant, Constant]
  if (!tables.every((each) => each?.dims.length === 2 && each.dims[1] === dims / 2))
    throw unclaimed(node, `${cos} and ${sin} are no constant tables of ${dims / 2} angles`)
  const positions = tables[0].dims[0]!
  await provePositions(t, node, chosen, positions)
  t.noteRope(node, kind, { ...(await tableRope(t, node, tables, [cos, sin])), table, dims }, positions)
}

/** What constant tables [position][dims / 2] rotate by, in all rows that the context has. */
export async function tableRope(
  t: Translator,
  node: Node,
  [cos, sin]: readonly [Constant, Constant],
  names: readonly string[],
): Promise<FoundRope> {
  const [positions = 0, half = 0] = cos.dims
  if (cos.dims.length !== 2 || `${sin.dims}` !== `${cos.dims}`)
    throw unclaimed(node, `its tables have the shapes [${cos.dims}] and [${sin.dims}]`)
  const most = isStored(cos) ? MOST_ROWS : positions
  const read = Math.min(positions, most)
  const part = (table: Constant, from: number, to: number) =>
    floatsOf(table, from * half, to * half, t.signal)
  const found = await recogniseRope({
    half,
    positions: read,
    rows: async (from, to) => ({ cos: await part(cos, from, to), sin: await part(sin, from, to) }),
  })
  if (found === undefined)
    throw unclaimed(node, `its tables ${names.join(' and ')} are no rotation by fixed frequencies`)
  if (read < positions)
    t.limit(read, `node ${node.name} (${node.op}): ${read} of ${positions} rows of ${names[0]} were compared`)
  return found
}

/** What rows that the graph computes for a step rotate by. */
async function computedRope(t: Translator, node: Node, rotation: Rotation): Promise<FoundRope> {
  const { cos, sin, dims } = rotation
  const half = dims / 2
  const anglesOf = (sizes: StepSizes, values: readonly [Tensor, Tensor]): Angles => ({
    cos: rowsOf(node, cos, values[0], sizes, rotation),
    sin: rowsOf(node, sin, values[1], sizes, rotation),
  })
  const prompt = { tokens: Math.min(PROMPT_TOKENS, t.end), past: 0 }
  const first = anglesOf(prompt, [await t.prober.value(cos, prompt), await t.prober.value(sin, prompt)])
  const found = await recogniseRope({
    half,
    positions: prompt.tokens,
    rows: async (from, to) => ({
      cos: first.cos.subarray(from * half, to * half),
      sin: first.sin.subarray(from * half, to * half),
    }),
  })
  if (found === undefined) throw unclaimed(node, `${cos} and ${sin} are no rotation by fixed frequencies`)
  const frequencies = frequenciesOf(half, found)
  await prove(t, node, [cos, sin], {
    shape: { width: dims },
    check([cosines, sines], sizes) {
      const wrong = wrongPosition(anglesOf(sizes, [cosines!, sines!]), sizes.past, frequencies)
      if (wrong === undefined) return
      throw unclaimed(
        node,
        `${cos} and ${sin} rotate position ${wrong} by other frequencies than those before it, ` +
          `in a step of ${sizes.tokens} tokens after ${sizes.past}`,
      )
    },
  })
  return found
}

/** The angles of each token: all of a row, or its first half, where the second half has the same. */
function rowsOf(
  node: Node,
  name: string,
  tensor: Tensor,
  { tokens }: StepSizes,
  { dims, isHalf }: Rotation,
): Float32Array {
  const dim = isHalf ? dims / 2 : dims
  const [width = 1, rows = 1] = tensor.dims.toReversed()
  if (rows !== tokens || width !== dim || tensor.data.length !== rows * width)
    throw unclaimed(node, `${name} has the shape [${tensor.dims}] where [${tokens}, ${dim}] is due`)
  const value = reader(tensor)
  const half = dims / 2
  return Float32Array.from({ length: tokens * half }, (_, at) => {
    const first = value(Math.floor(at / half) * dim + (at % half))
    if (isHalf || first === value(Math.floor(at / half) * dim + half + (at % half))) return first
    throw unclaimed(node, `${name} rotates neighbours, where halves are known`)
  })
}
