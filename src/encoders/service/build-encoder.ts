// Loads a sentence encoder with its own memory and threads.

import { HalfbyteError } from '../../core/base/errors.ts'
import type { InnerPath } from '../../core/formats/names/named-files.ts'
import { openFiles as openModelFiles } from '../../core/formats/open-files.ts'
import type { ModelFile } from '../../core/formats/readers.ts'
import type { Host } from '../../core/runtime/host.ts'
import { ENGINE_BYTES, openRuntime, type Runtime } from '../../core/runtime/open-runtime.ts'
import { type EncoderTokenizer, encoderTokenizer } from '../../core/text/tokenize/read/encoder-tokenizer.ts'
import type { MemoryUse } from '../../engine/api/types.ts'
import type { LoaderHooks } from '../../engine/load/loaded-model.ts'
import { memoryNeed } from '../../engine/load/memory-need.ts'
import { type ModelPool, openModelPool, shortfallOf } from '../../engine/load/model-pool.ts'
import { openShards } from '../../engine/load/open/open-shards.ts'
import { type FileOpener, openRequestedFiles, withFiles } from '../../engine/load/open/requested-files.ts'
import { type PlacedModel, placeModel } from '../../engine/load/place-model.ts'
import type { LoadRequest } from '../../engine/wire/protocol.ts'
import { type DenseHead, readDenseHead, readGgufHeads } from '../families/dense-head.ts'
import { type RankHead, readRankHead } from '../families/rank-head.ts'
import type { EmbedderInfo } from './embed-protocol.ts'
import { type EmbedSettings, folderSettings, ggufSettings } from './embed-settings.ts'
import { type EmbedRun, type EncodedText, embedTexts } from './embed-texts.ts'
import { moduleFiles } from './module-files.ts'
import { type PreparedEncoder, prepareEncoder } from './prepare-encoder.ts'

/** An encoder that is ready. */
export interface LoadedEncoder {
  readonly info: EmbedderInfo
  readonly settings: EmbedSettings
  readonly tokenizer: EncoderTokenizer
  /** A reranker's score of a pair's pooled hidden states; undefined for other encoders. */
  readonly score: RankHead['score'] | undefined
  /** Allows one call at a time. */
  embed(texts: readonly EncodedText[], run: Omit<EmbedRun, 'heads'>): Promise<Float32Array[]>
  memory(): MemoryUse
  dispose(): void
}

/** Implements the service's `load`. After a typed error or the signal's reason nothing is left allocated. */
export type EncoderLoader = (request: LoadRequest, hooks: LoaderHooks) => Promise<LoadedEncoder>

/** Throws the errors that `Embedder.load` documents. */
export async function loadEncoder(
  request: LoadRequest,
  hooks: LoaderHooks,
  host: Host,
  openFiles: FileOpener = openRequestedFiles,
): Promise<LoadedEncoder> {
  const { signal } = hooks
  return withFiles(openFiles, request, hooks, async (open) => {
    const { own, readJson, openDense } = await moduleFiles(request.source, open, signal)
    const { sources } = await open(own)
    const file = await openModelFiles(sources, host, signal)
    const settings = file.format === 'gguf' ? ggufSettings(file) : await folderSettings(file.name, readJson)
    const { weights, contextLength: mostTokens } = request
    const prepared = prepareEncoder(file, { weights, settings, mostTokens })
    const { placed } = prepared
    const head = placed.isReranker ? await readRankHead(file, placed, signal) : undefined
    const { pooling = settings.pooling, score } = head ?? {}
    const openModule = async (path: InnerPath, inputs: number) =>
      openModelFiles(await openDense(path, inputs), host, signal)
    const { dense } = settings
    const heads = await readHeads(file, placed.config.hiddenSize, dense, openModule, signal)
    const parts = { settings: { ...settings, pooling }, score, heads }
    return await buildEncoder(prepared, parts, { ...request, host }, hooks)
  })
}

/** The modules between pooling and vector, in order. */
async function readHeads(
  file: ModelFile,
  width: number,
  paths: readonly InnerPath[],
  openModule: (path: InnerPath, inputs: number) => Promise<ModelFile>,
  signal: AbortSignal,
): Promise<readonly DenseHead[]> {
  if (file.format === 'gguf') return readGgufHeads(file, width, signal)
  const heads: DenseHead[] = []
  for (const path of paths) {
    const inputs = heads.at(-1)?.outputs ?? width
    heads.push(await readDenseHead(await openModule(path, inputs), inputs, signal))
  }
  return heads
}

interface EncoderParts extends Pick<LoadedEncoder, 'settings' | 'score'> {
  readonly heads: readonly DenseHead[]
}

interface BuildOptions extends Pick<LoadRequest, 'threads' | 'pool' | 'build'> {
  readonly host: Host
}

async function buildEncoder(
  prepared: PreparedEncoder,
  { settings, score, heads }: EncoderParts,
  options: BuildOptions,
  hooks: LoaderHooks,
): Promise<LoadedEncoder> {
  const { file, config } = prepared
  const { host } = options
  const tokenizer = tokenizerOf(file, config.vocabSize)
  hooks.onProgress({ phase: 'compile' })
  const need = memoryNeed(prepared)
  hooks.onNeed?.(need.fullBytes + ENGINE_BYTES)
  const runtime = await openRuntime({ ...options, ...need })
  hooks.signal.throwIfAborted()
  const shards = runtime.maxShards > 1 ? await openShards(prepared, runtime, options) : undefined
  let running: ModelPool | undefined
  try {
    const total = prepared.plan.slots.length
    hooks.onProgress({ phase: 'convert', done: 0, total })
    const placed = await placeModel(
      runtime.arena,
      prepared,
      {
        signal: hooks.signal,
        yieldTask: () => host.yieldTask(),
        onWeight: (done) => hooks.onProgress({ phase: 'convert', done, total }),
      },
      { sharded: shards?.sharded },
    )
    hooks.onProgress({ phase: 'warmup' })
    const { threads } = options
    // A dead thread makes the next run reject.
    running = await openModelPool(runtime, placed, shards?.sharded, {
      host,
      threads,
      onDeath: () => undefined,
    })
    hooks.signal.throwIfAborted()
    const { pool, kind } = running
    const shortfall = shards?.note ?? shortfallOf(options, runtime, pool.threads, kind)
    return {
      info: {
        model: {
          id: file.name,
          architecture: config.family,
          parameters: heads.reduce((sum, { parameters }) => sum + parameters, prepared.parameters),
          dimensions: heads.at(-1)?.outputs ?? config.hiddenSize,
          maxTokens: prepared.contextLength,
          task: score === undefined ? 'embed' : 'rerank',
          pooling: settings.pooling,
          prompts: Object.keys(settings.prompts),
        },
        threads: pool.threads,
        pool: kind,
        notes: shortfall === undefined ? [] : [shortfall],
        build: runtime.build,
      },
      settings,
      tokenizer,
      score,
      embed: (texts, run) => embedTexts({ ...placed, pool, host }, texts, { ...run, heads }),
      memory: () => memoryUse(placed, runtime),
      dispose: () => pool.dispose(),
    }
  } catch (error) {
    running?.pool.dispose()
    shards?.sharded?.group.dispose()
    throw error
  }
}

function memoryUse({ weightsBytes, cache, plan }: PlacedModel, { arena }: Runtime): MemoryUse {
  return {
    weightsBytes,
    stateBytes: cache.heldBytes,
    keptBytes: cache.retainedBytes,
    arenaBytes: plan.arenaBytes,
    totalBytes: arena.memoryBytes,
  }
}

/** Throws `format` if it is missing, malformed or from another model. */
function tokenizerOf(file: ModelFile, rows: number): EncoderTokenizer {
  if (file.tokenizer === undefined) {
    throw new HalfbyteError('format', `${file.name} has no tokenizer; pass its tokenizer.json with it`)
  }
  const idAt = (name: string) => file.metadata.get(`tokenizer.ggml.${name}_token_id`)
  const tokenizer = encoderTokenizer(file.tokenizer, {
    cls: idAt('cls'),
    // llama.cpp's files spell the key like this.
    sep: idAt('seperator') ?? idAt('separator'),
    charsmap: file.metadata.get('tokenizer.ggml.precompiled_charsmap'),
    rows,
  })
  if (tokenizer.vocabSize <= rows) return tokenizer
  throw new HalfbyteError(
    'format',
    `the tokenizer has ${tokenizer.vocabSize} tokens but the encoder has ${rows}; it belongs to a different model`,
    { tokens: tokenizer.vocabSize, rows },
  )
}
