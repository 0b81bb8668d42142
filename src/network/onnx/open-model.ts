// Opens a decoder's ONNX export as a model file with the graph of its step. Weights stay in their files.

import type { Family, ModelConfig, RopeConfig, RopeScaling } from '../../core/arch/config/config.ts'
import { type ByteSource, filledSource, readInto } from '../../core/base/bytes.ts'
import { HalfbyteError, isHalfbyteError } from '../../core/base/errors.ts'
import { groupBy, isCount, isObject, type JsonObject } from '../../core/base/values.ts'
import {
  generationSettings,
  type MetaObject,
  readJson,
  readText,
  withoutNulls,
} from '../../core/formats/json-files.ts'
import { chooseGraph, type GraphDtype } from '../../core/formats/names/graph-files.ts'
import { baseName, type InnerPath, modelName, pathInside } from '../../core/formats/names/named-files.ts'
import type { ModelFile } from '../../core/formats/readers.ts'
import type { MetaValue } from '../../core/formats/tensors.ts'
import type { GraphBuilder } from '../../core/graph/builder.ts'
import type { Graph as StepGraph } from '../../core/graph/nodes.ts'
import { graphBudget } from './graph-budget.ts'
import { addDims, type Dim } from './ir/dims.ts'
import { type Graph, type Input, isStored, type StoredTensor } from './ir/graph.ts'
import { isFloat } from './ir/tensor.ts'
import { withCache } from './passes/branches.ts'
import { type PassReport, runPasses } from './passes/pass.ts'
import { PASSES } from './passes.ts'
import { type Findings, localRope } from './raise/findings.ts'
import { HANDLERS } from './raise/handlers.ts'
import { PROVEN_POSITIONS, type Translation, Translator } from './raise/translator.ts'
import { type FindFile, type OnnxModel, readModel } from './read-model.ts'

/** This few values are enough to recognise nearly every tensor that is not bf16. */
const FIRST_BYTES = 4096
const CHUNK_BYTES = 4 << 20

/**
 * Marks f32 matrices whose values are all bf16. Reads such matrices completely, but usually only the
 * beginning of others. Skips files that are read by ranges, because they would be downloaded twice.
 */
async function withBfloats(graph: Graph, signal?: AbortSignal): Promise<Graph> {
  const constants = new Map(graph.constants)
  for (const [name, constant] of constants) {
    if (!isStored(constant) || constant.dtype !== 'f32' || constant.dims.length !== 2) continue
    if (constant.source.readAlone === undefined && (await isBfloats(constant, signal)))
      constants.set(name, { ...constant, bfloats: bfloatSource(constant) })
  }
  return { ...graph, constants }
}

async function isBfloats(
  { source, offset, byteLength }: StoredTensor,
  signal?: AbortSignal,
): Promise<boolean> {
  const chunk = new Uint32Array(Math.min(CHUNK_BYTES, byteLength) / 4)
  for (let at = 0, length = FIRST_BYTES; at < byteLength; at += length, length = CHUNK_BYTES) {
    const words = chunk.subarray(0, Math.min(length, byteLength - at) / 4)
    await readInto(source, bytesOf(words), offset + at, signal)
    let all = 0
    for (let i = 0; i < words.length; i++) all |= words[i]!
    if ((all & 0xffff) !== 0) return false
  }
  return true
}

/** A source that returns the upper half of each word. */
const bfloatSource = ({ source, offset, byteLength }: StoredTensor): ByteSource =>
  filledSource(source.name, byteLength / 2, async (target, from, signal) => {
    const end = from + target.byteLength
    const words = new Uint32Array(Math.min(CHUNK_BYTES / 4, Math.ceil(target.byteLength / 2) + 1))
    const halves = new Uint16Array(words.buffer)
    for (let at = from; at < end; ) {
      const first = at >> 1
      const count = Math.min(words.length, Math.ceil(end / 2) - first)
      await readInto(source, bytesOf(words.subarray(0, count)), offset + 4 * first, signal)
      for (let i = 0; i < count; i++) halves[i] = words[i]! >>> 16
      const part = new Uint8Array(words.buffer, at - 2 * first, Math.min(end, 2 * (first + count)) - at)
      target.set(part, at - from)
      at += part.byteLength
    }
  })

const bytesOf = ({ buffer, byteOffset, byteLength }: Uint32Array<ArrayBuffer>): Uint8Array =>
  new Uint8Array(buffer, byteOffset, byteLength)

export interface OnnxOptions {
  /**
   * Makes the graph of the step. The engine supplies this function, so that the reader does not contain it.
   */
  readonly newGraph: () => GraphBuilder
  readonly signal?: AbortSignal | undefined
  /** Finds files that are not among the sources, by their names. Default: none. */
  readonly beside?: FindFile | undefined
  /**
   * Whether to store f32 matrices as bf16 if all their values are bf16. This reads them one more time.
   * Default: false.
   */
  readonly bfloats?: boolean | undefined
  /** The precision to open if the sources have several. Default: the first of `GRAPH_DTYPES`. */
  readonly dtype?: GraphDtype | undefined
}

/** The number of positions if neither files nor tables state it. */
const USUAL_CONTEXT = 4096

/**
 * Throws `format` for damaged files, `unsupported` for a graph that is not a decoder's step, naming the node.
 */
export async function openOnnx(
  sources: readonly ByteSource[],
  { newGraph, signal, beside, bfloats, dtype }: OnnxOptions,
): Promise<ModelFile & { readonly graph: StepGraph }> {
  const chosen = chooseGraph(
    sources.map(({ name }) => name),
    dtype,
  )
  const source = sources.find(({ name }) => name === chosen) as ByteSource
  const files = new Map(sources.map((each) => [baseName(each.name), each]))
  const find: FindFile = async (path) => files.get(path) ?? (await beside?.(path))
  const model = await readModel(source, { find, signal })
  return openGraph(model, { source, find, newGraph, signal, bfloats })
}

/** Where a graph comes from. */
interface GraphOrigin extends Omit<OnnxOptions, 'beside' | 'dtype'> {
  readonly source: ByteSource
  /** The files next to it: configurations, tokenizer, chat template. */
  readonly find: FindFile
}

/** Like `openOnnx`, for a graph that has been read. */
export async function openGraph(
  model: OnnxModel,
  { source, find, newGraph, signal, bfloats = false }: GraphOrigin,
): ReturnType<typeof openOnnx> {
  const budget = graphBudget(signal)
  const { graph, reports } = runPasses(withMaskAxis(withCache(model.graph)), PASSES, { budget })
  await budget.turn()
  const stored = bfloats ? await withBfloats(graph, signal) : graph
  const json: ReadNamed = async (name) => {
    const file = await find(own(name))
    return file && readJson(file, signal)
  }
  const genai = await json('genai_config.json')
  const config = await json('config.json')
  const generation = await json('generation_config.json')
  const positions = statedContext(genai, config)
  const translator = new Translator(source.name, stored, HANDLERS, newGraph(), { budget, signal, positions })
  const translation = await translator.run().catch((error: unknown) => {
    throw withNetwork(error)
  })
  const { proven } = translation.findings
  const name = modelName(source.name)
  const made = configOf(name, translation, positions)
  return {
    format: 'onnx',
    name,
    graph: translation.graph,
    history: historyOf(model, reports, translation),
    mostPositions: proven?.positions,
    tensors: translation.weights.tensors,
    metadata: new Map<string, MetaValue>([['config', made as unknown as MetaObject]]),
    tokenizer: await tokenizerOf(find, json, signal),
    generationConfig: generationOf(genai, config, generation),
  }
}

/** Returns the error. If it rejects a node, the message also suggests the entry that compiles any graph. */
function withNetwork(error: unknown): unknown {
  if (!isHalfbyteError(error) || error.detail['reason'] === undefined) return error
  const { code, message, detail } = error
  const way = `${message}, or run the graph with Network.load of halfbyte/network`
  return new HalfbyteError(code, way, detail, { cause: error })
}

const isName = (size: Dim | undefined): size is string => typeof size === 'string' && /^\w+$/.test(size)

/**
 * A run passes masks [batch, positions] that cover all positions of the text, and states of one length.
 * Exporters name these axes freely. Here the masks' axis becomes the sum that the concatenated keys have,
 * and all states get the same axis, so that shapes computed from any of them are equal.
 */
function withMaskAxis(graph: Graph): Graph {
  const axisOf = (isMeant: (input: Input) => boolean, axis: number) =>
    graph.inputs.find(isMeant)?.type?.dims?.at(axis)
  const tokens = axisOf(({ name }) => /ids?$/.test(name) && !/position|type/.test(name), 1)
  const isState = ({ type }: Input) => (type?.dims?.length ?? 0) >= 4 && isFloat(type?.dtype ?? 'i64')
  const past = axisOf(isState, -2)
  if (tokens === undefined) return graph
  const total = past === undefined ? tokens : addDims(past, tokens)
  const inputs = graph.inputs.map((input) => {
    const { name, type } = input
    const [batch, positions] = type?.dims ?? []
    const isFree = isName(positions) && positions !== past
    if (type?.dims !== undefined && isState(input) && isName(past) && isName(type.dims.at(-2)))
      return { ...input, type: { ...type, dims: type.dims.with(-2, past) } }
    if (type?.dims?.length !== 2 || !/mask/.test(name) || batch === undefined || !isFree) return input
    return { ...input, type: { ...type, dims: [batch, total] } }
  })
  return { ...graph, inputs }
}

/** The original graph, the effect of each pass, and the result. */
function historyOf(
  { graph, opsets, producer }: OnnxModel,
  reports: readonly PassReport[],
  { graph: step, findings: { proven } }: Translation,
): string[] {
  const sets = [...opsets].map(([domain, version]) => `${domain || 'onnx'} ${version}`).join(', ')
  const counts = groupBy(graph.nodes, ({ op }) => op)
  const ops = [...counts].map(([op, { length }]) => `${op} ${length}`).sort()
  return [
    `ONNX graph: ${graph.nodes.length} nodes, ${graph.constants.size} constants, opsets ${sets}, by ${producer}`,
    `  ${ops.join(', ')}`,
    ...reports.map(({ pass, nodesBefore, nodesAfter }) => `${pass}: ${nodesBefore} -> ${nodesAfter} nodes`),
    `raised: ${step.nodes.length} nodes of the plan's graph`,
    ...(proven === undefined ? [] : [`read up to ${proven.positions} positions: ${proven.why}`]),
  ]
}

/** Reads a JSON file with a standard name in the model's folder. */
type ReadNamed = (name: string) => Promise<JsonObject | undefined>

const own = (name: string): InnerPath => pathInside(name, 'an ONNX model')

async function tokenizerOf(
  find: FindFile,
  json: ReadNamed,
  signal?: AbortSignal,
): Promise<ModelFile['tokenizer']> {
  const tokenizer = await json('tokenizer.json')
  if (tokenizer === undefined) return undefined
  const config = await json('tokenizer_config.json')
  const template = await find(own('chat_template.jinja'))
  const chat_template = template && (await readText(template, signal))
  return {
    kind: 'json',
    tokenizer,
    config: chat_template === undefined ? config : { ...config, chat_template },
  }
}

/** genai_config.json has the ids that end a reply under `model`, and sampling under `search`. */
function generationOf(
  genai: JsonObject | undefined,
  config: JsonObject | undefined,
  generation: JsonObject | undefined,
): MetaObject | undefined {
  if (generation !== undefined || genai === undefined) return generationSettings(config, generation)
  const model = genai['model']
  const search = genai['search']
  const { eos_token_id } = isObject(model) ? model : {}
  const { temperature, top_k, top_p, repetition_penalty } = isObject(search) ? search : {}
  return withoutNulls({ eos_token_id, temperature, top_k, top_p, repetition_penalty })
}

/** The number of positions for which the model was trained, according to the files next to the graph. */
function statedContext(genai: JsonObject | undefined, config: JsonObject | undefined): number | undefined {
  return [
    isObject(genai?.['model']) ? genai['model']['context_length'] : undefined,
    config?.['max_position_embeddings'],
    config?.['n_positions'],
  ].find((each): each is number => isCount(each) && each > 0)
}

/** The configuration of the model, from the graph and the files next to it. */
function configOf(
  name: string,
  { graph, findings, weights }: Translation,
  stated: number | undefined,
): Omit<ModelConfig, 'ssm'> & { readonly ssm?: MetaObject | undefined } {
  const embedding = weights.tensors.get('embed.weight')
  const [, hiddenSize = 0] = embedding?.shape ?? []
  const { heads, kvHeads, headDim, layers, normEpsilon, intermediateSize } = findings
  const { ropes, tablePositions, proven } = findings
  const rope = ropes.all ?? ropes.local
  const local = localRope(findings)
  const contextLength = Math.min(
    tablePositions ?? Infinity,
    proven?.positions ?? Infinity,
    stated ?? Math.min(tablePositions ?? USUAL_CONTEXT, PROVEN_POSITIONS),
  )
  const ssm = ssmOf(name, graph, heads)
  const mixed = ssm === undefined ? mixedLayers(graph) : undefined
  return {
    family: ssm !== undefined ? 'mamba' : mixed !== undefined ? 'lfm2' : familyOf(findings),
    name,
    ...(ssm && { ssm }),
    ...mixed,
    hiddenSize,
    layers,
    heads,
    kvHeads,
    headDim,
    intermediateSize: ssm === undefined ? Math.max(1, intermediateSize) : intermediateSize,
    vocabSize: graph.output.shape[1],
    normEpsilon,
    contextLength,
    rope: rotation(rope?.theta ?? 10_000, rope?.dims ?? headDim, rope?.scaling),
    localRope: local && rotation(local.theta, local.dims, local.scaling),
    tiedEmbeddings: !weights.tensors.has('output.weight'),
  }
}

const rotation = (theta: number, dims: number, scaling?: RopeScaling): RopeConfig => ({
  theta,
  dims,
  pairing: 'halves',
  ...(scaling && { scaling }),
})

/** The sizes of recurrent layers, as packs store them; undefined if there are none. */
function ssmOf(name: string, { nodes }: StepGraph, heads: number): MetaObject | undefined {
  const scan = nodes.find(({ op }) => op === 'scan')
  const conv = nodes.find(({ op }) => op === 'conv1d')
  if (scan?.op !== 'scan' || conv?.op !== 'conv1d') return undefined
  if (heads > 0)
    throw new HalfbyteError(
      'unsupported',
      `${name} has recurrent layers and attention with ${heads} heads; choose a model that has only one of the two`,
      { heads },
    )
  const steps = nodes.find(({ output }) => output === scan.dt)
  return {
    innerSize: scan.x.shape[1],
    stateSize: scan.decay.k,
    convKernel: conv.weight.k,
    timeStepRank: steps?.op === 'linear' ? steps.weight.k : 1,
    heads: 0,
    groups: 0,
    convBias: conv.bias !== undefined,
  }
}

/**
 * For models in which some layers convolve tokens and others attend: the type of each layer. Undefined if no
 * layer convolves.
 */
function mixedLayers({ nodes }: StepGraph): Pick<ModelConfig, 'convTaps' | 'attentionLayers'> | undefined {
  const conv = nodes.find(({ op }) => op === 'conv1d')
  if (conv?.op !== 'conv1d') return undefined
  const attentionLayers = nodes.flatMap((node) => (node.op === 'attention' ? [node.attention.layer] : []))
  return { convTaps: conv.weight.k, attentionLayers }
}

/** The simplest family with the same types of norms and positions. */
function familyOf({ norms, hasPositions }: Findings): Family {
  if (hasPositions) return 'gpt2'
  return norms.has('layer') ? 'gpt_neox' : 'llama'
}
