// Loads a sentence encoder from an ONNX graph, as in repositories made for transformers.js, with the network
// compiler.
import type { ByteSource } from '../../core/base/bytes.ts'
import { wrongOption } from '../../core/base/check-options.ts'
import type { EngineNote } from '../../core/base/engine-notes.ts'
import { isCount, type JsonObject } from '../../core/base/values.ts'
import { readJson, withoutNulls } from '../../core/formats/json-files.ts'
import { chooseGraph } from '../../core/formats/names/graph-files.ts'
import { baseName, statedName } from '../../core/formats/names/named-files.ts'
import type { ModelFile } from '../../core/formats/readers.ts'
import { WEIGHTS } from '../../core/store/hub.ts'
import type { EncoderTokenizer } from '../../core/text/tokenize/read/encoder-tokenizer.ts'
import type { MemoryUse } from '../../engine/api/types.ts'
import { shortfallOf } from '../../engine/load/shortfall.ts'
import type { WeightPolicy } from '../../network/compile/lower/policy.ts'
import { openCompiled } from '../../network/compile/open-network.ts'
import { buildNetwork, dataBeside, type LocalNetwork } from '../../network/service/build-network.ts'
import { activationOf } from '../families/rank-activation.ts'
import type { EncoderRequest } from '../service/embed-protocol.ts'
import type { EmbedSettings } from '../service/embed-settings.ts'
import type { GraphEncoders, GraphParts, LoadedEncoder } from '../service/loaded-encoder.ts'
import { type GraphForm, graphForm, positionsOf, refused } from './graph-form.ts'
import { embedByGraph, runText } from './run-graph.ts'

/** Default maximum number of tokens in a text: attention may need memory for each pair of tokens. */
const USUAL_TOKENS = 2048
/** Positions of a graph whose files do not give their number. */
const UNSTATED_TOKENS = 512

/** The files that describe the encoder of a graph. */
interface Description {
  readonly name: string
  readonly config: JsonObject
  readonly tokenizer: ModelFile['tokenizer']
  /** The limit in tokenizer_config.json; undefined if it is missing or absurdly large. */
  readonly mostTokens: number | undefined
}

export const openGraphEncoder: GraphEncoders['openGraphEncoder'] = async (parts) => {
  const { sources, request, hooks, host, settings, open, tokenizerOf } = parts
  const { signal } = hooks
  const weights = weightsOf(request)
  const described = await describe(sources, request, signal)
  const { name, config } = described
  const { vocab_size: rows } = config
  const tokenizer = tokenizerOf(name, described.tokenizer, isCount(rows) ? rows : undefined)
  refuseChatModel(name, config, settings)
  hooks.onProgress({ phase: 'compile' })
  hooks.onNeed?.(sources.reduce((sum, { name, size }) => sum + (WEIGHTS.test(name) ? size : 0), 0))
  const { dtype, build, pool } = request
  const threads = pool === 'single' ? 1 : request.threads
  const beside = dataBeside(sources, open)
  const files = { sources, async close() {} }
  const network = await buildNetwork(openCompiled, files, { build, weights, threads }, host, {
    signal,
    dtype,
    beside,
  })
  try {
    const mustPool = request.pooling !== undefined || !settings.poolsPrompt
    const form = graphForm(name, network.info, config, mustPool)
    hooks.onProgress({ phase: 'warmup' })
    return await ready(parts, described, { network, form, tokenizer })
  } catch (error) {
    await network.dispose()
    throw error
  }
}

/** Networks don't support per-channel scales. */
function weightsOf({ weights }: EncoderRequest): WeightPolicy {
  if (weights === 'w4_channel') throw wrongOption('weights', weights, 'auto, f32, w8 or w4 for an ONNX graph')
  return weights
}

async function describe(
  sources: readonly ByteSource[],
  { dtype }: EncoderRequest,
  signal: AbortSignal,
): Promise<Description> {
  const graph = chooseGraph(
    sources.map(({ name }) => name),
    dtype,
  )
  const json = async (name: string) => {
    const found = sources.find((source) => baseName(source.name) === name)
    return found && readJson(found, signal)
  }
  const config = (await json('config.json')) ?? {}
  const tokenizer = await json('tokenizer.json')
  const settings = await json('tokenizer_config.json')
  const most = settings?.['model_max_length']
  return {
    name: statedName(config, graph),
    config,
    tokenizer: tokenizer && { kind: 'json', tokenizer, config: settings },
    mostTokens: isCount(most) && most > 0 ? most : undefined,
  }
}

/** The states of a chat model count as vectors only if its files, or the caller, say how to pool them. */
function refuseChatModel(name: string, { architectures }: JsonObject, { isStated }: EmbedSettings): void {
  const [architecture] = Array.isArray(architectures) ? architectures : []
  if (isStated || typeof architecture !== 'string' || !/(?:CausalLM|LMHeadModel)$/.test(architecture)) return
  throw refused(
    name,
    `has the class ${architecture}, and no file says how to pool its states into a vector`,
    "load it with Engine.load, or set the pooling option, for example pooling: 'last'",
  )
}

interface Opened {
  readonly network: LocalNetwork
  readonly form: GraphForm
  readonly tokenizer: EncoderTokenizer
}

/** Runs the shortest text once, which shows the sizes of the output and loads the weights. */
async function ready(
  { request, hooks, host, settings, headsOf }: GraphParts,
  described: Description,
  { network, form, tokenizer }: Opened,
): Promise<LoadedEncoder> {
  const { name, config } = described
  const shortest = [...tokenizer.prefix, ...tokenizer.suffix]
  const { width, rank } = await runText(network, form, shortest.length > 0 ? shortest : [0], hooks.signal)
  const isReranker = form.kind === 'logits'
  if (isReranker) refuseLogits(name, width, rank)
  const heads = form.kind === 'states' ? await headsOf(width) : []
  const score = isReranker
    ? activationOf({ name, metadata: new Map([['config', withoutNulls(config)]]) })
    : undefined
  const { memoryBytes: weightsBytes } = network.memory()
  const { threads, build } = network.info
  const kind = threads > 1 ? 'shared' : 'single'
  const note = shardNote(request) ?? shortfallOf({ ...request, host }, poolMemory(threads), threads, kind)
  return {
    info: {
      model: {
        id: name,
        architecture: typeof config['model_type'] === 'string' ? config['model_type'] : 'onnx',
        parameters: heads.reduce((sum, { parameters }) => sum + parameters, network.parameters),
        dimensions: heads.at(-1)?.outputs ?? width,
        maxTokens: mostTokens(request, settings, described, form),
        task: isReranker ? 'rerank' : 'embed',
        pooling: settings.pooling,
        prompts: Object.keys(settings.prompts),
      },
      threads,
      pool: kind,
      notes: note === undefined ? [] : [note],
      build,
    },
    settings,
    tokenizer,
    score: score && ((state) => score(state[0] as number)),
    embed: (texts, run) => embedByGraph({ network, form, host }, texts, { ...run, heads }),
    memory: () => memoryUse(network, weightsBytes),
    dispose: () => network.dispose(),
  }
}

/** A reranker's head has a single logit, which scores a pair. */
function refuseLogits(name: string, width: number, rank: number): void {
  if (rank === 2 && width === 1) return
  throw rank > 2
    ? refused(
        name,
        `outputs ${width} logits for each position, like a model for filling in words`,
        'choose an export for feature-extraction, or run it with Network.load of halfbyte/network',
      )
    : refused(
        name,
        `classifies texts into ${width} labels, but a reranker has only one`,
        'run it with Network.load of halfbyte/network',
      )
}

const poolMemory = (threads: number) => ({ memoryKind: threads > 1 ? 'shared' : 'plain' }) as const

function shardNote({ pool }: EncoderRequest): EngineNote | undefined {
  if (pool !== 'shards') return undefined
  const reason = 'the steps of an ONNX graph share one memory, so the graph cannot be split into shards'
  return { code: 'uncut-model', text: reason, values: { reason } }
}

/** The caller's limit, capped by those of the files and of the graph. */
function mostTokens(
  { contextLength }: EncoderRequest,
  settings: EmbedSettings,
  { config, mostTokens: stated }: Description,
  { fixedTokens }: GraphForm,
): number {
  const positions = positionsOf(config).most
  const limits = [settings.mostTokens, stated, positions, fixedTokens].filter((limit) => limit !== undefined)
  const most = limits.length > 0 ? Math.min(...limits) : UNSTATED_TOKENS
  return Math.min(most, contextLength ?? USUAL_TOKENS)
}

/** Intermediate values share the weights' memory, which grows with the longest text. */
function memoryUse(network: LocalNetwork, weightsBytes: number): MemoryUse {
  const { memoryBytes, codeBytes } = network.memory()
  return {
    weightsBytes,
    stateBytes: 0,
    keptBytes: 0,
    arenaBytes: memoryBytes - weightsBytes,
    totalBytes: memoryBytes + codeBytes,
  }
}
