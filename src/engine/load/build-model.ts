// Builds a model that is ready to generate, with its own memory and threads.

import { HalfbyteError } from '../../core/base/errors.ts'
import { ConstraintCompiler } from '../../core/constrain/compile.ts'
import type { PackContents } from '../../core/formats/hbm/hbm-writer.ts'
import { KernelRows } from '../../core/generate/sampler/logit-rows.ts'
import { Scheduler } from '../../core/generate/schedule/scheduler.ts'
import { Sequence } from '../../core/generate/schedule/sequence.ts'
import { DraftModel } from '../../core/generate/speculate/draft-model.ts'
import type { Build } from '../../core/runtime/features.ts'
import type { Host, Note } from '../../core/runtime/host.ts'
import type { Ptr } from '../../core/runtime/memory/arena.ts'
import {
  type EarlyThreads,
  ENGINE_BYTES,
  openRuntime,
  type Runtime,
  startThreads,
} from '../../core/runtime/open-runtime.ts'
import type { Pool, PoolKind } from '../../core/runtime/pool.ts'
import type { Tokenizer } from '../../core/text/tokenize/tokenizer.ts'
import type { MemoryUse, ModelInfo } from '../types/model.ts'
import { modelFingerprint, reserveWeights, type ShardedPlans, type WeightHooks } from './load-weights.ts'
import type { DraftSource, LoadedModel, LoaderHooks } from './loaded-model.ts'
import { memoryNeed } from './memory-need.ts'
import { type ModelPool, openModelPool } from './model-pool.ts'
import { modelText, modelTokenizer, withCallTexts } from './model-text.ts'
import { openShards } from './open/open-shards.ts'
import { placedContents } from './pack/keep-pack.ts'
import { type PlacedModel, placeModel } from './place-model.ts'
import { StoredPlacing } from './place-stored.ts'
import type { PreparedModel } from './prepare.ts'
import { shortfallOf } from './shortfall.ts'
import { sightOf } from './sight.ts'
import type { Vision } from './vision/vision.ts'

/**
 * Models of one family pad their vocabularies to different sizes. A larger difference means another family.
 */
const MAX_PADDING = 512

/** Throws `unsupported` if an id that both models have stands for different text. */
function checkSameVocabulary(target: Tokenizer, draft: Tokenizer): void {
  const shared = Math.min(target.vocabSize, draft.vocabSize)
  if (Math.abs(target.vocabSize - draft.vocabSize) > MAX_PADDING) {
    throw otherVocabulary(`it has ${draft.vocabSize} tokens but the model has ${target.vocabSize}`)
  }
  for (let id = 0; id < shared; id++) {
    if (isSame(target.tokenBytes(id), draft.tokenBytes(id)) && target.isSpecial(id) === draft.isSpecial(id))
      continue
    throw otherVocabulary(
      `its token ${id} is ${JSON.stringify(draft.tokenText(id))} but the model's is ${JSON.stringify(target.tokenText(id))}`,
    )
  }
}

/** Drafts ids below `vocab`, the size of the smaller vocabulary. */
function draftSource(
  { arena, plan, written, step, cache }: PlacedModel,
  pool: Pool,
  vocab: number,
  now: () => number,
): DraftSource {
  const model = new DraftModel({ pool, arena, plan, written, step, now, vocab })
  return {
    newSequence: (options) => new Sequence(cache, options),
    drafter: (sequence) => model.drafter(sequence),
  }
}

const isSame = (left: Uint8Array, right: Uint8Array): boolean =>
  left.length === right.length && left.every((byte, index) => byte === right[index])

function otherVocabulary(how: string): HalfbyteError {
  return new HalfbyteError(
    'unsupported',
    `the draft model has a different vocabulary: ${how}; choose a smaller model of the same family`,
  )
}

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
  /** Converts images to rows of the model. Default: none. */
  readonly vision?: Vision | undefined
  /** Whether the contents of a pack are wanted. Default: false. */
  readonly keepsContents?: boolean | undefined
}

/** A loaded model, with the parts that evaluation needs besides generation. */
export interface BuiltModel extends LoadedModel {
  readonly scheduler: Scheduler
  readonly tokenizer: Tokenizer
  /** Its weights as a pack has them. Absent if they are not wanted, or if shards have them. */
  readonly contents?: PackContents | undefined
}

/** Throws `unsupported`, `network`, `out-of-memory`, errors from reading weights, or the signal's reason. */
export async function buildModel(
  prepared: PreparedModel,
  options: BuildOptions,
  hooks: LoaderHooks,
): Promise<BuiltModel> {
  const { file } = prepared
  const { host, draft, vision } = options
  hooks.onProgress({ phase: 'compile' })
  const need = memoryNeed(prepared, ...(draft === undefined ? [] : [draft]), ...(vision?.models ?? []))
  hooks.onNeed?.(need.fullBytes + ENGINE_BYTES)
  const runtime = await openRuntime({ ...options, ...need, pool: options.pool ?? 'auto' })
  hooks.signal.throwIfAborted()
  const { arena } = runtime
  const note = noteOf(prepared, runtime, options)
  // Messages to shards have positions, but not the coordinates of images' rows.
  const isShared = runtime.maxShards > 1 && vision?.inputs.isPlaced !== true
  const shards = isShared ? await openShards(prepared, runtime, { ...options, note }) : undefined
  let started: Pick<ModelPool, 'pool'> | undefined
  const { sharded } = shards ?? {}
  const placing: Placing =
    sharded === undefined ? await startEarly(prepared, runtime, { ...options, note }) : { sharded }
  try {
    // The threads start meanwhile.
    const { vocab, tokenizer, text } = readText(prepared, options)
    const models = await placeModels(prepared, runtime, options, hooks, placing)
    const logitRows = new KernelRows(runtime.engine, arena, vocab, file.name)
    hooks.onProgress({ phase: 'warmup' })
    const running = await startModel(runtime, models, { ...options, ...placing, note })
    const { pool, local, kind, scheduler } = running
    started = running
    hooks.signal.throwIfAborted()
    const { main, draft: drafting } = models
    const { cache } = main
    const shortfall = shards?.note ?? shortfallOf(options, runtime, pool.threads, kind)
    return {
      info: {
        model: modelInfo(prepared, text, vision !== undefined),
        draft: draft && modelInfo(draft, { templateArguments: [], readsTools: false }, false),
        threads: pool.threads,
        pool: kind,
        notes: [...(shortfall === undefined ? [] : [shortfall]), ...prepared.notes, ...text.notes],
        build: runtime.build,
      },
      logitRows,
      tokenizer,
      text: text.text,
      renderPrompt: text.renderPrompt,
      constraints: new ConstraintCompiler(tokenizer, vocab, text.text.endIds, withCallTexts(tokenizer)),
      scheduler,
      contents:
        options.keepsContents === true && placing.reserved !== undefined
          ? placedContents(prepared, arena, placing.reserved)
          : undefined,
      sight: sightOf(
        vision?.sight({
          pool: local,
          text: text.text,
          yieldTask: () => host.yieldTask(),
          cutPicture: host.cutPicture,
        }),
        file.name,
        text.text,
        file.tower !== undefined,
      ),
      newSequence: (options) => new Sequence(cache, options),
      draft: drafting && draftSource(drafting, local, vocab, () => host.now()),
      fingerprint: main.fingerprint,
      restoreSequence: (source, fingerprint, signal) => Sequence.restore(cache, source, fingerprint, signal),
      memory: () => memoryUse(models, arena),
      dispose() {
        scheduler.dispose()
        pool.dispose()
      },
    }
  } catch (error) {
    started?.pool.dispose()
    placing.early?.pool.dispose()
    shards?.sharded?.group.dispose()
    throw error
  }
}

/**
 * Checks that the draft model has the same vocabulary, and parses the chat template, which may be invalid.
 */
function readText(
  { file, plan }: PreparedModel,
  { draft, chatTemplate, vision }: Pick<BuildOptions, 'draft' | 'chatTemplate' | 'vision'>,
) {
  const vocab = plan.logits.width
  const tokenizer = modelTokenizer(file, vocab)
  if (draft !== undefined) {
    checkSameVocabulary(tokenizer, modelTokenizer(draft.file, draft.plan.logits.width))
  }
  return { vocab, tokenizer, text: modelText(tokenizer, chatTemplate, vision?.mark) }
}

/** What is ready before the weights are read. */
interface Early {
  /** The slots of the weights. */
  readonly reserved: readonly Ptr[]
  /** What all threads already place, if the weights are in files on this device. */
  readonly stored: StoredPlacing | undefined
  readonly early: EarlyThreads | undefined
}

/** Throws `out-of-memory`. */
async function startEarly(
  { plan, weights }: PreparedModel,
  runtime: Runtime,
  options: Pick<StartOptions, 'host' | 'threads' | 'note'>,
): Promise<Early> {
  const { arena, maxThreads } = runtime
  const reserved = reserveWeights(arena, plan)
  const address = reserved[0] ?? arena.mark()
  const ahead = { address, bytes: arena.mark() - address }
  const stored = StoredPlacing.plan(weights, plan.slots, reserved, runtime, maxThreads)
  const work = stored === undefined ? { ahead } : { place: () => stored.request() }
  return { reserved, stored, early: await startThreads(runtime, options, work) }
}

interface PlacedModels {
  readonly main: PlacedModel
  readonly draft: PlacedModel | undefined
  readonly vision: Vision | undefined
}

/** Shards, or what is ready for one memory. */
type Placing = Partial<Early> & { readonly sharded?: ShardedPlans | undefined }

interface StartOptions extends Placing, Pick<BuildOptions, 'host' | 'threads'> {
  readonly note: Note | undefined
}

/** Reads the weights of the model and of its draft model into memory. */
async function placeModels(
  prepared: PreparedModel,
  { arena, engine }: Runtime,
  { host, draft, vision }: BuildOptions,
  { signal, onProgress }: LoaderHooks,
  { sharded, reserved, stored, early }: Placing,
): Promise<PlacedModels> {
  const weights = prepared.plan.slots.length
  const drafting = draft?.plan.slots.length ?? 0
  const seeing = (vision?.models ?? []).reduce((sum, { plan }) => sum + plan.slots.length, 0)
  const total = weights + drafting + seeing
  const helpers = { engine, pool: early?.pool }
  const hooksFrom = (before: number): WeightHooks => ({
    signal,
    yieldTask: () => host.yieldTask(),
    onWeight: (done) => onProgress({ phase: 'convert', done: before + done, total }),
    helpers,
  })
  onProgress({ phase: 'convert', done: 0, total })
  const all = { ...helpers, placing: stored, hasDied: () => early?.death !== undefined }
  const main = await placeModel(
    arena,
    prepared,
    { ...hooksFrom(0), helpers: all },
    {
      sharded,
      inputs: vision?.inputs,
      reserved,
    },
  )
  const drafts = draft && (await placeModel(arena, draft, hooksFrom(weights)))
  await vision?.place(arena, hooksFrom(weights + drafting))
  return { main, draft: drafts, vision }
}

/** Starts the threads and the scheduler that runs steps on them. */
async function startModel(
  runtime: Runtime,
  { main, draft }: PlacedModels,
  { host, threads, note, sharded, early }: StartOptions,
): Promise<ModelPool & { readonly scheduler: Scheduler }> {
  let scheduler: Scheduler | undefined
  const opened = await openModelPool(runtime, main, sharded, {
    host,
    threads,
    note,
    early,
    onDeath: (error) => scheduler?.dispose(error),
  })
  main.connect(opened.local)
  draft?.connect(opened.local)
  const { plan, written, step } = main
  scheduler = new Scheduler({
    pool: opened.pool,
    arena: runtime.arena,
    plan,
    written,
    step,
    retune: opened.retune,
    now: () => host.now(),
    yieldTask: () => host.yieldTask(),
  })
  return { ...opened, scheduler }
}

function memoryUse({ main, draft, vision }: PlacedModels, arena: Runtime['arena']): MemoryUse {
  return {
    weightsBytes: main.weightsBytes + (draft?.weightsBytes ?? 0) + (vision?.weightsBytes ?? 0),
    stateBytes: main.cache.heldBytes + (draft?.cache.heldBytes ?? 0),
    keptBytes: main.cache.retainedBytes + (draft?.cache.retainedBytes ?? 0),
    arenaBytes: main.plan.arenaBytes + (draft?.plan.arenaBytes ?? 0) + (vision?.arenaBytes ?? 0),
    totalBytes: arena.memoryBytes,
  }
}

/** Stored measurements of this model in the same kind of runtime. */
function noteOf(
  { config, plan }: PreparedModel,
  { build, memoryKind }: Runtime,
  { host: { notes }, threads }: BuildOptions,
): Note | undefined {
  if (notes === undefined) return undefined
  // Created on first use, because most loads with a given number of threads never need it.
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

const modelInfo = (
  { file, config, parameters, contextLength, sampling }: PreparedModel,
  { templateArguments, readsTools }: Pick<ModelInfo, 'templateArguments' | 'readsTools'>,
  seesImages: boolean,
): ModelInfo => ({
  id: file.name,
  architecture: config.family,
  parameters,
  contextLength,
  sampling,
  templateArguments,
  readsTools,
  seesImages,
})
