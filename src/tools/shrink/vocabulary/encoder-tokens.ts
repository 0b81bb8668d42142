// The tokens of a WordPiece or unigram vocabulary that are always kept. In: its specification and the scripts
// of languages. Out: the ids of special tokens and characters needed to spell any text, and how ids are
// spelled.
import { isObject } from '../../../core/base/values.ts'
import type { JsonTokenizerSpec } from '../../../core/text/spec.ts'
import type { EncoderTokenizer } from '../../../core/text/tokenize/read/encoder-tokenizer.ts'
import { listAt, objectAt } from '../../../core/text/tokenize/read/json-parts.ts'
import { namedByte } from '../../../core/text/tokenize/vocabulary.ts'
import { isPlaceholder } from './fixed-tokens.ts'
import type { Scripts } from './languages.ts'
import { idsOf, type Tokens } from './merges.ts'

interface EncoderTokens {
  readonly fixed: ReadonlySet<number>
  /** Whether a token belongs to the scripts. */
  readonly belongs: (id: number) => boolean
  /** Whether characters without a token become bytes, so that no text is lost. */
  readonly writesBytes: boolean
  /** The text of ids. Unknown text is U+FFFD. */
  readonly spell: (tokens: Tokens) => (ids: readonly number[]) => string
}

/** Replaces text that a vocabulary cannot spell. */
const UNKNOWN = '\ufffd'

/**
 * `encoder`: the tokenizer of `spec`. `scripts`: if the vocabulary has no byte tokens, characters of other
 * scripts are dropped. Default: all are kept.
 */
export function encoderTokens(
  spec: JsonTokenizerSpec,
  tokens: Tokens,
  encoder: EncoderTokenizer,
  scripts?: Scripts,
): EncoderTokens {
  const model = objectAt(spec.tokenizer, 'model')
  const isWords = model['type'] === 'WordPiece'
  const inner = isWords ? String(model['continuing_subword_prefix'] ?? '##') : ''
  const writesBytes = model['byte_fallback'] === true
  const ids = idsOf(tokens)
  const unknown = isWords ? ids.get(String(model['unk_token'] ?? '[UNK]')) : Number(model['unk_id'])
  const special = specialIds(spec, ids, encoder)
  const textOf = (id: number): string => plain(tokens[id] ?? '', inner)
  const belongs = (id: number): boolean => scripts?.has(textOf(id)) ?? true
  const fixed = new Set(special)
  if (unknown !== undefined) fixed.add(unknown)
  for (const [id, token] of tokens.entries()) {
    if (token === undefined || special.has(id)) continue
    const isByte = writesBytes && namedByte(token) !== undefined
    if (isByte || (belongs(id) && (isCharacter(textOf(id)) || isUnspellable(token, inner, ids))))
      fixed.add(id)
  }
  const worst = isWords ? undefined : worstPiece(model)
  if (worst !== undefined) fixed.add(worst)
  return { fixed, belongs, writesBytes, spell: (own) => spelling(own, unknown, inner, writesBytes, tokens) }
}

const plain = (token: string, inner: string): string =>
  inner !== '' && token.length > inner.length && token.startsWith(inner) ? token.slice(inner.length) : token

const isCharacter = (text: string): boolean => [...text].length === 1

/** Whether one of a token's characters has no token in that position. */
function isUnspellable(token: string, inner: string, ids: ReadonlyMap<string, number>): boolean {
  const text = plain(token, inner)
  return [...text].some((character, at) => {
    const begins = at === 0 && text.length === token.length
    return !ids.has(begins ? character : inner + character)
  })
}

/**
 * Tokens that are matched before text is split, tokens added around texts, and tokens named in the settings.
 * Reserved tokens without text are dropped.
 */
function specialIds(
  { tokenizer, config }: JsonTokenizerSpec,
  ids: ReadonlyMap<string, number>,
  { prefix, suffix, pair = [] }: EncoderTokenizer,
): ReadonlySet<number> {
  const { added_tokens: added } = tokenizer
  const names = (Array.isArray(added) ? added.filter(isObject) : []).map(({ content }) => String(content))
  for (const [key, value] of Object.entries(config ?? {})) {
    if (!key.endsWith('_token')) continue
    const name = isObject(value) ? value['content'] : value
    if (typeof name === 'string') names.push(name)
  }
  const found = names.filter((name) => !isPlaceholder(name)).flatMap((name) => ids.get(name) ?? [])
  return new Set([...prefix, ...suffix, ...pair.flatMap((part) => ('ids' in part ? part.ids : [])), ...found])
}

/** Unknown text costs a fixed amount more than the piece with the lowest score. */
function worstPiece(model: Parameters<typeof listAt>[0]): number {
  let worst = 0
  let least = Number.POSITIVE_INFINITY
  for (const [id, entry] of listAt(model, 'vocab').entries()) {
    const score = Number(Array.isArray(entry) ? entry[1] : Number.NaN)
    if (!(score < least)) continue
    worst = id
    least = score
  }
  return worst
}

function spelling(
  tokens: Tokens,
  unknown: number | undefined,
  inner: string,
  writesBytes: boolean,
  all: Tokens,
): (ids: readonly number[]) => string {
  const name = unknown === undefined ? undefined : all[unknown]
  const decoder = new TextDecoder()
  return (ids) => {
    let text = ''
    let bytes: number[] = []
    const flush = () => {
      if (bytes.length > 0) text += decoder.decode(Uint8Array.from(bytes))
      bytes = []
    }
    for (const id of ids) {
      const token = tokens[id] ?? ''
      const byte = writesBytes ? namedByte(token) : undefined
      if (byte !== undefined) {
        bytes.push(byte)
        continue
      }
      flush()
      text += token === name ? UNKNOWN : plain(token, inner)
    }
    flush()
    return text
  }
}
