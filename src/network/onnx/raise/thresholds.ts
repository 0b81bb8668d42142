// Finds the numbers at which a control value may change, and the steps on both sides of each, up to the end
// of the context.
import type { Attribute, Graph, Node } from '../ir/graph.ts'
import { isStored } from '../ir/graph.ts'
import { numbersOf, type Tensor } from '../ir/tensor.ts'
import type { StepSizes } from './probe.ts'

interface Thresholds {
  /** Lengths and positions among the constants of the nodes. */
  readonly numbers: readonly number[]
  /** Pairwise sums, differences, products and quotients of `numbers`. */
  readonly pairs: readonly number[]
  /**
   * Number of rows in the longest table, which may have a different value at each position; 0 if there is no
   * table.
   */
  readonly tableRows: number
}

/** Longer constants count as tables. */
const MAX_NUMBERS = 64
/**
 * Tables with at most this many integers contribute their values as thresholds; longer ones are lookup
 * tables.
 */
const MAX_LISTED = 256
/** If there are more numbers than this, none are combined. */
const MAX_PAIRED = 8
/** Multiples of a chunk size at which its chunks end. */
const MULTIPLES = [2, 3]
/** For chunks at least this long, only the last one within the context is tried. */
const MIN_CHUNK = 64
/** Inputs that are shapes, axes or steps, which are never compared with a length. */
const LAYOUT_INPUTS: ReadonlyMap<string, readonly number[]> = new Map(
  Object.entries({
    Reshape: [1],
    Expand: [1],
    Unsqueeze: [1],
    Squeeze: [1],
    Split: [1],
    ConstantOfShape: [0],
    Slice: [3, 4],
    ReduceSum: [1],
    ReduceMean: [1],
    ReduceMax: [1],
    ReduceMin: [1],
    ReduceProd: [1],
  }),
)
const LAYOUT_ATTRIBUTES: ReadonlySet<string> = new Set([
  'axis',
  'axes',
  'batch_dims',
  'keepdims',
  'perm',
  'to',
  'start',
  'end',
  'num_outputs',
  'allowzero',
])

/** The thresholds of all values computed by the parts. */
export function thresholdsOf(parts: readonly Graph[]): Thresholds {
  const found = new Set<number>()
  const tables: number[] = []
  const take = ({ dims, data }: Pick<Tensor, 'dims' | 'data'>) => {
    if (data.length > MAX_NUMBERS) {
      tables.push(...dims)
      for (const size of dims) found.add(size)
      const isListed = data.length <= MAX_LISTED && !(data instanceof Float32Array)
      if (isListed) for (const value of numbersOf({ dims, data, dtype: 'i64' })) addWhole(found, value)
    } else for (const value of numbersOf({ dims, data, dtype: 'f32' })) addWhole(found, value)
  }
  for (const part of parts) readNumbers(part, take)
  const numbers = [...found]
  return { numbers, pairs: pairsOf(numbers), tableRows: Math.max(0, ...tables) }
}

function addWhole(found: Set<number>, value: number): void {
  for (const whole of [Math.floor(Math.abs(value)), Math.ceil(Math.abs(value))])
    if (whole > 1 && Number.isSafeInteger(whole)) found.add(whole)
}

function readNumbers(graph: Graph, take: (tensor: Pick<Tensor, 'dims' | 'data'>) => void): void {
  for (const node of graph.nodes) {
    for (const [index, name] of node.inputs.entries()) {
      const constant = graph.constants.get(name)
      if (constant === undefined || isStored(constant) || isLayout(node, index)) continue
      take(constant)
    }
    for (const [name, attribute] of node.attributes)
      if (!LAYOUT_ATTRIBUTES.has(name)) readAttribute(attribute, take)
  }
  for (const name of graph.outputs) {
    const constant = graph.constants.get(name)
    if (constant !== undefined && !isStored(constant)) take(constant)
  }
}

const isLayout = ({ op }: Node, index: number): boolean => LAYOUT_INPUTS.get(op)?.includes(index) === true

function readAttribute(attribute: Attribute, take: (tensor: Pick<Tensor, 'dims' | 'data'>) => void): void {
  const { kind, value } = attribute
  if (kind === 'graph') readNumbers(value, take)
  else if (kind === 'tensor') take(value)
  else if (kind !== 'string' && kind !== 'strings') {
    const data = Float64Array.from(typeof value === 'number' ? [value] : value)
    take({ dims: [data.length], data })
  }
}

function pairsOf(numbers: readonly number[]): number[] {
  const all = new Set<number>()
  for (const left of numbers.length > MAX_PAIRED ? [] : numbers) {
    for (const right of numbers)
      for (const each of [left + right, left - right, left * right, left / right]) addWhole(all, each)
  }
  return [...all]
}

/** Totals that are always tried. */
const SPREAD = [1, 2, 5, 7, 17, 67, 131, 333, 777, 1024, 1531, 3001, 6007, 8192, 16_001, 50_021, 131_072]
const PROMPTS = [5, 67, 333]
const LONG_PROMPTS = [...PROMPTS, 1, 2, 1024]
/** Maximum elements of square values in total, over all prompts computed at once. */
const MAX_SQUARE = 2 ** 22
/** Maximum prompt tokens for which a square value is computed. */
const LONGEST_SQUARE = 2048
/** Maximum tokens of a chunk tried after a state. */
const LONGEST_CHUNK = 600
/** Maximum elements of a value with `width` numbers per position. */
const MAX_LINE = 2 ** 20

/** The numbers per token: one per position, or `width`. */
export type ValueShape = 'square' | { readonly width: number }

export interface Steps {
  /** Sorted by their total positions. */
  readonly steps: readonly StepSizes[]
  /** How many positions the steps cover: up to the first untried threshold, or Infinity. */
  readonly reach: number
}

/** Steps on both sides of every threshold; prompts, and, with a state, single tokens and chunks after it. */
export function stepsAround(
  { numbers, pairs, tableRows }: Thresholds,
  { end, hasState, shape }: { end: number; hasState: boolean; shape: ValueShape },
): Steps {
  const near = new Set<number>()
  const far = new Set<number>()
  // A prompt includes all shorter rows, so the last total before a change and the first after it suffice.
  const ends = new Set<number>()
  const multiples = numbers.flatMap((number) => [
    ...MULTIPLES.map((times) => times * number),
    ...(number < MIN_CHUNK ? [] : [end - (end % number)]),
  ])
  for (const each of [...numbers, ...pairs, ...multiples]) {
    if (each > end) far.add(each)
    else for (const side of [each - 1, each, each + 1, each + 2]) near.add(side)
    for (const side of [each, each + 2]) ends.add(side)
  }
  const within = (total: number) => total >= 1 && total <= end
  const totals = [...new Set([...near, ...SPREAD, end])].filter(within).sort((left, right) => left - right)
  const walked = tableRows > 0 ? walk(Math.min(tableRows, end), shape, hasState) : []
  // If not all prompts can be tried, those around the numbers themselves are tried.
  const own = new Set(numbers.flatMap((each) => [each, each + 2]))
  const ordered = totals.toSorted((one, other) => Number(own.has(other)) - Number(own.has(one)))
  const prompts = promptsOf(ordered, ends, shape, hasState)
  const steps = [
    ...prompts.map((tokens) => ({ tokens, past: 0 })),
    ...(hasState ? [...totals.flatMap(stepsTo), ...prompts.flatMap((tokens) => chunksOf(tokens, end))] : []),
    ...walked,
  ].sort((left, right) => left.past + left.tokens - right.past - right.tokens)
  const most = steps.reduce((sum, { tokens, past }) => Math.max(sum, tokens + past), 0)
  const missed = hasState ? [] : totals.filter((total) => ends.has(total) && total > most)
  const rest = Math.min(tableRows, end) > most ? [most + 1] : []
  return { steps, reach: Math.min(...missed, ...rest, ...far, Number.POSITIVE_INFINITY) - 1 }
}

/** One token, and a chunk that ends there. */
const stepsTo = (total: number): StepSizes[] => [
  { tokens: 1, past: total - 1 },
  ...(total > 3 && total <= LONGEST_SQUARE ? [{ tokens: 3, past: total - 3 }] : []),
]

/** A chunk of this many tokens after a few positions, if it is cheap and within the context. */
const chunksOf = (tokens: number, end: number): StepSizes[] =>
  tokens > LONGEST_CHUNK || tokens + 3 > end ? [] : [{ tokens, past: 3 }]

function promptsOf(
  totals: readonly number[],
  ends: ReadonlySet<number>,
  shape: ValueShape,
  hasState: boolean,
): number[] {
  const plain = hasState && shape === 'square' ? PROMPTS : LONG_PROMPTS
  const usual = totals.filter((total) => ends.has(total) || plain.includes(total))
  if (shape !== 'square') return usual.filter((total) => total * shape.width <= MAX_LINE)
  let left = MAX_SQUARE * (hasState ? 1 : 4)
  return usual.filter((total) => {
    const isTaken = total <= LONGEST_SQUARE && total ** 2 <= left
    if (isTaken) left -= total ** 2
    return isTaken
  })
}

/** Tokens per chunk when walking along a table. */
const WALK = 64

/** Chunks that together cover every row of a table. */
function walk(rows: number, shape: ValueShape, hasState: boolean): StepSizes[] {
  const most = shape === 'square' ? LONGEST_SQUARE : Math.floor(MAX_LINE / shape.width)
  if (!hasState) return [{ tokens: Math.min(rows, most), past: 0 }]
  const chunk = shape === 'square' ? WALK : most
  const count = Math.ceil(Math.min(rows, shape === 'square' ? LONGEST_SQUARE : rows) / chunk)
  return Array.from({ length: count }, (_, at) => ({
    tokens: Math.min(chunk, rows - at * chunk),
    past: at * chunk,
  }))
}
