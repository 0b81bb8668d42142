// Turns a model with its own graph into one of the family whose graph does the same computation, so that it
// can be packed and compressed.

import type { ModelConfig, WindowConfig } from '../../../core/arch/config/config.ts'
import { storedConfig } from '../../../core/arch/config/config-hbm.ts'
import { validConfig } from '../../../core/arch/config/validate.ts'
import { buildGraph, FAMILIES, familyFile, loadRareFamilies } from '../../../core/arch/families.ts'
import { readConfig } from '../../../core/arch/read-config.ts'
import { pieceOf } from '../../../core/arch/tensors/pieces.ts'
import { HalfbyteError, isHalfbyteError } from '../../../core/base/errors.ts'
import type { ModelFile } from '../../../core/formats/readers.ts'
import type { MetaValue, TensorIndex, TensorInfo } from '../../../core/formats/tensors.ts'
import type { Graph, NodeOf } from '../../../core/graph/nodes.ts'
import { type Rows, sameGraph } from './same-graph.ts'

/**
 * Returns the model without its graph, or a model without a graph unchanged. Throws `unsupported` for a graph
 * that no family builds; the error names the difference from the closest one.
 */
export async function asFamily(file: ModelFile, signal?: AbortSignal): Promise<ModelFile> {
  const { name, graph } = file
  if (graph === undefined) return file
  await loadRareFamilies(file)
  const stated = await readConfig(file, { signal })
  let nearest = { matched: -1, family: '', difference: '' }
  for (const config of candidates(name, stated, graph)) {
    const { places, difference = '', matched } = sameGraph(buildGraph(config), graph)
    if (places !== undefined) return inFamily(file, config, places)
    if (matched > nearest.matched) nearest = { matched, family: config.family, difference }
  }
  throw new HalfbyteError(
    'unsupported',
    `${name} is a graph that no model family builds; the closest is ${nearest.family}, where ${nearest.difference}; ` +
      'load it as it is, without adapters, or convert the model from GGUF or safetensors',
    { file: name, nearest: nearest.family },
  )
}

/** A configuration for every family, from the file's sizes and its graph. */
function* candidates(file: string, stated: ModelConfig, graph: Graph): Generator<ModelConfig> {
  const [activation, ...others] = new Set(nodesOf(graph, 'swiglu').map((node) => node.activation))
  for (const family of FAMILIES) {
    const own = familyFile(family).traits?.activation
    const isOther = others.length === 0 && activation !== own
    for (const parallelResidual of [undefined, true]) {
      const config = {
        ...stated,
        ...attentionOf(stated, graph),
        ...factorsOf(graph),
        family,
        parallelResidual,
        activation: isOther ? activation : undefined,
      }
      if (isPossible(file, config)) yield config
    }
  }
}

/** The attention part of a configuration, apart from sizes. */
function attentionOf({ rope, headDim }: ModelConfig, graph: Graph): Partial<ModelConfig> {
  const rotations = nodesOf(graph, 'ropeKv')
  const attentions = nodesOf(graph, 'attention')
  const rotated = rotations.find((node) => node.rope.dims > 0)
  const [{ scale, cap } = { scale: 0, cap: 0 }] = attentions
  const isUsual = Math.fround(scale) === Math.fround(1 / Math.sqrt(headDim))
  const still = rotations.filter((node) => node.rope.dims === 0).map((node) => node.attention.layer)
  return {
    rope: { ...rope, pairing: rotated?.rope.pairing ?? rope.pairing },
    attentionScale: attentions.length === 0 || isUsual ? undefined : scale,
    attentionCap: cap > 0 ? cap : undefined,
    window: windowOf(rotations),
    unrotatedLayers: rotated === undefined || still.length === 0 ? undefined : still,
  }
}

/** The factors of embeddings, residuals and logits; factors of 1 are omitted. */
function factorsOf(graph: Graph): Partial<ModelConfig> {
  const unlessOne = (scale = 1) => (scale === 1 ? undefined : scale)
  const last = nodesOf(graph, 'rescale').find(({ output }) => output === graph.output)
  return {
    embeddingScale: unlessOne(nodesOf(graph, 'embed').find(({ by }) => by === 'id')?.scale),
    residualScale: unlessOne(nodesOf(graph, 'add').find(({ scale }) => scale !== 1)?.scale),
    logitScale: unlessOne(last?.scale),
    logitCap: last !== undefined && last.cap > 0 ? last.cap : undefined,
  }
}

function windowOf(rotations: readonly NodeOf<'ropeKv'>[]): WindowConfig | undefined {
  const local = rotations.filter(({ attention }) => attention.window > 0)
  const [first] = local
  return first && { positions: first.attention.window, layers: local.map(({ attention }) => attention.layer) }
}

function isPossible(file: string, config: ModelConfig): boolean {
  try {
    validConfig(file, config)
    return true
  } catch (error) {
    if (isHalfbyteError(error)) return false
    throw error
  }
}

function inFamily(file: ModelFile, config: ModelConfig, places: ReadonlyMap<string, Rows>): ModelFile {
  const tensors = new Map(
    [...places].map(([name, place]) => [name, { ...rowsOfTensor(file.tensors, place), name }]),
  )
  const metadata = new Map([['config', storedConfig(config) as MetaValue]])
  return { ...file, graph: undefined, tensors, metadata }
}

function rowsOfTensor(tensors: TensorIndex, { name, first, n }: Rows): TensorInfo {
  const tensor = tensors.get(name)
  if (tensor === undefined) throw new HalfbyteError('internal', `the graph has no tensor ${name}`)
  if (tensor.shape[0] === n) return tensor
  const place = { tensor: name, runs: [[first, n]] as const }
  return pieceOf({ ...tensor, sorted: undefined }, place, [n, ...tensor.shape.slice(1)])
}

const nodesOf = <Op extends Graph['nodes'][number]['op']>({ nodes }: Graph, op: Op): NodeOf<Op>[] =>
  nodes.filter((node): node is NodeOf<Op> => node.op === op)
