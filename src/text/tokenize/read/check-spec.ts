// Specification check. In: an unchecked tokenizer specification. Out: the same, with the type of each field
// checked.
import { isObject, type JsonObject } from '../../../base/values.ts'
import { malformed, shown, type TokenizerSpec } from '../../spec.ts'

const TYPES = {
  strings: { what: 'an array of texts', fits: isListOf('string') },
  numbers: { what: 'an array of numbers', fits: isListOf('number') },
  text: { what: 'a text', fits: (value: unknown) => typeof value === 'string' },
  number: { what: 'a number', fits: (value: unknown) => typeof value === 'number' },
  boolean: { what: 'true or false', fits: (value: unknown) => typeof value === 'boolean' },
  object: { what: 'an object', fits: isObject },
}

const FIELDS: { readonly [Kind in TokenizerSpec['kind']]: Readonly<Record<string, keyof typeof TYPES>> } = {
  json: { tokenizer: 'object', config: 'object' },
  gguf: {
    ...{
      tokens: 'strings',
      model: 'text',
      name: 'text',
      pre: 'text',
      merges: 'strings',
      scores: 'numbers',
      types: 'numbers',
    },
    ...{ bosId: 'number', eosId: 'number', eotId: 'number', eomId: 'number', unknownId: 'number' },
    ...{ addBos: 'boolean', addEos: 'boolean', addSpacePrefix: 'boolean' },
    ...{ chatTemplate: 'text', toolTemplate: 'text' },
  },
}
/** Fields that every tokenizer must have. */
const REQUIRED: readonly string[] = ['tokens', 'model', 'tokenizer']

/** Treats null as absent. Throws `format`, naming the field that is wrong. */
export function checkedSpec(value: unknown): TokenizerSpec {
  const given: JsonObject = isObject(value) ? value : {}
  const { kind } = given
  if (kind !== 'json' && kind !== 'gguf') throw malformed(`is of no known kind: ${shown(kind)}`)
  const spec: Record<string, unknown> = { kind }
  for (const [key, type] of Object.entries(FIELDS[kind])) {
    const field = given[key] ?? undefined
    const { what, fits } = TYPES[type]
    if (field === undefined ? REQUIRED.includes(key) : !fits(field)) {
      throw malformed(`has ${shownItem(field, type)} for ${key} instead of ${what}`)
    }
    spec[key] = field
  }
  return spec as unknown as TokenizerSpec
}

function isListOf(type: string) {
  return (value: unknown) => Array.isArray(value) && value.every((item) => typeof item === type)
}

/** The wrong value; of a list that should have other items, the wrong item. */
function shownItem(field: unknown, type: string): string {
  if (!Array.isArray(field) || (type !== 'strings' && type !== 'numbers')) return shown(field)
  const at = field.findIndex((item) => `${typeof item}s` !== type)
  return `${shown(field[at])} at ${at}`
}
