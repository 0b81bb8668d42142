// Sentence encoders and rerankers as models of the AI SDK.

import { checkList, readFrom } from '../core/base/check-options.ts'
import type { Embedder } from '../encoders/embedder/embedder.ts'
import { embedRequest, throwToSdk } from './ai-sdk-request.ts'
import type { EmbeddingModel, RerankCall, RerankingModel, Warning } from './ai-sdk-types.ts'

/** Vectors from a sentence encoder. Only the beginning of overlong texts is read, with a warning. */
export const encoderModel = (modelId: string, load: () => Promise<Embedder>): EmbeddingModel => ({
  specificationVersion: 'v4',
  provider: 'halfbyte',
  modelId,
  maxEmbeddingsPerCall: Number.POSITIVE_INFINITY,
  supportsParallelCalls: true,
  async doEmbed(call) {
    try {
      const embedder = await load()
      const { values, dimensions, options } = embedRequest(call)
      const { vectors, tokens, truncated } = await embedder.embed(values, {
        ...options,
        ...(dimensions !== undefined && { dimensions }),
      })
      return {
        embeddings: vectors.map((vector) => [...vector]),
        usage: { tokens: tokens.reduce((sum, count) => sum + count, 0) },
        warnings: warningsOf(embedder, truncated),
      }
    } catch (error) {
      return throwToSdk(error)
    }
  },
})

/** Sorts documents by a reranker's scores. Objects are read as JSON. */
export const rerankingModel = (modelId: string, load: () => Promise<Embedder>): RerankingModel => ({
  specificationVersion: 'v4',
  provider: 'halfbyte',
  modelId,
  async doRerank(call) {
    try {
      const reranker = await load()
      const { query, documents, options } = rerankRequest(call)
      const { results, truncated } = await reranker.rerank(query, documents, options)
      return {
        ranking: results.map(({ index, score }) => ({ index, relevanceScore: score })),
        warnings: warningsOf(reranker, truncated),
        response: { modelId: reranker.model.id },
      }
    } catch (error) {
      return throwToSdk(error)
    }
  },
})

const rerankRequest = (call: RerankCall) =>
  readFrom('the call', () => {
    const { query, documents, topN, abortSignal: signal } = call
    checkList('documents', documents.values)
    const texts = documents.values.map((value) => (typeof value === 'string' ? value : JSON.stringify(value)))
    return { query, documents: texts, options: { ...(topN !== undefined && { topN }), signal } }
  })

const warningsOf = ({ model }: Embedder, truncated: readonly number[]): Warning[] =>
  truncated.length === 0
    ? []
    : [
        {
          type: 'other',
          message: `${truncated.length} texts are longer than ${model.maxTokens} tokens and were truncated to that length`,
        },
      ]
