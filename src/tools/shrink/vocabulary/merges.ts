// How a tokenizer builds each token. In: a specification. Out: the intermediate tokens of its merges.

import {
  type GgufTokenizerSpec,
  type JsonTokenizerSpec,
  shown,
  type TokenizerSpec,
  unsupported,
} from '../../../core/text/spec.ts'
import { PairTable } from '../../../core/text/tokenize/bpe.ts'
import { Merger } from '../../../core/text/tokenize/merge.ts'
import { listAt, objectAt } from '../../../core/text/tokenize/read/json-parts.ts'

/** The tokens of a specification by id; undefined for an id without a token. */
export type Tokens = readonly (string | undefined)[]

/** The ids of the tokens merged on the way to a token, from its characters to itself. */
export type Derive = (id: number) => readonly number[]

/** GGUF types of tokens that SentencePiece merges: normal and unused. */
const MERGED_TYPES: readonly (number | undefined)[] = [undefined, 0, 1, 5]

/** Of several tokens with the same spelling, text is encoded as the last. */
export const idsOf = (tokens: Tokens): ReadonlyMap<string, number> =>
  new Map(tokens.flatMap((token, id) => (token === undefined ? [] : [[token, id] as const])))

/** The two tokens of a file's merge entry, or undefined for anything else. */
export function pairOf(merge: unknown): readonly [string, string] | undefined {
  if (Array.isArray(merge)) return merge.length === 2 ? (merge as unknown as [string, string]) : undefined
  if (typeof merge !== 'string') return undefined
  const at = merge.indexOf(' ', 1)
  return at < 1 ? undefined : [merge.slice(0, at), merge.slice(at + 1)]
}

/** Whether merges build its tokens. WordPiece and unigram vocabularies have no merges. */
export function hasMerges(spec: TokenizerSpec): boolean {
  if (spec.kind === 'gguf') return true
  const { type } = objectAt(spec.tokenizer, 'model')
  if (type === undefined || type === 'BPE') return true
  if (type === 'WordPiece' || type === 'Unigram') return false
  throw unsupported(
    `is of type ${shown(type)}, whose vocabulary cannot be trimmed`,
    'use a model with a BPE, SentencePiece, WordPiece or unigram vocabulary',
  )
}

/** Throws `unsupported` for a tokenizer of any other kind. */
export function derivations(spec: GgufTokenizerSpec | JsonTokenizerSpec, tokens: Tokens): Derive {
  if (!hasMerges(spec)) return (id) => [id]
  if (spec.kind === 'json') return byMerges(tokens, listAt(objectAt(spec.tokenizer, 'model'), 'merges'))
  if (spec.model === 'gpt2') return byMerges(tokens, spec.merges ?? [])
  if (spec.model === 'llama') return byScores(tokens, spec.scores ?? [], spec.types)
  throw unsupported(
    `is of type ${shown(spec.model)}, whose vocabulary cannot be trimmed`,
    'use a model with a BPE, SentencePiece, WordPiece or unigram vocabulary',
  )
}

/**
 * The merges inside a token do not depend on the text around it, because none crosses its ends. So encoding
 * the token's own spelling reveals all of them.
 */
function derive(tokens: Tokens, ids: ReadonlyMap<string, number>, merge: Merges): Derive {
  let parts: number[] = []
  let offsets: number[] = []
  let word = ''
  const merger = new Merger({
    find: (left, right, start, end) =>
      merge.find(left, right, () => word.slice(offsets[start], offsets[end])),
    priority: merge.priority,
    symbol: (rule) => {
      const id = merge.made(rule)
      parts.push(id)
      return id
    },
  })
  return (id) => {
    word = tokens[id] ?? ''
    const characters = [...word]
    offsets = [0]
    for (const character of characters) offsets.push((offsets.at(-1) ?? 0) + character.length)
    const symbols = characters.map((character) => ids.get(character) ?? -1)
    parts = []
    merger.begin(symbols.length).set(symbols)
    // A token that merges cannot produce is matched whole, and needs no other tokens.
    if (merger.merge() !== 1) return [id]
    return [...symbols.filter((symbol) => symbol >= 0), ...parts, id]
  }
}

interface Merges {
  /** The merge of two adjacent tokens, or -1. */
  find(left: number, right: number, text: () => string): number
  priority(rule: number): number
  made(rule: number): number
}

function byMerges(tokens: Tokens, merges: readonly unknown[]): Derive {
  const ids = idsOf(tokens)
  const pairs = new PairTable(merges.length)
  const made = new Int32Array(merges.length)
  for (const [rank, merge] of merges.entries()) {
    const [left = '', right = ''] = pairOf(merge) ?? []
    pairs.add(ids.get(left) ?? -1, ids.get(right) ?? -1, rank)
    made[rank] = ids.get(left + right) ?? -1
  }
  return derive(tokens, ids, {
    find: (left, right) => pairs.get(left, right),
    priority: (rank) => rank,
    made: (rank) => made[rank] ?? -1,
  })
}

function byScores(tokens: Tokens, scores: readonly number[], types: readonly number[] | undefined): Derive {
  const all = idsOf(tokens)
  const ids = new Map([...all].filter(([, id]) => MERGED_TYPES.includes(types?.[id])))
  return derive(tokens, ids, {
    find: (_left, _right, text) => ids.get(text()) ?? -1,
    priority: (id) => -(scores[id] ?? 0),
    made: (id) => id,
  })
}
