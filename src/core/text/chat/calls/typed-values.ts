// Gives a value that was written without quotes its type, by the schema of its parameter.
import { allowedBy } from '../../../base/calls/allowed-types.ts'
import { type CallableTool, parsed, schemaOf } from './call.ts'
import { pythonLiteral } from './python-values.ts'

/**
 * The value as JSON text. Where the schema allows texts, it is a text, except null where that is allowed too.
 * Elsewhere it is JSON or one of Python's literals, as it was written; what is neither stays a text. A value
 * of `enum` or `const` is matched as a text first.
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

/** The text as JSON, if it is JSON or, with `isTyped`, one of Python's literals. */
function literal(text: string, isTyped: boolean): string | undefined {
  if (parsed(text) !== undefined || text === 'null') return text
  return isTyped || /^[[{]/.test(text) ? pythonLiteral(text) : undefined
}
