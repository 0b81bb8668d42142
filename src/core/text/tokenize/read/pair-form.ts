// How a tokenizer.json joins two texts for a model that reads both at once.
import { isObject, type JsonObject } from '../../../base/values.ts'
import { malformed, shown } from '../../spec.ts'
import { idOfPair, idsOfSpecial, stepsAt } from './json-parts.ts'

/** Ids around and between the texts, or one of the texts; `kind`: the type of these tokens. */
export type PairPart = { readonly kind: number } & (
  | { readonly ids: readonly number[] }
  | { readonly text: 'first' | 'second' }
)

/** Token types select a row of the model's table, which never has more rows. */
const MAX_KINDS = 16

/**
 * Two texts with ids before, between and after them. `kind`: the type of the second text's tokens and of
 * those after it.
 */
export const pairForm = (
  before: readonly number[],
  between: readonly number[],
  after: readonly number[],
  kind = 0,
): readonly PairPart[] => [
  { ids: before, kind: 0 },
  { text: 'first', kind: 0 },
  { ids: between, kind: 0 },
  { text: 'second', kind },
  { ids: after, kind },
]

/** The parts of a pair in order; undefined for a post-processor that does not join texts. Throws `format`. */
export function readPairForm(processor: unknown): readonly PairPart[] | undefined {
  const json = isObject(processor) ? processor : {}
  switch (json['type']) {
    case 'Sequence':
      return stepsAt(json, 'processors')
        .map(readPairForm)
        .find((form) => form !== undefined)
    case 'BertProcessing':
    case 'RobertaProcessing': {
      const cls = idOfPair(json['cls'])
      const sep = idOfPair(json['sep'])
      return json['type'] === 'BertProcessing'
        ? pairForm([cls], [sep], [sep], 1)
        : pairForm([cls], [sep, sep], [sep])
    }
    case 'TemplateProcessing':
      return json['pair'] === undefined ? undefined : templatePair(json)
    default:
      return undefined
  }
}

function templatePair(json: JsonObject): readonly PairPart[] {
  const parts = stepsAt(json, 'pair').map((part): PairPart => {
    const { Sequence: sequence, SpecialToken: token } = isObject(part) ? part : {}
    const found = isObject(sequence) ? sequence : isObject(token) ? token : {}
    const kind = found['type_id'] ?? 0
    if (typeof kind !== 'number' || !Number.isInteger(kind) || kind < 0 || kind >= MAX_KINDS)
      throw malformed(`has the token type id ${shown(kind)} in pairs; ids go to ${MAX_KINDS - 1}`)
    if (found === token) return { ids: idsOfSpecial(json, found['id']), kind }
    const text = found['id'] === 'A' ? 'first' : found['id'] === 'B' ? 'second' : undefined
    if (text === undefined)
      throw malformed(`has ${shown(found['id'])} in its pair template, which must use A and B`)
    return { text, kind }
  })
  for (const text of ['first', 'second'] as const) {
    const count = parts.filter((part) => 'text' in part && part.text === text).length
    if (count !== 1) throw malformed(`has the ${text} text ${count} times in a pair instead of once`)
  }
  return parts
}
