// Writes a tokenizer's specification and a model's settings for a subset of tokens, under new ids.

import { isObject, type JsonObject } from '../../../core/base/values.ts'
import type { MetaObject } from '../../../core/formats/json-files.ts'
import type { GgufTokenizerSpec, JsonTokenizerSpec, TokenizerSpec } from '../../../core/text/spec.ts'
import { listAt, objectAt, readAdded, readTokens } from '../../../core/text/tokenize/read/json-parts.ts'
import { idsOf, pairOf, type Tokens } from './merges.ts'

/** New ids by old ones, in the same order. */
export type NewIds = ReadonlyMap<number, number>

/** The tokens of a specification by id. Throws `format` for a damaged one. */
export function tokensOf(spec: TokenizerSpec): Tokens {
  if (spec.kind === 'gguf') return spec.tokens.map((token, id) => token || `[EMPTY_${id}]`)
  const model = objectAt(spec.tokenizer, 'model')
  if (!Array.isArray(model['vocab']))
    return readTokens(model, readAdded(spec.tokenizer, objectAt(model, 'vocab')))
  const tokens = piecesOf(model)
  const ids = Object.fromEntries(tokens.map((token, id) => [token, id]))
  for (const { id, text } of readAdded(spec.tokenizer, ids)) tokens[id] ??= text
  return Array.from(tokens)
}

/** The pieces of a unigram model, by id. */
const piecesOf = (model: JsonObject): (string | undefined)[] =>
  listAt(model, 'vocab').map((entry) => String(Array.isArray(entry) ? entry[0] : entry))

/** A merge stays if its parts and its result all stay. */
export function trimSpec(spec: TokenizerSpec, tokens: Tokens, ids: NewIds): TokenizerSpec {
  const known = new Set([...idsOf(tokens)].filter(([, id]) => ids.has(id)).map(([token]) => token))
  const isKept = (merge: unknown): boolean => {
    const [left = '', right = ''] = pairOf(merge) ?? []
    return known.has(left) && known.has(right) && known.has(left + right)
  }
  return spec.kind === 'gguf' ? trimGguf(spec, tokens, ids, isKept) : trimJson(spec, ids, isKept)
}

function trimGguf(
  spec: GgufTokenizerSpec,
  tokens: Tokens,
  ids: NewIds,
  isKept: (merge: unknown) => boolean,
): GgufTokenizerSpec {
  const { scores, types, merges } = spec
  const kept = [...ids.keys()]
  const isSpm = spec.model === 'llama'
  const named = (id: number | undefined, usual?: number) => {
    const own = id ?? (isSpm ? usual : undefined)
    return own === undefined ? undefined : ids.get(own)
  }
  return {
    ...spec,
    tokens: kept.map((id) => tokens[id] ?? ''),
    scores: scores && kept.map((id) => scores[id] ?? 0),
    types: types && kept.map((id) => types[id] ?? 1),
    merges: merges?.filter(isKept),
    unknownId: named(spec.unknownId, 0),
    bosId: named(spec.bosId, 1),
    eosId: named(spec.eosId, 2),
    eotId: named(spec.eotId),
    eomId: named(spec.eomId),
  }
}

function trimJson(
  spec: JsonTokenizerSpec,
  ids: NewIds,
  isKept: (merge: unknown) => boolean,
): JsonTokenizerSpec {
  const { tokenizer, config } = spec
  const model = objectAt(tokenizer, 'model')
  const isList = Array.isArray(model['vocab'])
  const vocab = isList
    ? Object.fromEntries(piecesOf(model).map((piece, id) => [piece, id]))
    : objectAt(model, 'vocab')
  const added = Array.isArray(tokenizer['added_tokens']) ? tokenizer['added_tokens'].filter(isObject) : []
  const newOf = (id: unknown) => (typeof id === 'number' ? ids.get(id) : undefined)
  const renamed = (entries: Iterable<readonly [string, unknown]>) =>
    Object.fromEntries(
      [...entries].flatMap(([token, id]) => (newOf(id) === undefined ? [] : [[token, newOf(id)]])),
    )
  return {
    ...spec,
    tokenizer: {
      ...tokenizer,
      padding: null,
      added_tokens: added.flatMap((token) => {
        const { content } = token
        const isPiece = typeof content === 'string' && Object.hasOwn(vocab, content)
        const id = newOf(isPiece ? vocab[content] : token['id'])
        return id === undefined ? [] : [{ ...token, id }]
      }),
      post_processor: trimProcessor(tokenizer['post_processor'], newOf),
      model: {
        ...model,
        // List entries have their index as id, and added tokens come after them in both vocabularies.
        ...(isList
          ? { vocab: listAt(model, 'vocab').filter((_, id) => ids.has(id)), unk_id: newOf(model['unk_id']) }
          : { vocab: renamed(Object.entries(vocab)) }),
        ...(model['merges'] !== undefined && { merges: listAt(model, 'merges').filter(isKept) }),
      },
    },
    config: config && trimConfig(config, ids),
  }
}

/** Special tokens list ids in `ids`, and the pairs `cls` and `sep` contain one each. */
function trimProcessor(value: unknown, newOf: (id: unknown) => number | undefined): unknown {
  if (!isObject(value)) return value
  const out: Record<string, unknown> = { ...value }
  if (Array.isArray(value['processors']))
    out['processors'] = value['processors'].map((each: unknown) => trimProcessor(each, newOf))
  if (isObject(value['special_tokens'])) {
    out['special_tokens'] = Object.fromEntries(
      Object.entries(value['special_tokens']).map(([name, token]) => [
        name,
        isObject(token) && Array.isArray(token['ids'])
          ? { ...token, ids: token['ids'].flatMap((id: unknown) => newOf(id) ?? []) }
          : token,
      ]),
    )
  }
  for (const key of ['cls', 'sep']) {
    const pair = value[key]
    if (Array.isArray(pair)) out[key] = [pair[0], newOf(pair[1]) ?? pair[1]]
  }
  return out
}

function trimConfig(config: JsonObject, ids: NewIds): JsonObject {
  const { added_tokens_decoder: added, ...rest } = config
  if (!isObject(added)) return config
  const kept = Object.entries(added).flatMap(([id, token]) => {
    const own = ids.get(Number(id))
    return own === undefined ? [] : [[own, token]]
  })
  return { ...rest, added_tokens_decoder: Object.fromEntries(kept) }
}

/** Lists of ids that Halfbyte does not read but other programs do. */
const DROPPED = /^(suppress_tokens|begin_suppress_tokens|forced_decoder_ids|bad_words_ids|sequence_bias)$/

/** The settings of generation_config.json. An id whose token was dropped is omitted. */
export function trimGeneration(generation: MetaObject | undefined, ids: NewIds): MetaObject | undefined {
  if (generation === undefined) return undefined
  const newOf = (id: unknown) => (typeof id === 'number' ? (ids.get(id) ?? []) : [])
  const fields = Object.entries(generation).flatMap(([key, value]) => {
    if (DROPPED.test(key)) return []
    if (!key.endsWith('_token_id')) return [[key, value] as const]
    const own = [value].flat().flatMap(newOf)
    if (own.length === 0) return []
    return [[key, Array.isArray(value) ? own : (own[0] as number)] as const]
  })
  return Object.fromEntries(fields)
}
