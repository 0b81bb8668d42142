// Writes a value like Python's json.dumps, with the arguments of Transformers' `tojson`.
import {
  CallArguments,
  type Float,
  fromJson,
  itemsOf,
  numberOf,
  numberText,
  PART_UNITS,
  type Spend,
  stringOf,
  textOf,
  typeError,
  typeName,
  type Value,
  View,
} from './values.ts'

/** The style of plain `json.dumps`, but without escapes for non-ASCII characters. */
const PLAIN_STYLE: JsonStyle = { ascii: false, indent: undefined, comma: ', ', colon: ': ', sorts: false }

/** What Python's `str` returns, and JSON for the arguments of a call. */
export function writtenText(value: Value, spend: Spend): string {
  return value instanceof CallArguments ? jsonOf(value, PLAIN_STYLE, spend) : textOf(value, spend)
}

/** A value as plain `json.dumps` writes it. It contains no numbers beyond 2^53. */
export const pythonJson = (value: unknown): string =>
  jsonOf(
    fromJson(value, () => {}),
    PLAIN_STYLE,
    () => {},
  )

export interface JsonStyle {
  readonly ascii: boolean
  readonly indent: string | undefined
  readonly comma: string
  readonly colon: string
  readonly sorts: boolean
}

export function jsonOf(value: Value, style: JsonStyle, spend: Spend, depth = 1): string {
  spend(PART_UNITS * depth)
  if (value === null) return 'null'
  if (typeof value === 'boolean') return `${value}`
  const text = stringOf(value)
  if (text !== undefined) return jsonText(text, style, spend)
  const number = numberOf(value)
  if (number !== undefined) return jsonNumber(value as number | Float)
  const first = style.indent === undefined ? '' : `\n${style.indent.repeat(depth)}`
  const last = style.indent === undefined ? '' : `\n${style.indent.repeat(depth - 1)}`
  const listed = (parts: readonly string[], open: string, close: string) => {
    spend(parts.length * first.length)
    return parts.length === 0 ? open + close : open + first + parts.join(style.comma + first) + last + close
  }
  if (value instanceof Map) {
    const entries = Array.from(value, ([key, part]) => [jsonKey(key), part] as const)
    if (style.sorts) entries.sort(([a], [b]) => (a < b ? -1 : 1))
    const parts = entries.map(
      ([key, part]) => jsonText(key, style, spend) + style.colon + jsonOf(part, style, spend, depth + 1),
    )
    return listed(parts, '{', '}')
  }
  const items = value instanceof View ? undefined : itemsOf(value)
  if (items === undefined) throw typeError(`Object of type ${typeName(value)} is not JSON serializable`)
  return listed(
    items.map((item) => jsonOf(item, style, spend, depth + 1)),
    '[',
    ']',
  )
}

function jsonNumber(value: number | Float): string {
  const text = numberText(value)
  return { nan: 'NaN', inf: 'Infinity', '-inf': '-Infinity' }[text] ?? text
}

const jsonKey = (key: string | number | boolean | null) =>
  typeof key === 'number' ? jsonNumber(key) : `${key}`

function jsonText(text: string, { ascii }: JsonStyle, spend: Spend): string {
  spend(text.length)
  const hex = (character: string) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
  // Unlike Python, JSON.stringify escapes lone surrogates.
  const json = JSON.stringify(text)
  return ascii ? json.replace(/[\x80-\uffff]/g, hex) : json
}
