// Encodes a text that arrives in chunks. The ids are the same as for the whole text, but only a small part of
// it is in memory at a time.
//
// The text is split at word boundaries, and each part is encoded separately. A tokenizer may join parts that
// a split would separate: words, punctuation, added tokens, white space that a token strips. So a split is
// used only if the text around it has the same ids with and without it.
import { piecesOf, type TextPieces } from '../../base/bytes.ts'
import { type EncodeOptions, type Tokenizer, withPrefix } from './tokenizer.ts'

export interface StreamOptions extends Pick<EncodeOptions, 'addSpecial' | 'parseSpecial'> {
  /** UTF-16 units per part. Default 262,144. */
  readonly partLength?: number
}

const PART = 1 << 18
/** UTF-16 units on each side of a split that are compared. */
const AROUND = 1024
/** How many split positions are tried in a part before it grows. */
const MAX_TRIES = 32
/**
 * A text is split between any two characters if this many parts in a row contain neither spaces nor line
 * breaks.
 */
const UNBROKEN = 16

type IsPlace = (text: string, at: number) => boolean

/** Yields a list of ids for each part, in the order of the text. */
export async function* encodeStream(
  tokenizer: Pick<Tokenizer, 'encode' | 'prefix' | 'suffix'>,
  pieces: TextPieces,
  { addSpecial = false, parseSpecial = false, partLength = PART }: StreamOptions = {},
): AsyncGenerator<number[]> {
  const { prefix, suffix } = tokenizer
  /** Ids from the start, at most as many as requested. */
  let head: number[] | undefined = addSpecial ? [] : undefined
  let text = ''
  let due = partLength
  let isFirst = true
  let last: number | undefined
  const next = (part: string): number[] => {
    const ids = tokenizer.encode(part, { parseSpecial, continues: !isFirst, after: last })
    isFirst = false
    last = ids.at(-1) ?? last
    if (head === undefined) return ids
    head = [...head, ...ids]
    if (head.length < prefix.length) return []
    const begun = withPrefix(prefix, head)
    head = undefined
    return begun
  }
  for await (const piece of piecesOf(pieces)) {
    text += piece
    while (text.length >= due) {
      const places = due < UNBROKEN * partLength ? [isBetweenWords] : [isBetweenWords, isBetweenCharacters]
      const cut = findCut(tokenizer, text.slice(0, due), places, parseSpecial)
      if (cut === undefined) {
        due *= 2
        continue
      }
      yield next(text.slice(0, cut))
      text = text.slice(cut)
      due = partLength
    }
  }
  yield next(text)
  if (addSpecial) yield [...(head === undefined ? [] : withPrefix(prefix, head)), ...suffix]
}

interface Collected {
  readonly ids: Uint32Array
  /** Number of ids in the whole text, including those that were not kept. */
  readonly count: number
}

/** The first `most` ids of a stream in four bytes each, and how many there are. */
export async function collectIds(
  parts: AsyncIterable<readonly number[]>,
  most = Number.POSITIVE_INFINITY,
): Promise<Collected> {
  let ids = new Uint32Array(1024)
  let count = 0
  for await (const part of parts) {
    const kept = part.slice(0, Math.max(0, most - count))
    if (kept.length > 0 && count + kept.length > ids.length) {
      const larger = new Uint32Array(Math.min(2 * (count + kept.length), most))
      larger.set(ids)
      ids = larger
    }
    if (kept.length > 0) ids.set(kept, count)
    count += part.length
  }
  return { ids: ids.subarray(0, Math.min(count, most)), count }
}

/** The parts until they have `most` ids together; the text after them is not read. */
export async function* takeIds(
  parts: AsyncIterable<readonly number[]>,
  most: number,
): AsyncGenerator<readonly number[]> {
  let left = most
  for await (const part of parts) {
    yield part.slice(0, left)
    left -= part.length
    if (left <= 0) return
  }
}

/** The last valid split position in the second half of the text; undefined if there is none. */
function findCut(
  tokenizer: Pick<Tokenizer, 'encode'>,
  text: string,
  places: readonly IsPlace[],
  parseSpecial: boolean,
): number | undefined {
  const around = Math.min(AROUND, Math.floor(text.length / 4))
  const least = Math.floor(text.length / 2)
  for (const isPlace of places) {
    let tries = 0
    for (let at = text.length - around; at > least && tries < MAX_TRIES; at--) {
      if (!isPlace(text, at)) continue
      tries++
      if (holds(tokenizer, text.slice(at - around, at), text.slice(at, at + around), parseSpecial)) return at
    }
  }
  return undefined
}

/** Before a single space, or after a line break, between characters that are not white space. */
function isBetweenWords(text: string, at: number): boolean {
  const before = text[at - 1] ?? ''
  const here = text[at] ?? ''
  const after = text[at + 1] ?? ''
  if (here === ' ') return /\S/.test(before) && /\S/.test(after)
  return before === '\n' && /\S/.test(here)
}

function isBetweenCharacters(text: string, at: number): boolean {
  const code = text.charCodeAt(at)
  return code < 0xdc00 || code > 0xdfff
}

function holds(
  { encode }: Pick<Tokenizer, 'encode'>,
  left: string,
  right: string,
  parseSpecial: boolean,
): boolean {
  const whole = encode(left + right, { parseSpecial, continues: true })
  const ids = encode(left, { parseSpecial, continues: true })
  ids.push(...encode(right, { parseSpecial, continues: true, after: ids.at(-1) }))
  return ids.length === whole.length && ids.every((id, index) => id === whole[index])
}
