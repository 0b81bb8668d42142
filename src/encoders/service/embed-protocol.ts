// The types of everything that is sent between a page and an embedder's worker.

import type { EngineNote } from '../../core/base/engine-notes.ts'
import type { Build } from '../../core/runtime/features.ts'
import type { PoolKind } from '../../core/runtime/pool.ts'
import type { MemoryUse } from '../../engine/api/types.ts'
import type { LoadRequest, TextOrIds } from '../../engine/wire/protocol.ts'
import type { Pooling } from './embed-settings.ts'

/** A load of an encoder. */
export interface EncoderRequest extends LoadRequest {
  /** Default: as the model's files say. */
  readonly pooling?: Pooling | undefined
}

export interface EncoderInfo {
  readonly id: string
  readonly architecture: string
  readonly parameters: number
  /** Length of a vector. */
  readonly dimensions: number
  /** Maximum number of tokens of a text, including special tokens around it. */
  readonly maxTokens: number
  /** Whether it computes vectors or, as a reranker, scores documents for a query. */
  readonly task: 'embed' | 'rerank'
  readonly pooling: Pooling
  /** Names of the prompts in the model's files. */
  readonly prompts: readonly string[]
}

export interface EmbedderInfo {
  readonly model: EncoderInfo
  readonly threads: number
  readonly pool: PoolKind
  readonly notes: readonly EngineNote[]
  readonly build: Build
}

export interface EmbedRequest {
  readonly texts: readonly TextOrIds[]
  readonly kind?: 'query' | 'document' | undefined
  readonly prompt?: string | undefined
  readonly dimensions?: number | undefined
  readonly normalize?: boolean | undefined
}

export interface EmbedResult {
  /** One for each text, in order. */
  readonly vectors: Float32Array[]
  /** Number of tokens read of each text, including special tokens around it. */
  readonly tokens: number[]
  /** Indices of the texts that were too long; only their beginnings were read. */
  readonly truncated: number[]
}

export interface RerankRequest {
  readonly query: string
  readonly documents: readonly string[]
}

export interface RerankScores {
  /** One for each document, in order. */
  readonly scores: number[]
  /** Number of tokens read of each pair, including special tokens around it. */
  readonly tokens: number[]
  /** Indices of the documents that, together with the query, were too long and were truncated. */
  readonly truncated: number[]
}

/** A progress report, sent through the port of a call to `embed` or `rerank`. */
export interface EmbedReport {
  readonly type: 'done'
  readonly done: number
}

/** The calls of a page. */
export interface EmbedderService {
  load(request: EncoderRequest, port: MessagePort): Promise<EmbedderInfo>
  embed(request: EmbedRequest, port: MessagePort): Promise<EmbedResult>
  rerank(request: RerankRequest, port: MessagePort): Promise<RerankScores>
  memory(): MemoryUse
  dispose(): Promise<void>
}
