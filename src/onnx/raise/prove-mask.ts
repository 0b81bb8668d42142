// Masks. In: the mask of some scores. Out: its window, after it was computed for steps of several sizes; an
// error where it is not causal.
import type { Node } from '../ir/graph.ts'
import { unclaimed } from '../ir/operator.ts'
import { reader, type Tensor } from '../ir/tensor.ts'
import type { Mask } from './meaning.ts'
import type { StepSizes } from './probe.ts'
import { prove } from './prove.ts'
import type { Translator } from './translator.ts'

/** A score that far below the others has weight 0 in f32. */
const HIDDEN = -1e4

/**
 * Positions that a row sees, 0 for all. Throws `unsupported` for a mask that shows what comes later, hides
 * what is near, differs from head to head, or cannot be computed without tokens.
 */
export async function proveMask(
  t: Translator,
  node: Node,
  mask: Mask | undefined,
  heads: number,
): Promise<number> {
  if (mask === undefined) throw unclaimed(node, 'its scores have no mask, so that rows see what comes later')
  const key = `${mask.form} ${heads} ${mask.name}`
  const known = t.masks.get(key)
  if (known !== undefined) return known
  let window = 0
  let longest = 0
  await prove(t, node, [mask.name], {
    shape: 'square',
    check([value], sizes) {
      const total = sizes.tokens + sizes.past
      const seen = windowOf(node, mask, heads, value!, sizes)
      const isOther = window === 0 ? seen > 0 && seen < longest : total > window && seen !== window
      if (isOther)
        throw unclaimed(
          node,
          `its mask ${mask.name} shows ${seen || total} positions after ${total} and ` +
            `${window || longest} before, where one window is known`,
        )
      if (window === 0) window = seen
      longest = total
    },
  })
  t.masks.set(key, window)
  return window
}

/** What one step shows of the window; 0 where every earlier position is seen. */
function windowOf(node: Node, { name, form }: Mask, heads: number, tensor: Tensor, sizes: StepSizes): number {
  const { tokens, past } = sizes
  const total = past + tokens
  const [columns = 1, rows = 1, planes = 1, ...outer] = tensor.dims.toReversed()
  const isPlaced =
    (columns === total || columns === 1) &&
    (rows === tokens || rows === 1) &&
    (planes === heads || planes === 1) &&
    outer.every((size) => size === 1)
  if (!isPlaced)
    throw unclaimed(
      node,
      `its mask ${name} has the shape [${tensor.dims}] for ${tokens} tokens after ${past}`,
    )
  const value = reader(tensor)
  const windows = Array.from({ length: planes }, (_, head) => {
    const plane = head * rows * columns
    return seenOf(node, name, sizes, (row, column) => {
      const at = plane + (rows === 1 ? 0 : row) * columns + (columns === 1 ? 0 : column)
      const found = value(at)
      if (form === 'kept') return found !== 0
      if (form === 'dropped') return found === 0
      if (found === 0) return true
      if (found <= HIDDEN) return false
      throw unclaimed(
        node,
        `its mask ${name} adds ${found} to a score of head ${head}, where 0 or a large negative number is due`,
      )
    })
  })
  const [first = 0] = windows
  const other = windows.findIndex((each) => each !== first)
  if (other < 0) return first
  throw unclaimed(
    node,
    `its mask ${name} shows head 0 ${first || total} positions and head ${other} ${windows[other] || total}, ` +
      'where one mask for all heads is known',
  )
}

/** The window of one head. */
function seenOf(
  node: Node,
  name: string,
  { tokens, past }: StepSizes,
  isSeen: (row: number, column: number) => boolean,
): number {
  const total = past + tokens
  let window = 0
  for (let row = 0; row < tokens; row++) {
    let seen = 0
    for (let column = 0; column < total; column++) {
      const isHere = isSeen(row, column)
      if (isHere && column > past + row)
        throw unclaimed(
          node,
          `its mask ${name} lets token ${row} see token ${column - past}, where masks are causal`,
        )
      if (isHere) seen++
      else if (seen > 0 && column <= past + row)
        throw unclaimed(
          node,
          `its mask ${name} hides position ${column} from token ${row} and shows earlier ones, ` +
            'where all positions or the last ones are seen',
        )
    }
    if (seen === 0) throw unclaimed(node, `its mask ${name} hides every position from token ${row}`)
    if (seen < past + row + 1) {
      if (window !== 0 && window !== seen)
        throw unclaimed(node, `its mask ${name} has windows of ${window} and ${seen}`)
      window = seen
    } else if (window !== 0)
      throw unclaimed(node, `its mask ${name} has a window of ${window}, but shows token ${row} everything`)
  }
  return window
}
