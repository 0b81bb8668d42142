// The texts of `trim`. In: files. Out: counts of their tokens, held-out pieces, and the proof that a trimmed
// tokenizer encodes and decodes them.
import { piecesOf } from '../../../core/base/bytes.ts'
import { encodeChat } from '../../../core/text/chat/chat-template.ts'
import type { Tokenizer } from '../../../core/text/tokenize/tokenizer.ts'
import { commonPlaces, type TwiceEncoded } from '../../evaluate/divergence-across.ts'
import type { RoundTrip } from '../../shrink/vocabulary/round-trip.ts'
import { SAMPLES } from '../../shrink/vocabulary/samples.ts'
import { calibrationTexts } from './calibration-file.ts'

/** A piece of text, or a conversation. */
export interface HeldText {
  readonly form: 'text' | 'chat'
  readonly text: string
}

/** Tokenizes the texts in files. */
export interface TextReader {
  /** Undefined for an encoder, which has no conversations. */
  readonly tokenizer: Tokenizer | undefined
  readonly idsOf: (text: HeldText) => readonly number[]
}

/** The reader of a chat model. */
export const readerOf = (tokenizer: Tokenizer): TextReader => ({
  tokenizer,
  idsOf: (text) => idsOf(text, tokenizer),
})

/** UTF-16 units of a piece, about 500 tokens of English. */
const PIECE = 2048
/** One in this many pieces of a file is held out, until there are enough. */
const HELD_OF = 8

/** Plain text is split at line ends or between words if possible. */
async function* piecesOfFile(
  file: string,
  { tokenizer }: Pick<TextReader, 'tokenizer'>,
): AsyncGenerator<HeldText> {
  for await (const { form, text } of calibrationTexts(file, tokenizer)) {
    if (form === 'chat') {
      yield { form, text }
      continue
    }
    let rest = ''
    for await (const piece of piecesOf(text)) {
      rest += piece
      while (rest.length >= 2 * PIECE) {
        const cut = placeToCut(rest)
        yield { form, text: rest.slice(0, cut) }
        rest = rest.slice(cut)
      }
    }
    if (rest !== '') yield { form, text: rest }
  }
}

function placeToCut(text: string): number {
  const line = text.lastIndexOf('\n', PIECE)
  if (line > 0) return line + 1
  const word = text.lastIndexOf(' ', PIECE)
  if (word > 0) return word
  // Two units may form one character.
  return PIECE - (/[\ud800-\udbff]/.test(text.charAt(PIECE - 1)) ? 1 : 0)
}

const idsOf = ({ form, text }: HeldText, tokenizer: Tokenizer): number[] =>
  form === 'chat'
    ? encodeChat(tokenizer, text)
    : tokenizer.encode(text, { addSpecial: true, parseSpecial: true })

interface Piece {
  readonly text: HeldText
  readonly ids: readonly number[]
  readonly isHeld: boolean
}

/**
 * The pieces of all files. Every call holds out the same pieces. Throws what reading the files throws.
 */
async function* allPieces(
  files: readonly string[],
  reader: TextReader,
  heldOut: number,
): AsyncGenerator<Piece> {
  let held = 0
  for (const [index, file] of files.entries()) {
    const due = Math.round(((index + 1) * heldOut) / files.length)
    let number = 0
    for await (const text of piecesOfFile(file, reader)) {
      const ids = reader.idsOf(text)
      const isHeld = ++number % HELD_OF === 0 && held < due && ids.length > 1
      if (isHeld) held++
      yield { text, ids, isHeld }
    }
  }
}

/**
 * Counts how often each token occurs in the pieces that are not held out. Returns undefined without files.
 * Throws what reading them throws.
 */
export async function countTokens(
  files: readonly string[],
  reader: TextReader,
  heldOut: number,
  signal: AbortSignal,
  onText: (text: string) => void,
): Promise<{ readonly counts: ReadonlyMap<number, number> | undefined; readonly held: readonly HeldText[] }> {
  const counts = new Map<number, number>()
  const held: HeldText[] = []
  for await (const { text, ids, isHeld } of allPieces(files, reader, heldOut)) {
    signal.throwIfAborted()
    onText(text.text)
    if (isHeld) held.push(text)
    if (isHeld) continue
    for (const id of ids) counts.set(id, (counts.get(id) ?? 0) + 1)
  }
  return { counts: files.length === 0 ? undefined : counts, held }
}

/**
 * Makes windows, in `after`'s tokens, of the pieces that are not held out, taken evenly from the whole text.
 * `before`: the reader given to `countTokens`. Returns none for text shorter than one window.
 */
export async function windowsOf(
  files: readonly string[],
  { before, after }: { readonly before: TextReader; readonly after: TextReader },
  {
    heldOut,
    windows,
    length,
  }: { readonly heldOut: number; readonly windows: number; readonly length: number },
  signal: AbortSignal,
): Promise<readonly (readonly number[])[]> {
  const all: number[][] = []
  let open: number[] = []
  for await (const { text, isHeld } of allPieces(files, before, heldOut)) {
    signal.throwIfAborted()
    if (isHeld) continue
    for (const id of after.idsOf(text)) {
      open.push(id)
      if (open.length < length) continue
      all.push(open)
      open = []
    }
  }
  const step = Math.max(1, all.length / windows)
  return Array.from({ length: Math.min(windows, all.length) }, (_, at) => all[Math.floor(at * step)]!)
}

/** Encodes and decodes all files again, and samples of every script. Throws `internal` if a text changes. */
export async function provenTexts(
  files: readonly string[],
  before: TextReader,
  after: TextReader,
  proof: RoundTrip,
  signal: AbortSignal,
  onText: (text: string) => void,
): Promise<{ readonly texts: number; readonly samePieces: number; readonly foreign: number }> {
  const check = (text: HeldText) => {
    signal.throwIfAborted()
    proof.check(before.idsOf(text), after.idsOf(text))
    onText(text.text)
  }
  for (const text of SAMPLES) check({ form: 'text', text })
  for (const file of files) for await (const text of piecesOfFile(file, before)) check(text)
  return { texts: proof.texts, samePieces: proof.samePieces, foreign: proof.foreign }
}

/** Both sequences cover the same text; a longer text is cut where both have a token boundary. */
export function twiceEncoded(
  text: HeldText,
  before: Tokenizer,
  after: Tokenizer,
  most: number,
): TwiceEncoded {
  const own = idsOf(text, before)
  const other = idsOf(text, after)
  const bytes = (tokenizer: Tokenizer, ids: readonly number[]) => ids.map((id) => tokenizer.tokenBytes(id))
  const places = commonPlaces(bytes(before, own), bytes(after, other)).filter(
    ([i, j]) => i < most && j < most,
  )
  const [i, j] = places.at(-1) ?? [own.length - 1, other.length - 1]
  return { before: own.slice(0, i + 1), after: other.slice(0, j + 1), places: places.slice(0, -1) }
}
