// Reads a ModelConfig from the JSON of a .hbm header, without validating it, and writes one.

import { ACTIVATION, SCORING } from '../../abi/constants.ts'
import type { Activation, Xielu } from '../../graph/ir.ts'
import type {
  Biases,
  ExpertsConfig,
  ModelConfig,
  RopeConfig,
  RopeScaling,
  SharedBlocks,
  SsmConfig,
  StreamsConfig,
  WkvConfig,
} from './config.ts'
import { type Fields, unbuiltVariant } from './fields.ts'
import { stepLimit } from './recurrent-config.ts'

/** Throws `architecture` for fields of the wrong type, `unsupported` for another kind of RoPE. */
export function hbmConfig(name: string, fields: Fields, family = fields.text('family')): ModelConfig {
  const layers = (key: string) => (fields.has(key) ? fields.numberList(key) : undefined)
  const fact = (key: string) => (fields.has(key) ? fields.fact(key) : undefined)
  const ssm = fields.record('ssm')
  const experts = fields.record('experts')
  const latent = fields.record('latent')
  const sliding = fields.record('window')
  const localRope = fields.record('localRope')
  return {
    family,
    name: fields.text('name', name),
    ...fields.numbers('hiddenSize', 'layers', 'heads', 'kvHeads', 'headDim', 'intermediateSize'),
    ...fields.numbers('vocabSize', 'normEpsilon', 'contextLength'),
    ...fields.someNumbers('halvedEvery', 'convTaps', 'embeddingScale', 'residualScale', 'logitScale'),
    ...fields.someNumbers('attentionScale', 'attentionCap', 'logitCap', 'alibi'),
    tiedEmbeddings: fields.fact('tiedEmbeddings'),
    xielu: fields.has('xielu') ? xieluOf(fields) : undefined,
    parallelResidual: fact('parallelResidual'),
    sharedNorm: fact('sharedNorm'),
    biases: biasesOf(fields.record('biases')),
    headNorms: fact('headNorms'),
    ...fields.someNumbers('qkvLimit'),
    queryScale: fields.record('queryScale')?.numbers('beta', 'length'),
    dividedByLayer: fact('dividedByLayer'),
    activation: activation(fields),
    attentionLayers: layers('attentionLayers'),
    recurrentLayers: layers('recurrentLayers'),
    mlpLayers: layers('mlpLayers'),
    unrotatedLayers: layers('unrotatedLayers'),
    fullHeads: fields.record('fullHeads')?.numbers('kvHeads', 'headDim'),
    valuesAreKeys: fact('valuesAreKeys'),
    ...fields.someNumbers('sharedKvLayers'),
    mlpSizes: layers('mlpSizes'),
    gateCutoffs: fields.has('gateCutoffs')
      ? fields.records('gateCutoffs').map((each) => each.numbers('layer', 'deviations'))
      : undefined,
    layerEmbedding: fields.record('layerEmbedding')?.numbers('size', 'rows'),
    sharedBlocks: blocksOf(fields.record('sharedBlocks')),
    streams: streamsOf(fields.record('streams')),
    layerScales: layers('layerScales'),
    subtracted: layers('subtracted'),
    rope: ropeConfig(fields.record('rope') ?? fields),
    localRope: localRope && ropeConfig(localRope),
    window: sliding && { ...sliding.numbers('positions'), layers: sliding.numberList('layers') },
    experts: experts && expertsConfig(experts),
    latent: latent && {
      ...latent.numbers('rank', 'plainDim', 'valueDim', 'normEpsilon'),
      ...latent.someNumbers('queryRank'),
    },
    multipliers: fields.record('multipliers')?.numbers('embedding', 'residual', 'attention', 'logits'),
    ssm: ssm && ssmConfig(ssm),
  }
}

/**
 * The record in the form that packs store: Mamba packs have `heads` 0 and `groups` 0, Mamba-2 packs
 * `timeStepRank` 0. Keeps the order of the fields, on which packs' bytes and models' fingerprints depend.
 */
export function storedConfig(config: ModelConfig): object {
  const { ssm } = config
  if (ssm?.kind !== 'mamba' && ssm?.kind !== 'mamba2') return config
  const fields = Object.entries(ssm).flatMap((field) => {
    const [key] = field
    if (key === 'kind') return []
    if (key === 'timeStepRank') return [field, ['heads', 0], ['groups', 0]]
    return key === 'heads' ? [['timeStepRank', 0], field] : [field]
  })
  return { ...config, ssm: Object.fromEntries(fields) }
}

const blocksOf = (fields: Fields | undefined): SharedBlocks | undefined =>
  fields && {
    ...fields.numbers('count', 'rank'),
    layers: fields.numberList('layers'),
    adaptsAttention: fields.fact('adaptsAttention'),
  }

const streamsOf = (fields: Fields | undefined): StreamsConfig | undefined =>
  fields && { ...fields.numbers('count', 'active', 'besideRank'), isScaled: fields.fact('isScaled') }

const PARTS = ['qkv', 'output', 'mlp', 'logits'] as const

function biasesOf(fields: Fields | undefined): Biases | undefined {
  if (fields === undefined) return undefined
  const parts = PARTS.filter((part) => fields.has(part))
  return Object.fromEntries(parts.map((part) => [part, fields.fact(part)]))
}

const xieluOf = (fields: Fields): Xielu[] =>
  fields.records('xielu').map((layer) => layer.numbers('above', 'below', 'slope', 'epsilon'))

function ssmConfig(fields: Fields): SsmConfig {
  const sizes = fields.numbers('innerSize', 'stateSize', 'convKernel')
  const convBias = fields.fact('convBias')
  if (fields.has('kind')) return laterKind(fields, { ...sizes, convBias })
  const { timeStepRank, ...shared } = fields.numbers('timeStepRank', 'heads', 'groups')
  if (shared.heads === 0) {
    const given = fields.record('norms')
    const norms = given && { ...given.numbers('epsilon'), haveWeights: given.fact('haveWeights') }
    return { kind: 'mamba', ...sizes, timeStepRank, convBias, norms }
  }
  const timeStepLimit = stepLimit(fields, 'timeStepLimit')
  const gateNorm = fields.has('gateNorm') ? fields.fact('gateNorm') : undefined
  return { kind: 'mamba2', ...sizes, ...shared, convBias, timeStepLimit, gateNorm }
}

/** The kinds of recurrent layers that packs may contain. */
function laterKind(fields: Fields, common: Omit<WkvConfig, 'kind'>): SsmConfig {
  const kind = fields.text('kind')
  switch (kind) {
    case 'delta': {
      const order = fields.text('order')
      if (order !== 'grouped' && order !== 'tiled') {
        throw unbuiltVariant(fields.file, `heads in "${order}" order`, 'grouped or tiled heads')
      }
      return { kind, ...common, ...fields.numbers('heads', 'groups', 'betaScale', 'epsilon'), order }
    }
    case 'lru':
      return { kind, ...common, ...fields.numbers('heads') }
    case 'wkv':
      return { kind, ...common }
    default:
      throw unbuiltVariant(fields.file, `recurrent layers of the kind "${kind}"`, 'delta, lru or wkv')
  }
}

function activation(fields: Fields): Activation | undefined {
  if (!fields.has('activation')) return undefined
  const named = fields.text('activation')
  if (Object.hasOwn(ACTIVATION, named)) return named as Activation
  throw unbuiltVariant(fields.file, `the activation "${named}"`, Object.keys(ACTIVATION).join(' or '))
}

function ropeConfig(fields: Fields): RopeConfig {
  const pairing = fields.text('pairing')
  if (pairing !== 'halves' && pairing !== 'interleaved') {
    throw unbuiltVariant(fields.file, `RoPE pairing "${pairing}"`, 'halves or interleaved pairs')
  }
  return {
    ...fields.numbers('theta', 'dims'),
    pairing,
    scaling: ropeScaling(fields.record('scaling')),
    ...(fields.has('sections') && { sections: fields.numberList('sections') }),
  }
}

function expertsConfig(fields: Fields): ExpertsConfig {
  const shared = fields.record('shared')
  const groups = fields.record('groups')
  const scoring = fields.text('scoring', 'softmax')
  if (!Object.hasOwn(SCORING, scoring)) {
    throw unbuiltVariant(fields.file, `the router scoring "${scoring}"`, Object.keys(SCORING).join(' or '))
  }
  return {
    ...fields.numbers('count', 'used'),
    normalize: fields.fact('normalize'),
    ...fields.someNumbers('size', 'scale', 'epsilon', 'limit'),
    ...(scoring !== 'softmax' && { scoring: scoring as keyof typeof SCORING }),
    ...(fields.fact('isBiased', false) && { isBiased: true }),
    ...(groups && { groups: groups.numbers('count', 'used', 'best') }),
    ...(shared && { shared: { ...shared.numbers('size'), isGated: shared.fact('isGated') } }),
    ...(fields.has('denseLayers') && { denseLayers: fields.numberList('denseLayers') }),
  }
}

function magnitudeOf(fields: Fields): { readonly magnitude?: number } {
  const magnitude = fields.number('magnitude', 1)
  return magnitude === 1 ? {} : { magnitude }
}

function ropeScaling(fields: Fields | undefined): RopeScaling | undefined {
  if (fields === undefined) return undefined
  const type = fields.text('type')
  const factors = (key: string) => fields.numberList(key)
  switch (type) {
    case 'linear':
      return { type, ...fields.numbers('factor') }
    case 'llama3':
      return {
        type,
        ...fields.numbers('factor', 'lowFrequencyFactor', 'highFrequencyFactor', 'originalContextLength'),
      }
    case 'factors':
      return { type, factors: factors('factors'), ...magnitudeOf(fields) }
    case 'yarn':
      return {
        type,
        ...fields.numbers('factor', 'originalContextLength', 'fast', 'slow', 'magnitude'),
        ...(fields.fact('isUnrounded', false) && { isUnrounded: true }),
      }
    case 'dynamic':
      return { type, ...fields.numbers('factor', 'originalContextLength') }
    case 'longrope':
      return {
        type,
        shortFactors: factors('shortFactors'),
        longFactors: factors('longFactors'),
        ...fields.numbers('originalContextLength', 'magnitude'),
      }
    default:
      throw unbuiltVariant(
        fields.file,
        `RoPE scaling "${type}"`,
        'linear, dynamic, llama3, yarn, factors or longrope',
      )
  }
}
