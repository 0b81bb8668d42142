// Loads a sentence encoder with its own memory and threads.

import type { ByteSource } from '../../core/base/bytes.ts'
import { HalfbyteError } from '../../core/base/errors.ts'
import { baseName, type InnerPath } from '../../core/formats/names/named-files.ts'
import { openFiles as openModelFiles } from '../../core/formats/open-files.ts'
import type { ModelFile } from '../../core/formats/readers.ts'
import type { Host } from '../../core/runtime/host.ts'
import { ENGINE_BYTES, openRuntime, type Runtime } from '../../core/runtime/open-runtime.ts'
import type { TokenizerSpec } from '../../core/text/spec.ts'
import { type EncoderTokenizer, encoderTokenizer } from '../../core/text/tokenize/read/encoder-tokenizer.ts'
import type { MemoryUse } from '../../engine/api/types.ts'
import type { LoaderHooks } from '../../engine/load/loaded-model.ts'
import { memoryNeed } from '../../engine/load/memory-need.ts'
import { type ModelPool, openModelPool } from '../../engine/load/model-pool.ts'
import { openShards } from '../../engine/load/open/open-shards.ts'
import { type FileOpener, openRequestedFiles, withFiles } from '../../engine/load/open/requested-files.ts'
import { type PlacedModel, placeModel } from '../../engine/load/place-model.ts'
import { shortfallOf } from '../../engine/load/shortfall.ts'
import type { LoadRequest } from '../../engine/wire/protocol.ts'
import { type DenseHead, readDenseHead, readGgufHeads } from '../families/dense-head.ts'
import { readRankHead } from '../families/rank-head.ts'
import type { EncoderRequest } from './embed-protocol.ts'
import { type EmbedSettings, folderSettings, ggufSettings } from './embed-settings.ts'
import { embedTexts } from './embed-texts.ts'
import type { GraphEncoders, LoadedEncoder } from './loaded-encoder.ts'
import { moduleFiles } from './module-files.ts'
import { type PreparedEncoder, prepareEncoder } from './prepare-encoder.ts'

/** Implements the service's `load`. After a typed error or the signal's reason, nothing stays allocated. */
export type EncoderLoader = (request: EncoderRequest, hooks: LoaderHooks) => Promise<LoadedEncoder>

/** Throws the errors that `Embedder.load` documents. */
export async function loadEncoder(
  request: EncoderRequest,
  hooks: LoaderHooks,
  host: Host,
  openFiles: FileOpener = openRequestedFiles,
): Promise<LoadedEncoder> {
  const { signal } = hooks
  return withFiles(openFiles, request, hooks, async (open, keep) => {
    const { own, readJson, openDense } = await moduleFiles(request.source, open, signal)
    const { sources } = await open(own)
    const openModule = async (path: InnerPath, inputs: number) =>
      openModelFiles(await openDense(path, inputs), host, signal)
    const graph = graphAmong(sources)
    if (graph !== undefined) {
      const settings = asRequested(await folderSettings(graph.name, readJson), request)
      const headsOf = (width: number) => readModules(width, settings.dense, openModule, signal)
      const { openGraphEncoder } = (await host.loadGraphEncoders()) as GraphEncoders
      const parts = { sources, request, hooks, host, settings, open, headsOf, tokenizerOf }
      return closing(await openGraphEncoder(parts), keep())
    }
    const file = await openModelFiles(sources, host, signal)
    const settings = asRequested(
      file.format === 'gguf' ? ggufSettings(file) : await folderSettings(file.name, readJson),
      request,
    )
    const { weights, contextLength: mostTokens } = request
    const prepared = prepareEncoder(file, { weights, settings, mostTokens })
    const { placed } = prepared
    const head = placed.isReranker ? await readRankHead(file, placed, signal) : undefined
    const { pooling = settings.pooling, score } = head ?? {}
    const { hiddenSize } = placed.config
    const heads =
      file.format === 'gguf'
        ? await readGgufHeads(file, hiddenSize, signal)
        : await readModules(hiddenSize, settings.dense, openModule, signal)
    const parts = { settings: { ...settings, pooling }, score, heads }
    return await buildEncoder(prepared, parts, { ...request, host }, hooks)
  })
}

/** A graph reads weights whenever a text has a new length, so its files stay open as long as the graph. */
const closing = (encoder: LoadedEncoder, close: () => Promise<void>): LoadedEncoder => ({
  ...encoder,
  async dispose() {
    await encoder.dispose()
    await close()
  },
})

/** Weights in another format are preferred, because they run in the engine, with its own kernels. */
function graphAmong(sources: readonly ByteSource[]): ByteSource | undefined {
  const hasOthers = sources.some(({ name }) => /\.(?:safetensors|gguf|hbm)$/i.test(baseName(name)))
  return hasOthers ? undefined : sources.find(({ name }) => name.endsWith('.onnx'))
}

/** The caller's pooling overrides that of the files. */
const asRequested = (settings: EmbedSettings, { pooling }: EncoderRequest): EmbedSettings =>
  pooling === undefined ? settings : { ...settings, pooling, isStated: true }

/** A folder's Dense modules, which run after the pooling, in order. */
async function readModules(
  width: number,
  paths: readonly InnerPath[],
  openModule: (path: InnerPath, inputs: number) => Promise<ModelFile>,
  signal: AbortSignal,
): Promise<readonly DenseHead[]> {
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
  const tokenizer = tokenizerOf(file.name, file.tokenizer, config.vocabSize, ggufExtras(file))
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
        helpers: runtime,
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

/** What GGUF says about a tokenizer besides its specification. */
const ggufExtras = ({ metadata }: ModelFile) => {
  const idAt = (name: string) => metadata.get(`tokenizer.ggml.${name}_token_id`)
  return {
    cls: idAt('cls'),
    // llama.cpp's files spell the key like this.
    sep: idAt('seperator') ?? idAt('separator'),
    charsmap: metadata.get('tokenizer.ggml.precompiled_charsmap'),
  }
}

/** Throws `format` if it is missing, malformed or from another model. */
function tokenizerOf(
  name: string,
  spec: TokenizerSpec | undefined,
  rows: number | undefined,
  extras?: ReturnType<typeof ggufExtras>,
): EncoderTokenizer {
  if (spec === undefined) {
    throw new HalfbyteError(
      'format',
      `${name} comes without a tokenizer; give its tokenizer.json with it, or the address of its folder with a slash at the end`,
    )
  }
  const tokenizer = encoderTokenizer(spec, { ...extras, rows })
  if (rows === undefined || tokenizer.vocabSize <= rows) return tokenizer
  throw new HalfbyteError(
    'format',
    `the tokenizer has ${tokenizer.vocabSize} tokens but the encoder has ${rows}; it belongs to a different model`,
    { tokens: tokenizer.vocabSize, rows },
  )
}
