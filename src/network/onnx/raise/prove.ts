// Proves the required form of a control value. The value is computed for steps on both sides of every number
// that it may be compared with. The result is the number of positions for which the proof is valid, or an
// error.

import { isHalfbyteError } from '../../../core/base/errors.ts'
import type { Node } from '../ir/graph.ts'
import { unclaimed } from '../ir/operator.ts'
import { numbersOf, reader, type Tensor } from '../ir/tensor.ts'
import { limitProof } from './findings.ts'
import type { Mask } from './meaning.ts'
import type { StepSizes } from './probe.ts'
import { stepsAround, thresholdsOf, type ValueShape } from './thresholds.ts'
import type { Translator } from './translator.ts'

/** A score that far below the others has weight 0 in f32. */
const HIDDEN = -1e4

/**
 * The window of positions that a row attends to, 0 for all. Throws `unsupported` for a mask that shows later
 * positions, hides nearby ones, differs between heads, or cannot be computed without tokens.
 */
export async function proveMask(
  t: Translator,
  node: Node,
  masks: readonly Mask[] = [],
  heads: number,
): Promise<number> {
  if (masks.length === 0) throw unclaimed(node, 'its scores have no mask, so rows see later positions')
  const alone = masks.length > 1 ? await windowsAlone(t, node, masks, heads) : undefined
  if (alone !== undefined) return narrowest(alone)
  const names = masks.map(({ name }) => name)
  const label = names.join(' and ')
  const key = `${heads} ${JSON.stringify(masks)}`
  const known = t.control.masks.get(key)
  if (known !== undefined) return known
  let window = 0
  let longest = 0
  await prove(t, node, names, {
    shape: 'square',
    check(values, sizes) {
      const total = sizes.tokens + sizes.past
      const views = masks.map((mask, at) => viewOf(node, mask, heads, values[at]!, sizes))
      const seen = windowOf(node, label, views, sizes)
      const isOther = window === 0 ? seen > 0 && seen < longest : total > window && seen !== window
      if (isOther)
        throw unclaimed(
          node,
          `its mask ${label} shows ${seen || total} positions after ${total} and ` +
            `${window || longest} before; only one window is supported`,
        )
      if (window === 0) window = seen
      longest = total
    },
  })
  t.control.masks.set(key, window)
  return window
}

/** The smallest window; 0 means that there is no window. */
export const narrowest = (windows: readonly number[]): number =>
  windows.reduce((least, each) => (least === 0 || (each > 0 && each < least) ? each : least), 0)

/** The window of each mask; undefined if one of them is not a decoder's mask by itself. */
async function windowsAlone(
  t: Translator,
  node: Node,
  masks: readonly Mask[],
  heads: number,
): Promise<number[] | undefined> {
  const windows: number[] = []
  try {
    for (const mask of masks) windows.push(await proveMask(t, node, [mask], heads))
  } catch (error) {
    t.budget.check()
    if (isHalfbyteError(error)) return undefined
    throw error
  }
  return windows
}

/** A mask in one step. */
interface View {
  /** 1, or the number of heads. */
  readonly planes: number
  isSeen(head: number, row: number, column: number): boolean
}

/** Throws `unsupported` for a mask of a different shape, or with numbers that masks do not have. */
function viewOf(
  node: Node,
  { name, form }: Mask,
  heads: number,
  tensor: Tensor,
  { tokens, past }: StepSizes,
): View {
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
  const isSeen = (head: number, row: number, column: number): boolean => {
    if (form === 'besides' && column > past + row) return false
    const plane = planes === 1 ? 0 : head * rows * columns
    const found = value(plane + (rows === 1 ? 0 : row) * columns + (columns === 1 ? 0 : column))
    if (form === 'kept') return found !== 0
    if (form === 'dropped') return found === 0
    if (found === 0) return true
    if (found <= HIDDEN) return false
    throw unclaimed(
      node,
      `its mask ${name} adds ${found} to a score of head ${head} instead of 0 or a large negative number; ` +
        'slopes (ALiBi) are not supported; positions must be rotations or learned rows',
    )
  }
  return { planes, isSeen }
}

/** The window that one step shows; 0 if every earlier position is visible. */
function windowOf(node: Node, name: string, views: readonly View[], sizes: StepSizes): number {
  const planes = Math.max(...views.map((view) => view.planes))
  const total = sizes.tokens + sizes.past
  // Checks every mask, so that none has other numbers.
  const windows = Array.from({ length: planes }, (_, head) =>
    seenOf(node, name, sizes, (row, column) =>
      views.map((view) => view.isSeen(head, row, column)).every((each) => each),
    ),
  )
  const [first = 0] = windows
  const other = windows.findIndex((each) => each !== first)
  if (other < 0) return first
  throw unclaimed(
    node,
    `its mask ${name} shows head 0 ${first || total} positions and head ${other} ${windows[other] || total}, ` +
      'but only one mask for all heads is supported',
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
          `its mask ${name} lets token ${row} see token ${column - past}, but masks must be causal`,
        )
      if (isHere) seen++
      else if (seen > 0 && column <= past + row)
        throw unclaimed(
          node,
          `its mask ${name} hides position ${column} from token ${row} and shows earlier ones, ` +
            'but rows must see all positions or the last ones',
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

/** The numbers that a step must have, by their index in the list. */
const DUE = {
  'the positions of its tokens': ({ tokens, past }: StepSizes) => ({ count: tokens, first: past, step: 1 }),
  'the total number of positions minus one': ({ tokens, past }: StepSizes) => ({
    count: 1,
    first: past + tokens - 1,
    step: 0,
  }),
  'the total number of positions': ({ tokens, past }: StepSizes) => ({
    count: 1,
    first: past + tokens,
    step: 0,
  }),
  'minus the number of its tokens': ({ tokens }: StepSizes) => ({ count: 1, first: -tokens, step: 0 }),
  'ones, which do not mask anything': ({ tokens, past }: StepSizes) => ({
    count: past + tokens,
    first: 1,
    step: 0,
  }),
} as const

/**
 * Throws `unsupported` for other numbers, and if they are not along the last axis: rows chosen by [tokens,
 * 1] would be a batch. `end`: the number of positions in the table that they index. `from`: an offset added
 * to each number. Default 0.
 */
export function proveNumbers(
  t: Translator,
  node: Node,
  name: string,
  due: keyof typeof DUE,
  { end, from = 0 }: { readonly end?: number | undefined; readonly from?: number } = {},
): Promise<void> {
  return prove(t, node, [name], {
    shape: { width: 1 },
    end,
    check([value], sizes) {
      const found = numbersOf(value!)
      const { count, step, ...each } = DUE[due](sizes)
      const first = each.first + from
      const { dims } = value!
      if (found.length === count && count !== (dims.at(-1) ?? 1))
        throw unclaimed(node, `${name} has the shape [${dims}], but ${due} must be its last axis`)
      if (found.length === count && found.every((each, at) => each === first + at * step)) return
      const wrong = Math.max(
        0,
        Math.min(
          found.findIndex((each, at) => each !== first + at * step),
          count,
        ) - 2,
      )
      throw unclaimed(
        node,
        `${name} is [${found.slice(wrong, wrong + 8)}] from index ${wrong} for ${sizes.tokens} tokens ` +
          `after ${sizes.past}, but ${due}${from === 0 ? '' : `, plus ${from},`} are required`,
      )
    },
  })
}

/** Throws `unsupported` unless the numbers are past, past + 1, ... */
export const provePositions = (t: Translator, node: Node, name: string, end?: number): Promise<void> =>
  proveNumbers(t, node, name, 'the positions of its tokens', { end })

/** The table row of position 0; the following rows must be those of position 1 and so on. */
export async function firstRow(t: Translator, node: Node, name: string, rows: number): Promise<number> {
  const [from = 0] = numbersOf(await t.control.prober.value(name, { tokens: 1, past: 0 }))
  if (!(from >= 0 && from < rows)) throw unclaimed(node, `its first position is row ${from} of ${rows}`)
  await proveNumbers(t, node, name, 'the positions of its tokens', { end: rows - from, from })
  return from
}

/**
 * A value that becomes wrong at or beyond this length only limits the context; a value that is wrong earlier
 * is rejected.
 */
const MIN_CONTEXT = 1024

/** What is proven about a control value. */
interface Claim {
  readonly shape: ValueShape
  /** Maximum positions of a step. Default: those of the context and of the tables read so far. */
  readonly end?: number | undefined
  /** Throws if the values differ from the plan's in that step. */
  check(values: readonly Tensor[], sizes: StepSizes): void
}

/**
 * Proves a claim about values that belong together. Throws `unsupported` if one is wrong in a short context
 * or cannot be evaluated. A value that is wrong in a longer context limits the model's context.
 */
export async function prove(
  t: Translator,
  node: Node,
  names: readonly string[],
  { shape, end = t.control.end, check }: Claim,
): Promise<void> {
  const last = Math.min(end, t.control.end, t.findings.tablePositions ?? Infinity)
  const thresholds = thresholdsOf(names.map((name) => t.control.prober.part(name).graph))
  const { steps, reach } = stepsAround(thresholds, { end: last, hasState: t.states.exist, shape })
  // Totals up to which every step was right: the current one and the one before it.
  let proven = 0
  let trying = 0
  let prompt = 0
  for (const sizes of steps) {
    const total = sizes.tokens + sizes.past
    if (total > trying) [proven, trying] = [trying, total]
    try {
      const values: Tensor[] = []
      for (const name of names) values.push(await t.control.prober.value(name, sizes))
      check(values, sizes)
      if (sizes.past === 0) prompt = total
    } catch (error) {
      t.budget.check()
      // Between two prompts, only single tokens and chunks are tried.
      const right = sizes.past === 0 ? Math.min(proven, prompt) : proven
      if (!isHalfbyteError(error) || right < MIN_CONTEXT) throw error
      limitProof(t.findings, right, error.message)
      return
    }
  }
  if (reach < Math.min(last, MIN_CONTEXT))
    throw unclaimed(
      node,
      `${names.join(' and ')} may change at position ${reach + 1}, which would need too long a prompt to test`,
    )
  if (reach < Number.POSITIVE_INFINITY)
    limitProof(
      t.findings,
      reach,
      `node ${node.name} (${node.op}): ${names.join(' and ')} may change from position ${reach + 1}`,
    )
}
