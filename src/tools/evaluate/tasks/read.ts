// Reads the lines of a dataset as JSON objects, from a text or piece by piece. Errors name the line.
import { linesOf, type TextPieces } from '../../../core/base/bytes.ts'
import { HalfbyteError } from '../../../core/base/errors.ts'
import { parseJson } from '../../../core/base/json.ts'
import { isObject, type JsonObject } from '../../../core/base/values.ts'

/** A data set's file. */
export interface DataFile {
  readonly name: string
  readonly text: string
}

/** A data set's file, read in pieces, from the beginning each time. */
export interface DataStream {
  readonly name: string
  pieces(): TextPieces
}

/** An object in a file, with its line number. */
export interface Line {
  readonly file: string
  readonly number: number
  readonly value: JsonObject
}

/** Characters. The longest lines of published data sets have about 20,000. */
const LONGEST_LINE = 1 << 24

/** Throws `format` for a line that is not an object. */
export function readLines({ name, text }: DataFile): Line[] {
  return text.split('\n').flatMap((line, index) => readLine(line, { file: name, number: index + 1 }) ?? [])
}

/**
 * The same objects, one after another, with the length of their lines. Also throws `format` for a line that
 * is too long.
 */
export async function* streamLines(
  { name, pieces }: DataStream,
  longest = LONGEST_LINE,
): AsyncGenerator<{ readonly line: Line; readonly characters: number }> {
  let number = 0
  for await (const text of linesOf(pieces(), longest, name)) {
    const line = readLine(text, { file: name, number: ++number })
    if (line !== undefined) yield { line, characters: text.length }
  }
}

/** Returns undefined for a blank line. */
function readLine(text: string, place: Pick<Line, 'file' | 'number'>): Line | undefined {
  if (text.trim() === '') return undefined
  let value: unknown
  try {
    value = parseJson(text)
  } catch {
    value = undefined
  }
  if (!isObject(value)) throw wrong(place, 'is not a JSON object')
  return { ...place, value }
}

export function textField(line: Line, key: string): string {
  const value = line.value[key]
  if (typeof value === 'string') return value
  throw wrong(line, `has no text under "${key}"`)
}

export function textsField(line: Line, key: string): string[] {
  const value = line.value[key]
  if (isTexts(value) && value.length > 1) return value
  throw wrong(line, `needs a list of at least two strings under "${key}"`)
}

export const isTexts = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((each) => typeof each === 'string')

/** The index of the right choice out of `count`, given as a number or numeric string. */
export function goldOf(line: Line, value: unknown, count: number): number {
  const gold = typeof value === 'string' && value.trim() !== '' ? Number(value) : value
  if (typeof gold === 'number' && Number.isInteger(gold) && gold >= 0 && gold < count) return gold
  throw wrong(line, `gives the right one of ${count} choices as ${JSON.stringify(value)}`)
}

export const wrong = ({ file, number }: Pick<Line, 'file' | 'number'>, what: string): HalfbyteError =>
  new HalfbyteError(
    'format',
    `${file}: line ${number} ${what}; docs/guide/evaluation.md describes the supported formats`,
    { file, line: number },
  )
