// Reads the lines of a data set as JSON objects. Errors name the line.
import { HalfbyteError } from '../../base/errors.ts'
import { parseJson } from '../../base/json.ts'
import { isObject, type JsonObject } from '../../base/values.ts'

/** A file of a data set. */
export interface DataFile {
  readonly name: string
  readonly text: string
}

/** An object of a file, and its line. */
export interface Line {
  readonly file: string
  readonly number: number
  readonly value: JsonObject
}

/** Throws `format` for a line that is not an object. */
export function readLines({ name, text }: DataFile): Line[] {
  return text.split('\n').flatMap((line, index) => {
    if (line.trim() === '') return []
    let value: unknown
    try {
      value = parseJson(line)
    } catch {
      value = undefined
    }
    const read = { file: name, number: index + 1 }
    if (!isObject(value)) throw wrong(read, 'is not a JSON object')
    return [{ ...read, value }]
  })
}

export function textField(line: Line, key: string): string {
  const value = line.value[key]
  if (typeof value === 'string') return value
  throw wrong(line, `has no text under "${key}"`)
}

export function textsField(line: Line, key: string): string[] {
  const value = line.value[key]
  if (isTexts(value) && value.length > 1) return value
  throw wrong(line, `has no list of two texts or more under "${key}"`)
}

export const isTexts = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((each) => typeof each === 'string')

/** The index of the right one of `count` choices, written as a number or its text. */
export function goldOf(line: Line, value: unknown, count: number): number {
  const gold = typeof value === 'string' && value.trim() !== '' ? Number(value) : value
  if (typeof gold === 'number' && Number.isInteger(gold) && gold >= 0 && gold < count) return gold
  throw wrong(line, `names the right one of ${count} choices as ${JSON.stringify(value)}`)
}

export const wrong = ({ file, number }: Pick<Line, 'file' | 'number'>, what: string): HalfbyteError =>
  new HalfbyteError(
    'format',
    `${file}: line ${number} ${what}; docs/guide/evaluation.md shows the forms that are read`,
    { file, line: number },
  )
