// Determines from a model's headers alone whether it would fit here and how fast it would be.

import { BLOCK_POSITIONS } from '../../core/abi/constants.ts'
import { isHalfbyteError } from '../../core/base/errors.ts'
import type { ModelFile } from '../../core/formats/readers.ts'
import { planTotals } from '../../core/graph/plan/cost.ts'
import type { Plan } from '../../core/graph/plan/plan.ts'
import { detectFeatures } from '../../core/runtime/features.ts'
import type { Host } from '../../core/runtime/host.ts'
import { grantedBytes } from '../../core/runtime/memory/linear-memory.ts'
import { ENGINE_BYTES } from '../../core/runtime/open-runtime.ts'
import type { LoaderHooks } from '../load/loaded-model.ts'
import { memoryNeed } from '../load/memory-need.ts'
import { openAdapters, openAny } from '../load/open/open-any.ts'
import { openVision } from '../load/open/open-vision.ts'
import type { FilePeeker, PeekedFiles } from '../load/open/requested-files.ts'
import { type PreparedModel, prepareModel } from '../load/prepare.ts'
import type { GraphOffer, ProbeReport, Smaller } from '../types/model.ts'
import type { LoadRequest, ProbeRequest } from '../wire/protocol.ts'
import { gaugeSpeeds } from './gauge.ts'
import { graphOffers } from './graph-offers.ts'

/** A smaller context than this is too short for a conversation, so it is not suggested. */
const LEAST_CONTEXT = 512

/**
 * Reads headers and runs kernels for a fifth of a second. Throws errors from reading headers and from
 * starting the engine.
 */
export async function probeModel(
  request: ProbeRequest,
  { signal }: Pick<LoaderHooks, 'signal'>,
  host: Host,
  peekFiles: FilePeeker,
): Promise<ProbeReport> {
  const opened: PeekedFiles[] = []
  try {
    const files: ModelFile[] = []
    const open = async (source: LoadRequest['source']) => {
      const peeked = await peekFiles({ ...request, source }, { signal })
      opened.push(peeked)
      return peeked
    }
    for (const source of [request.source, request.draft]) {
      if (source !== undefined)
        files.push((await openAny(source, open, host, { signal, dtype: request.dtype })).file)
    }
    const prepareVision = await openVision(request, files[0]?.tower, open, host, signal)
    const lora = await openAdapters(request.lora, open, host, signal)
    const prepare = async (changes: Smaller = {}): Promise<PreparedModel[]> => {
      const prepared: PreparedModel[] = []
      for (const file of files) {
        const contextLength = changes.contextLength ?? request.contextLength ?? prepared[0]?.contextLength
        // Any file after the first is the draft model's.
        const own = prepared.length === 0 ? { adapters: lora } : { architecture: undefined }
        prepared.push(await prepareModel(file, { ...request, ...changes, contextLength, ...own, signal }))
      }
      prepared.push(...(prepareVision(changes.weights ?? request.weights, prepared[0]!).vision?.models ?? []))
      return prepared
    }
    const models = await prepare()
    const neededBytes = neededOf(models)
    const granted = Math.min(
      grantedHere(request, host, neededBytes),
      request.limitBytes ?? Number.POSITIVE_INFINITY,
    )
    const fits = neededBytes <= granted
    const [{ plan, contextLength }] = models as [PreparedModel]
    const speeds = await gaugeSpeeds(plan, contextLength, { ...request, host, signal })
    return {
      fits,
      neededBytes,
      grantedBytes: granted,
      contextLength,
      downloadBytes: opened.reduce((sum, { downloadBytes }) => sum + downloadBytes, 0),
      ...speeds,
      suggestion: fits ? undefined : await smallerThat(prepare, models, granted),
      graphs: await graphsOf(opened[0], request, { plan, neededBytes, granted }),
    }
  } finally {
    for (const files of opened) await files.close()
  }
}

/** The model's graphs, if there are several and the request does not name one. */
async function graphsOf(
  files: PeekedFiles | undefined,
  { dtype }: ProbeRequest,
  {
    plan,
    neededBytes,
    granted,
  }: { readonly plan: Plan; readonly neededBytes: number; readonly granted: number },
): Promise<readonly GraphOffer[] | undefined> {
  const graphs = dtype === undefined ? await files?.graphs?.() : undefined
  if (graphs === undefined || graphs.length === 0) return undefined
  const { weightBytes } = planTotals(plan)
  return graphOffers(graphs, { weightBytes, neededBytes }, granted)
}

const neededOf = (models: readonly PreparedModel[]): number => memoryNeed(...models).fullBytes + ENGINE_BYTES

/** A page that may share memory falls back to plain memory if shared memory of this size is denied. */
function grantedHere({ threads }: Pick<LoadRequest, 'threads'>, host: Host, neededBytes: number): number {
  const mayShare =
    threads !== 1 && host.startWorker !== undefined && detectFeatures(host.globals).sharedMemory
  const shared = mayShare ? grantedBytes('shared', host.deviceBytes) : 0
  return shared >= neededBytes ? shared : Math.max(shared, grantedBytes('plain', host.deviceBytes))
}

/**
 * The first change that fits: a smaller context, int8 keys and values (values alone if keys have a bias),
 * 4-bit weights, or combinations of these.
 */
async function smallerThat(
  prepare: (changes: Smaller) => Promise<PreparedModel[]>,
  asked: readonly PreparedModel[],
  granted: number,
): Promise<Smaller | undefined> {
  // int8 keys have one scale per head. If keys have a bias, a few of its channels dominate that scale.
  const hasKeyBias = asked.some(({ weights }) =>
    [...weights.keys()].some((name) => name.endsWith('attn_k.bias')),
  )
  const kvCache = { k: hasKeyBias ? 'f32' : 'int8', v: 'int8' } as const
  const ways: readonly Smaller[] = [{}, { kvCache }, { weights: 'w4' }, { weights: 'w4', kvCache }]
  const contextLength = asked[0]?.contextLength ?? 0
  let shorter: Smaller | undefined
  for (const [index, way] of ways.entries()) {
    const models = await prepareOr(prepare, way)
    if (models === undefined) continue
    if (neededOf(models) <= granted) return way
    const fitting = contextFor(models, granted)
    if (fitting < Math.min(LEAST_CONTEXT, contextLength)) continue
    if (index === 0) return { contextLength: fitting }
    shorter ??= { ...way, contextLength: fitting }
  }
  return shorter
}

/** Undefined if the model cannot be changed in this way. */
async function prepareOr(
  prepare: (changes: Smaller) => Promise<PreparedModel[]>,
  way: Smaller,
): Promise<PreparedModel[] | undefined> {
  try {
    return await prepare(way)
  } catch (error) {
    if (isHalfbyteError(error)) return undefined
    throw error
  }
}

/** Maximum number of tokens whose state fits next to everything else, in whole blocks. */
function contextFor(models: readonly PreparedModel[], granted: number): number {
  const block = models
    .flatMap(({ plan }) => planTotals(plan).blockBytes)
    .reduce((sum, bytes) => sum + bytes, 0)
  const base = memoryNeed(...models).needBytes - block + ENGINE_BYTES
  return block === 0 ? 0 : Math.max(0, Math.floor((granted - base) / block)) * BLOCK_POSITIONS
}
