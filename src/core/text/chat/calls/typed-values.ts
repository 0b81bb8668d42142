// Gives a value that was written without quotes the type in its parameter's schema.
import { allowedBy } from '../../../base/calls/allowed-types.ts'
import { type CallableTool, parsed, schemaOf } from './call.ts'
import { pythonLiteral } from './python-values.ts'

/**
 * The value as JSON text. If the schema allows strings, it is a string, except for null if that is allowed
 * too. Otherwise it is JSON or a Python literal, as written; anything else remains a string. A value of
 * `enum` or `const` is first matched as a string.
 */
export function typedJson(text: string, name: string, tool: CallableTool): string {
  const quoted = JSON.stringify(text)
  const { types, values } = allowedBy(schemaOf(tool, name), tool.parameters)
  if (values.includes(text)) return quoted
  const isNull = ['null', 'None'].includes(text.trim())
  const read = literal(text.trim(), types.size > 0)
  if (read !== undefined && values.some((value) => value === parsed(read))) return read
  if (types.has('string')) return types.has('null') && isNull ? 'null' : quoted
  return read ?? quoted
}

/** The value between tags that are on lines of their own. */
export const withoutLineEnds = (text: string): string => text.replace(/^\n/, '').replace(/\n$/, '')

/** The text as JSON, if it is JSON or, with `isTyped`, a Python literal. */
function literal(text: string, isTyped: boolean): string | undefined {
  if (parsed(text) !== undefined) return text
  return isTyped || /^[[{]/.test(text) ? pythonLiteral(text) : undefined
}
