// Building. In: a prepared model and a host. Out: a model that is ready to generate, with its own memory and
// threads.
import { ConstraintCompiler } from '../../constrain/compile.ts'
import { KernelRows } from '../../generate/sampler/rows.ts'
import { Scheduler } from '../../generate/schedule/scheduler.ts'
import { Sequence } from '../../generate/schedule/sequence.ts'
import { type Build, detectFeatures } from '../../runtime/features.ts'
import type { Host, Note } from '../../runtime/host.ts'
import { ENGINE_BYTES, openRuntime, type Runtime } from '../../runtime/open.ts'
import type { PoolKind } from '../../runtime/pool.ts'
import type { Tokenizer } from '../../text/tokenize/tokenizer.ts'
import type { ModelInfo } from '../wire/protocol.ts'
import { modelFingerprint } from './fingerprint.ts'
import type { WeightHooks } from './load-weights.ts'
import type { LoadedModel, LoaderHooks } from './loaded-model.ts'
import { memoryNeed } from './memory-need.ts'
import { openModelPool } from './model-pool.ts'
import { modelText, modelTokenizer } from './model-text.ts'
import { checkSameVocabulary, draftSource } from './open/draft.ts'
import { NO_HELPERS, openShards } from './open/open-shards.ts'
import { placeModel } from './place-model.ts'
import type { PreparedModel } from './prepare.ts'

export interface BuildOptions {
  readonly host: Host
  readonly threads: number | 'auto'
  /** Default `auto`. */
  readonly pool?: PoolKind | 'auto' | undefined
  readonly build: Build | 'auto'
  /** The share of each shard, above 0. Default: measured with `auto`, otherwise equal. */
  readonly shares?: readonly number[] | undefined
  /** Replaces the model's chat template. Default: the model's own. */
  readonly chatTemplate?: string | undefined
  /** A smaller model with the same vocabulary that drafts for the first. Default: none. */
  readonly draft?: PreparedModel | undefined
}

/** A loaded model, with what evaluation needs besides generation. */
export interface BuiltModel extends LoadedModel {
  readonly scheduler: Scheduler
  readonly tokenizer: Tokenizer
}

/** Throws `unsupported`, `network`, `out-of-memory`, errors of reading weights, or the signal's reason. */
export async function buildModel(
  prepared: PreparedModel,
  options: BuildOptions,
  hooks: LoaderHooks,
): Promise<BuiltModel> {
  const { file } = prepared
  const { host, draft } = options
  const vocab = prepared.plan.logits.width
  const tokenizer = modelTokenizer(file, vocab)
  if (draft !== undefined) {
    checkSameVocabulary(tokenizer, modelTokenizer(draft.file, draft.plan.logits.width))
  }
  hooks.onProgress({ phase: 'compile' })
  const need = memoryNeed(prepared, ...(draft === undefined ? [] : [draft]))
  hooks.onNeed?.(need.fullBytes + ENGINE_BYTES)
  const runtime = await openRuntime({ ...options, ...need, pool: options.pool ?? 'auto' })
  hooks.signal.throwIfAborted()
  const { arena } = runtime
  const note = noteOf(prepared, runtime, options)
  const shards = runtime.maxShards > 1 ? await openShards(prepared, runtime, { ...options, note }) : undefined
  try {
    const weights = prepared.plan.slots.length
    const draftWeights = draft?.plan.slots.length ?? 0
    const hooksFrom = (before: number): WeightHooks => ({
      signal: hooks.signal,
      yieldTask: () => host.yieldTask(),
      onWeight: (done) =>
        hooks.onProgress({ phase: 'convert', done: before + done, total: weights + draftWeights }),
    })
    hooks.onProgress({ phase: 'convert', done: 0, total: weights + draftWeights })
    const placed = await placeModel(arena, prepared, hooksFrom(0), shards?.sharded)
    const placedDraft = draft && (await placeModel(arena, draft, hooksFrom(weights)))
    const { plan, written, step, cache } = placed
    const logitRows = new KernelRows(runtime.engine, arena, vocab, prepared.file.name)
    hooks.onProgress({ phase: 'warmup' })
    let scheduler: Scheduler | undefined
    const { pool, local, kind, retune } = await openModelPool(runtime, placed, shards?.sharded, {
      host,
      threads: options.threads,
      note,
      onDeath: (error) => scheduler?.dispose(error),
    })
    placed.connect(local)
    placedDraft?.connect(local)
    scheduler = new Scheduler({
      pool,
      arena,
      plan,
      written,
      step,
      retune,
      now: () => host.now(),
      yieldTask: () => host.yieldTask(),
    })
    if (hooks.signal.aborted) {
      pool.dispose()
      throw hooks.signal.reason
    }
    const text = modelText(tokenizer, options.chatTemplate)
    return {
      info: {
        model: modelInfo(prepared),
        draft: draft && modelInfo(draft),
        threads: pool.threads,
        pool: kind,
        note: joined([
          shards?.note ?? shortfallOf(options, runtime, pool.threads, kind),
          ...prepared.notes,
          text.note,
        ]),
        build: runtime.build,
      },
      logitRows,
      tokenizer,
      text: text.text,
      renderPrompt: text.renderPrompt,
      constraints: new ConstraintCompiler(tokenizer, vocab, text.text.endIds),
      scheduler,
      newSequence: (options) => new Sequence(cache, options),
      draft: placedDraft && draftSource(placedDraft, local, vocab, () => host.now()),
      fingerprint: placed.fingerprint,
      restoreSequence: (source, fingerprint, signal) => Sequence.restore(cache, source, fingerprint, signal),
      memory: () => ({
        weightsBytes: placed.weightsBytes + (placedDraft?.weightsBytes ?? 0),
        stateBytes: cache.heldBytes + (placedDraft?.cache.heldBytes ?? 0),
        keptBytes: cache.retainedBytes + (placedDraft?.cache.retainedBytes ?? 0),
        arenaBytes: plan.arenaBytes + (placedDraft?.plan.arenaBytes ?? 0),
        totalBytes: arena.memoryBytes,
      }),
      dispose() {
        scheduler.dispose()
        pool.dispose()
      },
    }
  } catch (error) {
    shards?.sharded?.group.dispose()
    throw error
  }
}

/** Why there are fewer threads than were asked for, or another pool; undefined if there are not. */
function shortfallOf(
  { host, threads, pool: asked = 'auto' }: BuildOptions,
  { memoryKind }: Runtime,
  got: number,
  kind: PoolKind,
): string | undefined {
  const isFewer = threads !== 'auto' && got < threads
  const isOther = asked !== 'auto' && asked !== kind && threads !== 1
  if (!isFewer && !isOther) return undefined
  if (asked === 'single') return 'the pool single has one thread'
  if (host.startWorker === undefined) return NO_HELPERS
  if (memoryKind === 'shared') return 'one thread was measured to be the fastest'
  return detectFeatures(host.globals).sharedMemory
    ? 'the browser refused to share the memory that the model needs'
    : 'threads cannot share memory here; isolate the page (COOP, COEP) or use the pool shards'
}

/** Stored measurements for this model in the same kind of runtime. */
function noteOf(
  { config, plan }: PreparedModel,
  { build, memoryKind }: Runtime,
  { host: { notes }, threads }: BuildOptions,
): Note | undefined {
  if (notes === undefined) return undefined
  // Created on first use: most loads with a given number of threads look nothing up.
  let known: Promise<string> | undefined
  const key = (): Promise<string> => {
    known ??= modelFingerprint(config, plan).then((model) => `${build} ${memoryKind} ${threads} ${model}`)
    return known
  }
  return {
    read: async () => notes.read(await key()),
    write: (value) => void key().then((name) => notes.write(name, value)),
  }
}

/** The notes that there are, as one text. */
function joined(notes: readonly (string | undefined)[]): string | undefined {
  const given = notes.filter((note) => note !== undefined)
  return given.length > 0 ? given.join('; ') : undefined
}

const modelInfo = ({ file, config, parameters, contextLength, sampling }: PreparedModel): ModelInfo => ({
  id: file.name,
  architecture: config.family,
  parameters,
  contextLength,
  sampling,
})
