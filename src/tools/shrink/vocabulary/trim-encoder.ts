// Trims the vocabulary of a sentence encoder or reranker. In: its opened folder and the ids of a text. Out:
// the tensors, configuration and tokenizer of the smaller folder.
import { weightOf } from '../../../core/arch/tensors/names.ts'
import { HalfbyteError } from '../../../core/base/errors.ts'
import type { JsonObject } from '../../../core/base/values.ts'
import type { ModelFile } from '../../../core/formats/readers.ts'
import {
  type NewTensor,
  readShards,
  type StoredTensor,
} from '../../../core/formats/safetensors/safetensors.ts'
import type { TensorInfo } from '../../../core/formats/tensors.ts'
import type { JsonTokenizerSpec } from '../../../core/text/spec.ts'
import { createTokenizer } from '../../../core/text/tokenize/read/create.ts'
import {
  type EncoderTokenizer,
  encoderTokenizer,
} from '../../../core/text/tokenize/read/encoder-tokenizer.ts'
import { encoderFamily } from '../../../encoders/families/table.ts'
import { type KeptTokens, keptTokens, type TokenWishes } from './choose-tokens.ts'
import { encoderTokens } from './encoder-tokens.ts'
import { fixedTokens } from './fixed-tokens.ts'
import { gatherRows } from './gather-rows.ts'
import type { Scripts } from './languages.ts'
import { derivations, hasMerges, type Tokens } from './merges.ts'
import { compareSpelling, type RoundTrip } from './round-trip.ts'
import { type NewIds, tokensOf, trimGeneration, trimSpec } from './trim-spec.ts'

/** An encoder whose vocabulary can be trimmed. */
export interface OpenEncoder {
  readonly file: ModelFile
  readonly spec: JsonTokenizerSpec
  readonly tokens: Tokens
  readonly encoder: EncoderTokenizer
  /** Number of rows in the embedding. */
  readonly rows: number
  /** The embedding's name in the files. */
  readonly table: string
  /** Ids below this stay unchanged, because positions count from the padding id. */
  readonly fixedIds: number
}

/**
 * Throws `architecture` or `unsupported` for an encoder that Halfbyte cannot read, and `unsupported` for one
 * without safetensors or tokenizer.json.
 */
export function openEncoder(file: ModelFile): OpenEncoder {
  const family = encoderFamily(file)
  const { tokenizer: spec } = file
  if (file.format !== 'safetensors' || spec?.kind !== 'json') {
    const lacks = file.format === 'safetensors' ? 'has no tokenizer.json' : `is a ${file.format} file`
    throw new HalfbyteError(
      'unsupported',
      `${file.name} is an encoder and ${lacks}; only safetensors folders with tokenizer.json can be trimmed; give such a folder`,
      { file: file.name },
    )
  }
  const placed = family.config(file)
  const rows = placed.config.vocabSize
  return {
    file,
    spec,
    rows,
    tokens: tokensOf(spec),
    encoder: encoderTokenizer(spec, { rows }),
    table: weightOf(family.weights(file, placed), 'embed.weight').name,
    fixedIds: placed.firstPosition,
  }
}

export interface TrimmedEncoder {
  readonly kept: KeptTokens
  readonly tokenizer: EncoderTokenizer
  readonly proof: RoundTrip
  readonly spec: JsonTokenizerSpec
}

/**
 * Chooses the tokens to keep, and makes their tokenizer. `scripts`: the scripts of the requested languages.
 */
export function trimEncoder(
  open: OpenEncoder,
  wishes: Omit<TokenWishes, 'belongs'>,
  scripts?: Scripts,
): TrimmedEncoder {
  const { spec, tokens, rows, fixedIds } = open
  const { fixed, belongs, isGivenUp, spell } = hasMerges(spec)
    ? mergedTokens(open, scripts)
    : plainTokens(open, scripts)
  const kept = keptTokens(
    {
      size: rows,
      hasRow: (id) => id < rows && tokens[id] !== undefined,
      fixed: [...Array.from({ length: fixedIds }, (_, id) => id), ...fixed],
      derive: derivations(spec, tokens),
    },
    { ...wishes, belongs },
  )
  const newIds: NewIds = new Map(kept.ids.map((id, at) => [id, at]))
  const newer = trimSpec(spec, tokens, newIds) as JsonTokenizerSpec
  const proof = compareSpelling(kept.ids, spell(spec, tokens), spell(newer, tokensOf(newer)), isGivenUp)
  return { kept, tokenizer: encoderTokenizer(newer, { rows: kept.ids.length }), proof, spec: newer }
}

interface Always {
  readonly fixed: ReadonlySet<number>
  readonly belongs: ((id: number) => boolean) | undefined
  readonly isGivenUp: (id: number) => boolean
  readonly spell: (spec: JsonTokenizerSpec, tokens: Tokens) => (ids: readonly number[]) => string
}

/** BPE, as in ModernBERT and RoBERTa. */
function mergedTokens({ spec, tokens, rows }: OpenEncoder, scripts: Scripts | undefined): Always {
  const tokenizer = createTokenizer(spec, { rows })
  const decoder = new TextDecoder()
  const belongs = (id: number) => {
    const text = decoder.decode(tokenizer.tokenBytes(id))
    return !text.includes('\ufffd') && scripts?.has(text) === true
  }
  return {
    fixed: fixedTokens(spec, tokens, tokenizer),
    belongs: scripts && belongs,
    isGivenUp: () => false,
    spell: (own, its) => {
      const { decode } = createTokenizer(own, { rows: its.length })
      return (ids) => decode(ids, { special: true })
    },
  }
}

/** WordPiece and unigram models. */
function plainTokens({ spec, tokens, encoder }: OpenEncoder, scripts: Scripts | undefined): Always {
  const { fixed, belongs, writesBytes, spell } = encoderTokens(spec, tokens, encoder, scripts)
  return {
    fixed,
    belongs,
    isGivenUp: (id) => !writesBytes && !belongs(id),
    spell: (_, its) => spell(its),
  }
}

/** The embedding, and other tensors with one row per token, which encoders ignore. */
const VOCABULARY_HEADS = /(^|\.)(cls\.predictions|lm_head|decoder)\./

interface EncoderFiles {
  readonly tensors: readonly NewTensor[]
  readonly before: number
  readonly after: number
}

/** The tensors of the smaller folder, and the bytes of the embedding in both. Reads the embedding once. */
export async function trimmedTensors(
  { file, table, rows }: OpenEncoder,
  { ids }: KeptTokens,
  signal: AbortSignal,
): Promise<EncoderFiles> {
  const sources = [...new Set([...file.tensors.values()].map(({ source }) => source))]
  const stored = await readShards(sources, undefined, signal)
  const tensors: NewTensor[] = []
  const bytes = { before: 0, after: 0 }
  for (const [name, tensor] of stored) {
    const isTable = name === table
    if (!isTable && !(VOCABULARY_HEADS.test(name) && tensor.shape[0] === rows)) {
      tensors.push(written(tensor, tensor, signal))
      continue
    }
    const own = await gatherRows(tensor as TensorInfo, ids, signal)
    tensors.push(written(tensor, own, signal))
    if (!isTable) continue
    bytes.before += tensor.byteLength
    bytes.after += own.byteLength
  }
  return { tensors, ...bytes }
}

function written(
  { name, dtype }: StoredTensor,
  { shape, source, offset, byteLength }: Pick<TensorInfo, 'shape' | 'source' | 'offset' | 'byteLength'>,
  signal: AbortSignal,
): NewTensor {
  async function* data() {
    yield await source.read(offset, byteLength, signal)
  }
  return { name, dtype, shape, bytes: byteLength, data }
}

/** config.json with the new ids and their number. An id whose token was dropped is omitted. */
export function trimmedConfig(config: JsonObject, { ids }: KeptTokens): JsonObject {
  const newIds: NewIds = new Map(ids.map((id, at) => [id, at]))
  const named = Object.entries(config).filter(([key]) => key.endsWith('_token_id'))
  const others = Object.entries(config).filter(([key]) => !key.endsWith('_token_id'))
  const renamed = trimGeneration(Object.fromEntries(named) as Parameters<typeof trimGeneration>[0], newIds)
  return { ...Object.fromEntries(others), ...renamed, vocab_size: ids.length }
}

/** Whether a folder is an encoder's; a chat model of the same architecture has no modules.json. */
export function isEncoder(file: ModelFile, hasModules: boolean): boolean {
  try {
    return encoderFamily(file).isDecoder !== true || hasModules
  } catch (error) {
    if (error instanceof HalfbyteError && error.code === 'architecture') return false
    throw error
  }
}
