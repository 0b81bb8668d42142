// Reads and checks the parts of a tokenizer.json that the tokenizer needs.
import { isCount, isObject, type JsonObject } from '../../../base/values.ts'
import { MAX_TOKENS, malformed, shown, unsupported } from '../../spec.ts'
import type { AddedToken } from '../token-search.ts'
import type { Spelling } from '../vocabulary.ts'

/** Reads a field that must be an object. */
export function objectAt(json: JsonObject, key: string): JsonObject {
  const value = json[key]
  if (isObject(value)) return value
  throw malformed(`has ${shown(value)} for ${key} instead of an object`)
}

export function isId(value: unknown): value is number {
  return isCount(value) && value < MAX_TOKENS
}

/** Tokens by id; undefined for an id without a token. */
export function readTokens(model: JsonObject, added: readonly AddedToken[]): (string | undefined)[] {
  const tokens: (string | undefined)[] = []
  const put = (id: number, token: string) => {
    const other = tokens[id]
    if (other !== undefined && other !== token) {
      throw malformed(`has two tokens with the id ${id}: ${shown(other)} and ${shown(token)}`)
    }
    while (tokens.length < id) tokens.push(undefined)
    tokens[id] = token
  }
  const vocab = objectAt(model, 'vocab')
  // Object.entries would create 150,000 arrays, which would permanently grow the heap.
  for (const token of Object.keys(vocab)) {
    const id = vocab[token]
    if (!isId(id)) throw malformed(`has the id ${shown(id)} for ${shown(token)}; ids go to ${MAX_TOKENS - 1}`)
    put(id, token)
  }
  for (const { id, text } of added) put(id, text)
  return tokens
}

/** An added token, and whether it is searched for in normalised text. */
export interface JsonAddedToken extends AddedToken {
  readonly normalized: boolean
}

/** Reads the added tokens. If `vocab` also has a token, its id there takes precedence. */
export function readAdded(json: JsonObject, vocab: JsonObject): JsonAddedToken[] {
  const list = json['added_tokens'] ?? []
  if (!Array.isArray(list)) throw malformed(`has ${shown(list)} for added_tokens instead of an array`)
  return list.map((token: unknown, index) => {
    const {
      content: text,
      id,
      special,
      lstrip,
      rstrip,
      normalized,
      single_word,
    } = isObject(token) ? token : {}
    if (typeof text !== 'string' || !isId(id)) {
      throw malformed(`has an added token ${index} without text or with the id ${shown(id)}`)
    }
    const known = Object.hasOwn(vocab, text) ? vocab[text] : undefined
    return {
      text,
      id: isId(known) ? known : id,
      special: special === true,
      isWord: single_word === true,
      stripsLeft: lstrip === true,
      stripsRight: rstrip === true,
      normalized: typeof normalized === 'boolean' ? normalized : special !== true,
    }
  })
}

export interface Decoding extends Spelling {
  readonly byteFallback: boolean
  /** True if decoding drops a text's first space. */
  readonly stripsFirstSpace: boolean
}

const PLAIN: Decoding = { byteLevel: false, replacements: [], byteFallback: false, stripsFirstSpace: false }

/** Reads how tokens become text from the decoder. */
export function readDecoding(decoder: unknown): Decoding {
  if (decoder === undefined || decoder === null) return PLAIN
  const json = isObject(decoder) ? decoder : {}
  switch (json['type']) {
    case 'ByteLevel':
      return { ...PLAIN, byteLevel: true }
    case 'ByteFallback':
      return { ...PLAIN, byteFallback: true }
    case 'Fuse':
      return PLAIN
    case 'Metaspace':
      return {
        ...PLAIN,
        replacements: [[typeof json['replacement'] === 'string' ? json['replacement'] : '\u2581', ' ']],
        stripsFirstSpace: json['prepend_scheme'] !== 'never',
      }
    case 'Replace': {
      const pattern = isObject(json['pattern']) ? json['pattern']['String'] : undefined
      const content = json['content']
      if (typeof pattern !== 'string' || pattern === '' || typeof content !== 'string') break
      return { ...PLAIN, replacements: [[pattern, content]] }
    }
    case 'Strip':
      if (json['content'] !== ' ' || json['stop'] !== 0) break
      return { ...PLAIN, stripsFirstSpace: json['start'] !== 0 }
    case 'Sequence':
      return stepsAt(json, 'decoders').map(readDecoding).reduce(joinDecodings, PLAIN)
  }
  throw unsupported(`uses the unknown decoder ${shown(decoder)}`, 'use the GGUF file of the model')
}

function joinDecodings(a: Decoding, b: Decoding): Decoding {
  const replacements = [...a.replacements, ...b.replacements]
  checkGrowth(replacements.reduce((growth, [from, to]) => growth * growthOf(to, from.length), 1))
  return {
    byteLevel: a.byteLevel || b.byteLevel,
    replacements,
    byteFallback: a.byteFallback || b.byteFallback,
    stripsFirstSpace: a.stripsFirstSpace || b.stripsFirstSpace,
  }
}

/** Ids added before and after a text. */
export interface Affixes {
  readonly prefix: readonly number[]
  readonly suffix: readonly number[]
}

/** The ids that a post-processor adds to a single text. */
export function readAffixes(processor: unknown): Affixes {
  const json = isObject(processor) ? processor : { type: processor }
  switch (json['type']) {
    case undefined:
    case null:
    case 'ByteLevel':
      return { prefix: [], suffix: [] }
    case 'Sequence': {
      const parts = stepsAt(json, 'processors').map(readAffixes)
      return {
        prefix: parts.flatMap(({ prefix }) => prefix),
        suffix: parts.flatMap(({ suffix }) => suffix),
      }
    }
    case 'BertProcessing':
    case 'RobertaProcessing':
      return { prefix: [idOfPair(json['cls'])], suffix: [idOfPair(json['sep'])] }
    case 'TemplateProcessing':
      return readTemplate(json)
    default:
      throw unsupported(
        `uses the unknown post-processor ${shown(json['type'])}`,
        'use the GGUF file of the model',
      )
  }
}

function readTemplate(json: JsonObject): Affixes {
  const prefix: number[] = []
  const suffix: number[] = []
  let side = prefix
  for (const part of stepsAt(json, 'single')) {
    if (isObject(part) && isObject(part['Sequence'])) {
      side = suffix
      continue
    }
    const name = isObject(part) && isObject(part['SpecialToken']) ? part['SpecialToken']['id'] : undefined
    side.push(...idsOfSpecial(json, name))
  }
  return { prefix, suffix }
}

/** The ids of a special token of a template. */
export function idsOfSpecial(json: JsonObject, name: unknown): readonly number[] {
  const special = isObject(json['special_tokens']) ? json['special_tokens'] : {}
  const token = typeof name === 'string' && Object.hasOwn(special, name) ? special[name] : undefined
  const ids = isObject(token) ? token['ids'] : undefined
  if (!Array.isArray(ids) || !ids.every(isId)) {
    throw malformed(`adds ${shown(name)} to every text but does not say which token that is`)
  }
  if (ids.length > MAX_STEPS) throw malformed(`adds ${ids.length} ids for ${shown(name)} to every text`)
  return ids
}

export function idOfPair(pair: unknown): number {
  const id: unknown = Array.isArray(pair) ? pair[1] : undefined
  if (isId(id)) return id
  throw malformed(`adds ${shown(pair)} to every text, which is not a token`)
}

/** Maximum factor by which replacements may lengthen a text. */
const MAX_GROWTH = 64

/**
 * How many times longer a text may become when `content` replaces matches of at least `length` characters.
 */
export function growthOf(content: string, length: number): number {
  return Math.max(1, content.length / length)
}

/** Throws `unsupported` if the steps together could lengthen a text until memory runs out. */
export function checkGrowth(growth: number): void {
  if (growth <= MAX_GROWTH) return
  throw unsupported(
    `makes text ${growth} times longer; the limit is ${MAX_GROWTH} times`,
    'use the GGUF file of the model',
  )
}

/** Maximum number of steps, more than any published tokenizer has. */
export const MAX_STEPS = 64

/** Reads a list of steps. */
export function stepsAt(json: JsonObject, key: string): readonly unknown[] {
  const steps = listAt(json, key)
  if (steps.length <= MAX_STEPS) return steps
  throw malformed(`has ${steps.length} steps for ${key}; the limit is ${MAX_STEPS}`)
}

export function listAt(json: JsonObject, key: string): readonly unknown[] {
  const value = json[key]
  if (Array.isArray(value)) return value
  throw malformed(`has ${shown(value)} for ${key} instead of an array`)
}
