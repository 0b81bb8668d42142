// Pack configuration. In: the ModelConfig that a .hbm header holds, as JSON. Out: the same record, not yet validated.
import {
  type ExpertsConfig,
  FAMILIES,
  type ModelConfig,
  type RopeConfig,
  type RopeScaling,
} from './config.ts'
import type { Fields } from './fields.ts'
import { hbmMultipliers, hbmSsm } from './recurrent-config.ts'
import { unbuiltVariant, unknownArchitecture } from './refuse.ts'

/** Throws `architecture` for another family and fields of the wrong type, `unsupported` for another kind of RoPE. */
export function hbmConfig(name: string, fields: Fields): ModelConfig {
  const named = fields.text('family')
  const family = FAMILIES.find((known) => known === named)
  if (family === undefined) throw unknownArchitecture(fields.file, named)
  const optional = (key: string) => (fields.has(key) ? fields.number(key) : undefined)
  const sliding = fields.record('window')
  const localRope = fields.record('localRope')
  return {
    family,
    name: fields.text('name', name),
    hiddenSize: fields.number('hiddenSize'),
    layers: fields.number('layers'),
    heads: fields.number('heads'),
    kvHeads: fields.number('kvHeads'),
    headDim: fields.number('headDim'),
    intermediateSize: fields.number('intermediateSize'),
    vocabSize: fields.number('vocabSize'),
    normEpsilon: fields.number('normEpsilon'),
    rope: ropeConfig(fields.record('rope') ?? fields),
    contextLength: fields.number('contextLength'),
    ssm: hbmSsm(fields.record('ssm')),
    multipliers: hbmMultipliers(fields.record('multipliers')),
    ...(fields.has('attentionLayers') && { attentionLayers: fields.list('attentionLayers').map(Number) }),
    tiedEmbeddings: fields.fact('tiedEmbeddings'),
    window: sliding && { positions: sliding.number('positions'), layers: sliding.list('layers').map(Number) },
    localRope: localRope && ropeConfig(localRope),
    unrotatedLayers: fields.has('unrotatedLayers') ? fields.list('unrotatedLayers').map(Number) : undefined,
    experts: expertsConfig(fields.record('experts')),
    convTaps: optional('convTaps'),
    parallelResidual: fields.has('parallelResidual') ? fields.fact('parallelResidual') : undefined,
    embeddingScale: optional('embeddingScale'),
    residualScale: optional('residualScale'),
    logitScale: optional('logitScale'),
    attentionScale: optional('attentionScale'),
    attentionCap: optional('attentionCap'),
    logitCap: optional('logitCap'),
  }
}

function expertsConfig(fields: Fields | undefined): ExpertsConfig | undefined {
  return (
    fields && {
      count: fields.number('count'),
      used: fields.number('used'),
      normalize: fields.fact('normalize'),
    }
  )
}

function ropeConfig(fields: Fields): RopeConfig {
  const pairing = fields.text('pairing')
  if (pairing !== 'halves' && pairing !== 'interleaved') {
    throw unbuiltVariant(fields.file, `RoPE pairs by "${pairing}"`, 'halves or interleaved ones')
  }
  return {
    theta: fields.number('theta'),
    dims: fields.number('dims'),
    pairing,
    scaling: ropeScaling(fields.record('scaling')),
  }
}

function ropeScaling(fields: Fields | undefined): RopeScaling | undefined {
  if (fields === undefined) return undefined
  const type = fields.text('type')
  switch (type) {
    case 'linear':
      return { type, factor: fields.number('factor') }
    case 'llama3':
      return {
        type,
        factor: fields.number('factor'),
        lowFrequencyFactor: fields.number('lowFrequencyFactor'),
        highFrequencyFactor: fields.number('highFrequencyFactor'),
        originalContextLength: fields.number('originalContextLength'),
      }
    case 'factors':
      return { type, factors: fields.list('factors').map(Number) }
    case 'yarn':
      return {
        type,
        factor: fields.number('factor'),
        originalContextLength: fields.number('originalContextLength'),
        fast: fields.number('fast'),
        slow: fields.number('slow'),
        magnitude: fields.number('magnitude'),
      }
    case 'longrope':
      return {
        type,
        shortFactors: fields.list('shortFactors').map(Number),
        longFactors: fields.list('longFactors').map(Number),
        originalContextLength: fields.number('originalContextLength'),
        magnitude: fields.number('magnitude'),
      }
    default:
      throw unbuiltVariant(fields.file, `RoPE scaling "${type}"`, 'linear, llama3, yarn, factors or longrope')
  }
}
