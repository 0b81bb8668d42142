// A GGUF vocabulary as tokenizer.json and tokenizer_config.json, checked on texts in every script.
import { HalfbyteError } from '../../../core/base/errors.ts'
import type { JsonObject } from '../../../core/base/values.ts'
import type { GgufTokenizerSpec, JsonTokenizerSpec, TokenizerSpec } from '../../../core/text/spec.ts'
import { preTokenizer } from '../../../core/text/tokenize/pre-tokenizers.ts'
import { createTokenizer } from '../../../core/text/tokenize/read/create.ts'
import type { Tokenizer } from '../../../core/text/tokenize/tokenizer.ts'
import { SAMPLES } from '../vocabulary/samples.ts'

/** GGUF's token types of tokens that are found in a text before it is split. */
const CONTROL = 3
const USER_DEFINED = 4

/** What SentencePiece writes for a space. */
const MARK = '▁'

/**
 * The specification of a folder; that of another folder is returned unchanged. `tokenizer`: made from `spec`.
 * Throws `unsupported` if tokenizer.json would give other ids.
 */
export function folderTokenizer(model: string, spec: TokenizerSpec, tokenizer: Tokenizer): JsonTokenizerSpec {
  if (spec.kind === 'json') return spec
  const made = { kind: 'json', tokenizer: tokenizerJson(spec, tokenizer), config: configJson(spec) } as const
  const other = createTokenizer(made)
  const same = SAMPLES.filter((text) => {
    const [a, b] = [tokenizer, other].map((each) => each.encode(text, { addSpecial: true }).join())
    return a === b
  }).length
  if (same === SAMPLES.length) return made
  throw new HalfbyteError(
    'unsupported',
    `${model}: as a tokenizer.json, its vocabulary gives the same tokens for only ${same} of ${SAMPLES.length} texts; write a .hbm`,
    { same, texts: SAMPLES.length },
  )
}

function tokenizerJson(spec: GgufTokenizerSpec, tokenizer: Tokenizer): JsonObject {
  const { tokens, types = [] } = spec
  const added = tokens.flatMap((content, id) => {
    const type = types[id]
    if (type !== CONTROL && type !== USER_DEFINED) return []
    const plain = { single_word: false, lstrip: false, rstrip: false, normalized: false }
    return [{ id, content, ...plain, special: type === CONTROL }]
  })
  const vocab = Object.fromEntries(tokens.map((token, id) => [token, id]))
  return {
    version: '1.0',
    truncation: null,
    padding: null,
    added_tokens: added,
    ...(spec.model === 'llama' ? spmParts(spec, vocab) : bpeParts(spec, vocab)),
    post_processor: postProcessor(spec, tokenizer),
  }
}

type Parts = Readonly<Record<'normalizer' | 'pre_tokenizer' | 'decoder' | 'model', unknown>>

const BPE = {
  type: 'BPE',
  dropout: null,
  continuing_subword_prefix: null,
  end_of_word_suffix: null,
} as const

function bpeParts({ pre, merges = [] }: GgufTokenizerSpec, vocab: object): Parts {
  const { patterns, ignoreMerges = false } = preTokenizer(pre)
  const bytes = { type: 'ByteLevel', add_prefix_space: false, trim_offsets: true, use_regex: false }
  const splits = patterns.map(({ source }) => ({
    type: 'Split',
    pattern: { Regex: source },
    behavior: 'Isolated',
    invert: false,
  }))
  return {
    normalizer: null,
    pre_tokenizer: { type: 'Sequence', pretokenizers: [...splits, bytes] },
    decoder: bytes,
    model: {
      ...BPE,
      unk_token: null,
      fuse_unk: false,
      byte_fallback: false,
      ignore_merges: ignoreMerges,
      vocab,
      merges,
    },
  }
}

function spmParts(spec: GgufTokenizerSpec, vocab: object): Parts {
  const { tokens, unknownId = 0, addSpacePrefix = true } = spec
  const replaced = { type: 'Replace', pattern: { String: ' ' }, content: MARK }
  const restored = { type: 'Replace', pattern: { String: MARK }, content: ' ' }
  const steps = [restored, { type: 'ByteFallback' }, { type: 'Fuse' }]
  return {
    normalizer: {
      type: 'Sequence',
      normalizers: [...(addSpacePrefix ? [{ type: 'Prepend', prepend: MARK }] : []), replaced],
    },
    pre_tokenizer: null,
    decoder: {
      type: 'Sequence',
      decoders: [...steps, ...(addSpacePrefix ? [{ type: 'Strip', content: ' ', start: 1, stop: 0 }] : [])],
    },
    model: {
      ...BPE,
      unk_token: tokens[unknownId],
      fuse_unk: true,
      byte_fallback: true,
      ignore_merges: false,
      vocab,
      merges: spmMerges(spec),
    },
  }
}

/**
 * SentencePiece merges the pair whose result has the highest score. As merges: every way to put a token
 * together from two others, the highest score first.
 */
function spmMerges({ tokens, scores = [], types = [] }: GgufTokenizerSpec): readonly string[] {
  const isMerged = (id: number) => types[id] === undefined || types[id] === 1
  const ids = new Map(tokens.flatMap((token, id) => (isMerged(id) ? [[token, id] as const] : [])))
  const found: { readonly pair: string; readonly score: number; readonly order: number }[] = []
  for (const [token, id] of ids) {
    const characters = [...token]
    let left = ''
    for (const [at, character] of characters.slice(0, -1).entries()) {
      left += character
      const [a, b] = [ids.get(left), ids.get(characters.slice(at + 1).join(''))]
      if (a === undefined || b === undefined) continue
      found.push({ pair: `${left} ${tokens[b]}`, score: scores[id] ?? 0, order: a })
    }
  }
  return found.sort((a, b) => b.score - a.score || a.order - b.order).map(({ pair }) => pair)
}

/** BOS before a text and EOS after it, if the model has them there. */
function postProcessor({ tokens }: GgufTokenizerSpec, { prefix, suffix }: Tokenizer): unknown {
  const special = (id: number) => ({ SpecialToken: { id: tokens[id], type_id: 0 } })
  const of = (name: string, type: number) => [
    ...prefix.map(special),
    { Sequence: { id: name, type_id: type } },
    ...suffix.map(special),
  ]
  const own = [...prefix, ...suffix]
  if (own.length === 0) return null
  return {
    type: 'TemplateProcessing',
    single: of('A', 0),
    pair: [...of('A', 0), ...of('B', 1)],
    special_tokens: Object.fromEntries(
      own.map((id) => [tokens[id], { id: tokens[id], ids: [id], tokens: [tokens[id]] }]),
    ),
  }
}

function configJson(spec: GgufTokenizerSpec): JsonObject {
  const { tokens, bosId, eosId, unknownId, toolTemplate, documentTemplate, chatTemplate } = spec
  const named = (id: number | undefined) => (id === undefined ? null : tokens[id])
  const others = Object.entries({ tool_use: toolTemplate, rag: documentTemplate }).flatMap(
    ([name, template]) => (template === undefined ? [] : [{ name, template }]),
  )
  const template =
    others.length === 0 ? chatTemplate : [{ name: 'default', template: chatTemplate }, ...others]
  return {
    tokenizer_class: 'PreTrainedTokenizerFast',
    clean_up_tokenization_spaces: false,
    bos_token: named(bosId),
    eos_token: named(eosId),
    unk_token: spec.model === 'llama' ? named(unknownId ?? 0) : null,
    ...(template !== undefined && { chat_template: template }),
  }
}
