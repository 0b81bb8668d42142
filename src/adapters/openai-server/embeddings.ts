// OpenAI's embeddings and the reranking that Cohere, Jina and llama.cpp's server share. In: the body of a
// request, and an encoder or an engine. Out: the body of the answer.

import { toBase64 } from '../../core/base/base64.ts'
import { wrongOption } from '../../core/base/check-options.ts'
import { HalfbyteError } from '../../core/base/errors.ts'
import { checkOption, checkValue, choice, SWITCH, TEXT, whole } from '../../core/base/options/option-kinds.ts'
import type { Embedder } from '../../encoders/embedder/embedder.ts'
import type { Engine } from '../../engine/api/engine.ts'
import { isEmbedder } from '../load-once.ts'
import type { Hooks } from '../openai-request.ts'
import type { EmbeddingList, EmbeddingParams, RerankList, RerankParams } from '../openai-types.ts'
import { type OnWarning, warnOfUnread } from '../reply-form.ts'
import type { Given } from '../request-fields.ts'
import { type TextOrIds, textsOrIds } from './texts-or-ids.ts'

const FIELDS: Record<keyof EmbeddingParams, true> = {
  input: true,
  model: true,
  encoding_format: true,
  dimensions: true,
  halfbyte: true,
}

const RERANK_FIELDS: Record<keyof RerankParams, true> = {
  query: true,
  documents: true,
  top_n: true,
  return_documents: true,
  model: true,
}

const INPUT = 'a text, a list of texts, or token ids of one text or several'

interface Vectors {
  readonly vectors: readonly Float32Array[]
  readonly tokens: readonly number[]
}

/** Throws `unsupported` for an invalid value, or for a length that the model's vectors cannot have. */
export async function embeddings(
  model: Engine | Embedder,
  params: Given<EmbeddingParams>,
  { onWarning, onUsage }: Hooks,
  signal?: AbortSignal,
): Promise<EmbeddingList> {
  const { input, encoding_format: format } = params
  const texts = textsOrIds('input', input, INPUT)
  checkOption('encoding_format', format, choice(['float', 'base64']))
  warnOfUnread(params, FIELDS, onWarning)
  const made = isEmbedder(model)
    ? await encode(model, texts, params, onWarning, signal)
    : await statesOf(model, texts, params, signal)
  const tokens = sum(made.tokens)
  onUsage?.({ model: model.model.id, promptTokens: tokens, cachedTokens: 0, completionTokens: 0 })
  return {
    object: 'list',
    data: made.vectors.map((vector, index) => ({
      object: 'embedding',
      index,
      embedding: format === 'base64' ? base64(vector) : [...vector],
    })),
    model: model.model.id,
    usage: { prompt_tokens: tokens, total_tokens: tokens },
  }
}

async function encode(
  embedder: Embedder,
  texts: readonly TextOrIds[],
  { dimensions, halfbyte }: Given<EmbeddingParams>,
  onWarning: OnWarning,
  signal: AbortSignal | undefined,
): Promise<Vectors> {
  const options = { dimensions, ...halfbyte, signal }
  const { vectors, tokens, truncated } = await embedder.embed(texts, options)
  if (truncated.length > 0)
    onWarning(`texts longer than ${embedder.model.maxTokens} tokens were truncated to that length`)
  return { vectors, tokens }
}

/** The states of a chat model, which cannot be shortened. */
async function statesOf(
  engine: Engine,
  texts: readonly TextOrIds[],
  { dimensions, halfbyte }: Given<EmbeddingParams>,
  signal: AbortSignal | undefined,
): Promise<Vectors> {
  const vectors = await engine.embed(texts, { ...halfbyte, signal })
  const size = vectors[0]?.length
  if (dimensions !== undefined && dimensions !== size)
    throw wrongOption('dimensions', dimensions, `${size}, the length of the model's vectors`)
  return { vectors, tokens: await Promise.all(texts.map((text) => countOf(engine, text))) }
}

const countOf = async (engine: Engine, text: TextOrIds): Promise<number> =>
  typeof text === 'string' ? engine.countTokens(text) : text.length

/** Throws `unsupported` for a field with an invalid value, or if the model is not a reranker. */
export async function rerank(
  model: Engine | Embedder,
  params: Given<RerankParams>,
  { onWarning, onUsage }: Hooks,
  signal?: AbortSignal,
): Promise<RerankList> {
  if (!isEmbedder(model))
    throw new HalfbyteError(
      'unsupported',
      `${model.model.id} is a chat model and cannot score documents; add a reranker (the option reranker of openaiFetch, --reranker of halfbyte serve)`,
    )
  const { query, top_n: topN, return_documents: isWhole } = params
  checkValue('query', query, TEXT)
  const documents: unknown = params.documents
  if (!Array.isArray(documents) || documents.length === 0)
    throw wrongOption('documents', documents, 'a list of strings')
  const texts = documents.map((each: unknown) => {
    const text = typeof each === 'string' ? each : (each as { readonly text?: unknown } | null)?.text
    if (typeof text !== 'string') throw wrongOption('documents', each, 'a string, or an object with text')
    return text
  })
  checkOption('return_documents', isWhole, SWITCH)
  checkOption('top_n', topN, whole(1))
  warnOfUnread(params, RERANK_FIELDS, onWarning)
  const { results, tokens } = await model.rerank(query, texts, { topN, signal })
  const total = sum(tokens)
  onUsage?.({ model: model.model.id, promptTokens: total, cachedTokens: 0, completionTokens: 0 })
  return {
    object: 'list',
    model: model.model.id,
    results: results.map(({ index, score }) => ({
      index,
      relevance_score: score,
      ...(isWhole === true && { document: { text: texts[index] as string } }),
    })),
    usage: { prompt_tokens: total, total_tokens: total },
  }
}

const sum = (counts: readonly number[]): number => counts.reduce((total, count) => total + count, 0)

/** The vector's little-endian f32 bytes. */
function base64(vector: Float32Array): string {
  const bytes = new DataView(new ArrayBuffer(vector.length * 4))
  for (const [index, value] of vector.entries()) bytes.setFloat32(index * 4, value, true)
  return toBase64(new Uint8Array(bytes.buffer))
}
