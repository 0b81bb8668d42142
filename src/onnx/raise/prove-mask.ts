// Masks. In: the mask of some scores. Out: its window, after it was computed for steps of several sizes; an
// error where it is not causal.
import type { Node } from '../ir/graph.ts'
import { unclaimed } from '../ir/operator.ts'
import { reader, type Tensor } from '../ir/tensor.ts'
import type { Mask } from './meaning.ts'
import { probe, type StepSizes } from './probe.ts'
import type { Translator } from './translator.ts'

/** A prompt, its continuation, one more token. */
const SHORT: readonly StepSizes[] = [
  { tokens: 5, past: 0 },
  { tokens: 3, past: 4 },
  { tokens: 1, past: 6 },
]
/** Long enough to see a window. */
const LONG: StepSizes = { tokens: 1, past: 8191 }
const LONG_PROMPT: StepSizes = { tokens: 1024, past: 0 }
/** A score that far below the others has weight 0 in f32. */
const HIDDEN = -1e4

/**
 * Positions that a row sees, 0 for all. Throws `unsupported` for a mask that shows what comes later, hides
 * what is near, or cannot be computed without tokens.
 */
export async function proveMask(t: Translator, node: Node, mask: Mask | undefined): Promise<number> {
  if (mask === undefined) throw unclaimed(node, 'its scores have no mask, so that rows see what comes later')
  const known = t.masks.get(mask.name)
  if (known !== undefined) return known
  const hasPast = t.hasState
  const sizes = [...SHORT.filter(({ past }) => hasPast || past === 0), hasPast ? LONG : LONG_PROMPT]
  const windows = sizes.map((size) => windowOf(node, mask, probe(t, mask.name, size), size))
  const window = windows.find((each) => each > 0) ?? 0
  // A short step may lie in the window as a whole.
  const isOne = windows.every(
    (each, at) => each === window || (each === 0 && sizes[at]!.past + sizes[at]!.tokens <= window),
  )
  if (!isOne) throw unclaimed(node, `its mask ${mask.name} has no one window: ${windows}`)
  t.masks.set(mask.name, window)
  return window
}

/** What one step shows of the window; 0 where every earlier position is seen. */
function windowOf(node: Node, { name, form }: Mask, tensor: Tensor, { tokens, past }: StepSizes): number {
  const total = past + tokens
  const [columns = 1, rows = 1] = tensor.dims.toReversed()
  if ((columns !== total && columns !== 1) || (rows !== tokens && rows !== 1))
    throw unclaimed(
      node,
      `its mask ${name} has the shape [${tensor.dims}] for ${tokens} tokens after ${past}`,
    )
  const value = reader(tensor)
  const isSeen = (row: number, column: number): boolean => {
    const at = (rows === 1 ? 0 : row) * columns + (columns === 1 ? 0 : column)
    const found = value(at)
    if (form === 'kept') return found !== 0
    if (form === 'dropped') return found === 0
    if (found === 0) return true
    if (found <= HIDDEN) return false
    throw unclaimed(
      node,
      `its mask ${name} adds ${found} to a score, where 0 or a large negative number is due`,
    )
  }
  let window = 0
  for (let row = 0; row < tokens; row++) {
    let seen = 0
    for (let column = 0; column < total; column++) {
      const isHere = isSeen(row, column)
      if (isHere && column > past + row)
        throw unclaimed(node, `its mask ${name} lets token ${row} see token ${column - past}`)
      if (isHere) seen++
      else if (seen > 0 && column <= past + row)
        throw unclaimed(
          node,
          `its mask ${name} hides position ${column} from token ${row} and shows earlier ones`,
        )
    }
    if (seen === 0) throw unclaimed(node, `its mask ${name} hides every position from token ${row}`)
    if (seen < past + row + 1) {
      if (window !== 0 && window !== seen)
        throw unclaimed(node, `its mask ${name} has windows of ${window} and ${seen}`)
      window = seen
    }
  }
  return window
}
