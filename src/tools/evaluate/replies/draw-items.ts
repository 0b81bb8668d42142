// Samples the items of a dataset. In: its lines, in pieces. Out: the selected items in order, and their total
// number. Every line is checked, but only selected items stay in memory.
import { HalfbyteError } from '../../../core/base/errors.ts'
import { drawnOrder } from '../tasks/order.ts'
import { type DataStream, type Line, streamLines } from '../tasks/read.ts'
import type { ReplyTaskOptions } from './reply-task.ts'

/** Maximum characters of the lines whose items are kept. */
const MAX_CHARACTERS = 1 << 28

export interface DrawOptions extends Pick<ReplyTaskOptions, 'seed' | 'limit'> {
  /** Lines at the end of the file that are not items. Default 0. */
  readonly spared?: number
  /** Maximum characters of the lines that are kept. Default 2^28. */
  readonly maxCharacters?: number
}

interface Drawn<Item> {
  /** In the order in which they are used. */
  readonly items: readonly Item[]
  /** Number of items in the whole file. */
  readonly count: number
  /** The reserved lines, in the file's order. */
  readonly last: readonly Item[]
}

/**
 * With a seed and a limit, reads the file twice, because the order depends on the number of lines. Throws
 * `format` if `read` does or the lines have too many characters, and `integrity` if the file changes in
 * between.
 */
export async function drawItems<Item>(
  file: DataStream,
  read: (line: Line) => Item,
  { seed, limit, spared = 0, maxCharacters = MAX_CHARACTERS }: DrawOptions,
): Promise<Drawn<Item>> {
  const isTwice = seed !== undefined && limit !== undefined
  const lines = isTwice ? await count(file) : undefined
  const order = lines === undefined ? undefined : drawnOrder(lines - spared, seed!).subarray(0, limit)
  const asked = order && new Set(order)
  const isAsked = (index: number) => asked?.has(index) ?? index < (limit ?? Number.POSITIVE_INFINITY)
  const kept = new Map<number, Item>()
  const end: Kept<Item>[] = []
  let characters = 0
  let total = 0
  for await (const each of streamLines(file)) {
    const index = total++
    const item = read(each.line)
    if (isAsked(index)) kept.set(index, item)
    if (spared > 0) {
      characters -= end[index % spared]?.characters ?? 0
      end[index % spared] = { item, characters: each.characters }
    }
    characters += each.characters * (Number(isAsked(index)) + Number(spared > 0))
    if (characters > maxCharacters) throw tooLarge(each.line, maxCharacters)
  }
  if (lines !== undefined && lines !== total) throw changed(file, lines, total)
  const items = Math.max(0, total - spared)
  const places = order ?? (seed === undefined ? Uint32Array.from(kept.keys()) : drawnOrder(items, seed))
  const first = spared === 0 ? 0 : total % spared
  return {
    items: Array.from(
      places.filter((index) => index < items),
      (index) => kept.get(index)!,
    ),
    count: items,
    last: (total < spared ? end : [...end.slice(first), ...end.slice(0, first)]).map(({ item }) => item),
  }
}

interface Kept<Item> {
  readonly item: Item
  readonly characters: number
}

async function count(file: DataStream): Promise<number> {
  let lines = 0
  for await (const _ of streamLines(file)) lines++
  return lines
}

const tooLarge = ({ file, number }: Line, most: number): HalfbyteError =>
  new HalfbyteError(
    'format',
    `${file}: the items up to line ${number} have more than ${most} characters, and the selected ones must fit into memory; select fewer with --limit`,
    { file, line: number, most },
  )

const changed = ({ name }: DataStream, before: number, now: number): HalfbyteError =>
  new HalfbyteError(
    'integrity',
    `${name} had ${before} lines and has ${now} now; it changed while being read; try again`,
    { before, now },
  )
