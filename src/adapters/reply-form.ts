// The options for a reply that must be a call or match a JSON format, derived from the adapters' requests.
import { HalfbyteError } from '../core/base/errors.ts'
import type { GenerateOptions, Tool } from '../engine/api/types.ts'

/** Receives warnings. Default: writes to the console. */
export type OnWarning = (sentence: string) => void

/** Passes on each warning only the first time. */
export function warnOnce(onWarning: OnWarning = (sentence) => console.warn(sentence)): OnWarning {
  const said = new Set<string>()
  return (sentence) => {
    if (said.has(sentence)) return
    said.add(sentence)
    onWarning(sentence)
  }
}

/** Names of an OpenAI object's fields that have a value but are not read. */
export const unreadFields = (given: object, read: object): string[] =>
  Object.entries(given)
    .filter(([name, value]) => value != null && !Object.hasOwn(read, name))
    .map(([name]) => name)

/** Warns of each field of an OpenAI request that is not read. */
export function warnOfUnread(params: object, read: object, onWarning: OnWarning): void {
  for (const name of unreadFields(params, read))
    onWarning(`halfbyte/openai ignores "${name}": the engine does not support it`)
}

/** `required`: the reply must call a tool. */
export type ToolChoice = 'auto' | 'none' | 'required' | { readonly tool: string }

interface ReplyForm {
  readonly tools: readonly Tool[]
  readonly choice: ToolChoice
  /** A schema for replies that are not calls. */
  readonly schema: object | undefined
}

/** The schema for a JSON format without one. */
export const ANY_OBJECT: object = { type: 'object' }

/**
 * A forced call is one JSON value, `{"name": .., "arguments": ..}`, regardless of the model's own call
 * format. The same applies to an optional call if other replies must be JSON. Throws `unsupported` for an
 * unknown tool.
 */
export function formOptions({
  tools,
  choice,
  schema,
}: ReplyForm): Pick<GenerateOptions, 'tools' | 'schema' | 'compact'> {
  if (choice === 'none' || (tools.length === 0 && choice === 'auto')) return { tools: undefined, schema }
  if (choice === 'auto') {
    if (schema === undefined) return { tools, schema }
    return { tools, schema: { anyOf: [moved(schema, '#/anyOf/0'), callSchema(tools, '#/anyOf/1')] } }
  }
  const callable = choice === 'required' ? tools : tools.filter(({ name }) => name === choice.tool)
  if (callable.length > 0) return { tools, schema: callSchema(callable, '#'), compact: true }
  const wanted = choice === 'required' ? 'some tool' : `the tool "${choice.tool}"`
  throw new HalfbyteError(
    'unsupported',
    `${wanted} must be called, but it is not among the ${tools.length} tools given; add it or let the model choose`,
    { name: 'toolChoice', tools: tools.map(({ name }) => name) },
  )
}

function callSchema(tools: readonly Tool[], at: string): object {
  return {
    anyOf: tools.map(({ name, parameters = ANY_OBJECT }, index) => ({
      type: 'object',
      properties: {
        name: { const: name },
        // Arguments are always an object, whatever else the parameters allow.
        arguments: {
          ...moved(parameters, `${at}/anyOf/${index}/properties/arguments`),
          ...ANY_OBJECT,
        },
      },
      required: ['name', 'arguments'],
      additionalProperties: false,
    })),
  }
}

/** Keywords whose values are not schemas. */
const VALUES: ReadonlySet<string> = new Set(['const', 'enum', 'default', 'example', 'examples'])
/** Keywords with schemas under arbitrary names. */
const NAMED: ReadonlySet<string> = new Set(['properties', 'patternProperties', '$defs', 'definitions'])
/** Deeper nesting is rejected when the schema is compiled. */
const MAX_DEPTH = 256

/** The same schema as a part of another at `pointer`. References to its own parts are adjusted. */
function moved<Value>(value: Value, pointer: string, isNamed = false, depth = 0): Value {
  if (typeof value !== 'object' || value === null || depth > MAX_DEPTH) return value
  if (Array.isArray(value)) return value.map((item) => moved(item, pointer, false, depth + 1)) as Value
  // References below an $id are relative to it.
  if (!isNamed && typeof Reflect.get(value, '$id') === 'string') return value
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => {
      if (!isNamed && VALUES.has(key)) return [key, item]
      const isOwn = !isNamed && key === '$ref' && typeof item === 'string' && /^#(?:\/|$)/.test(item)
      return [
        key,
        isOwn ? `${pointer}${item.slice(1)}` : moved(item, pointer, !isNamed && NAMED.has(key), depth + 1),
      ]
    }),
  ) as Value
}
