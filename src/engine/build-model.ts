// Building. In: a prepared model and a host. Out: a model that is ready to generate, in a memory and on threads of its own.
import { inverseFrequencies } from '../arch/rope.ts'
import { ConstraintCompiler } from '../generate/constrain/compile.ts'
import { probeStep } from '../generate/probe.ts'
import { KernelRows } from '../generate/sampler/rows.ts'
import { Scheduler } from '../generate/scheduler.ts'
import { Sequence } from '../generate/sequence.ts'
import { StepBuffer } from '../generate/step-buffer.ts'
import { planTotals } from '../graph/print.ts'
import type { Build } from '../runtime/features.ts'
import type { Host } from '../runtime/host.ts'
import { KvShift } from '../runtime/kv-shift.ts'
import { openPool, openRuntime } from '../runtime/open.ts'
import { writePlan } from '../runtime/write-plan.ts'
import type { Place } from '../state/shift.ts'
import { StateCache } from '../state/state-cache.ts'
import type { Tokenizer } from '../text/tokenizer.ts'
import { loadWeights } from './load-weights.ts'
import type { LoadedModel, LoaderHooks } from './loaded-model.ts'
import { modelText, modelTokenizer } from './model-text.ts'
import { memoryNeed, type PreparedModel } from './prepare.ts'

export interface BuildOptions {
  readonly host: Host
  readonly threads: number | 'auto'
  readonly build: Build | 'auto'
}

/** A loaded model with what evaluation needs beside generation. */
export interface BuiltModel extends LoadedModel {
  readonly scheduler: Scheduler
  readonly tokenizer: Tokenizer
}

/** Most sequences that one step carries; a pair for guidance counts twice. */
const STEP_SEQUENCES = 32

/** Throws `unsupported`, `network`, `out-of-memory`, what reading weights throws, or the signal's reason. */
export async function buildModel(
  prepared: PreparedModel,
  options: BuildOptions,
  hooks: LoaderHooks,
): Promise<BuiltModel> {
  const { plan, config, contextLength, file, parameters } = prepared
  const { host } = options
  const tokenizer = modelTokenizer(file, plan.logits.width)
  hooks.onProgress({ phase: 'compile' })
  const runtime = await openRuntime({ ...options, ...memoryNeed(prepared) })
  hooks.signal.throwIfAborted()
  const { arena } = runtime
  const slots = await loadWeights(arena, prepared, {
    signal: hooks.signal,
    onWeight: (done, total) => hooks.onProgress({ phase: 'convert', done, total }),
  })
  const written = writePlan(arena, plan, slots)
  const capacity = { tokens: plan.tokens, logitRows: plan.logitRows, sequences: STEP_SEQUENCES }
  const ropes = [inverseFrequencies(config.rope)]
  const step = new StepBuffer(arena, capacity, plan.stateGroups.length, ropes)
  const { blockBytes } = planTotals(plan)
  const logitRows = new KernelRows(runtime.engine, arena, plan.logits.width)
  const windows = plan.stateGroups.map(({ window }) => window)
  let shift: KvShift | undefined
  const cache = new StateCache({
    ...{ arena, blockBytes, windows, contextLength },
    move: (group, from, to, count) => {
      const place = ({ table, position }: Place) => ({ tables: windows.map(() => table), position })
      shift?.move(place(from), place(to), count, group)
    },
  })
  hooks.onProgress({ phase: 'warmup' })
  let scheduler: Scheduler | undefined
  const pool = await openPool(runtime, {
    host,
    threads: options.threads,
    probe: (candidate) => probeStep(candidate, written, step, cache),
    onDeath: (error) => scheduler?.dispose(error),
  })
  shift = new KvShift({ pool, arena, plan, ropes })
  scheduler = new Scheduler({
    pool,
    arena,
    plan,
    written,
    step,
    now: () => host.now(),
    yieldTask: () => host.yieldTask(),
  })
  if (hooks.signal.aborted) {
    pool.dispose()
    throw hooks.signal.reason
  }
  const text = modelText(tokenizer)
  return {
    info: {
      model: { id: file.name, architecture: config.family, parameters, contextLength },
      threads: pool.threads,
      build: runtime.build,
    },
    logitRows,
    tokenizer,
    ...text,
    constraints: new ConstraintCompiler(tokenizer, plan.logits.width, text.text.endIds),
    scheduler,
    newSequence: (options) => new Sequence(cache, options),
    memory: () => ({
      weightsBytes: plan.slots.reduce((sum, slot) => sum + slot.bytes, 0),
      stateBytes: cache.heldBytes,
      keptBytes: cache.retainedBytes,
      arenaBytes: plan.arenaBytes,
      totalBytes: arena.memoryBytes,
    }),
    dispose() {
      scheduler.dispose()
      pool.dispose()
    },
  }
}
