// Pack configuration. In: the ModelConfig that a .hbm header holds, as JSON. Out: the same record, not yet validated.
import { FAMILIES, type ModelConfig, type RopeScaling } from './config.ts'
import type { Fields } from './fields.ts'
import { hbmMultipliers, hbmSsm } from './recurrent-config.ts'
import { unbuiltVariant, unknownArchitecture } from './refuse.ts'

/** Throws `architecture` for another family and fields of the wrong type, `unsupported` for another kind of RoPE. */
export function hbmConfig(name: string, fields: Fields): ModelConfig {
  const named = fields.text('family')
  const family = FAMILIES.find((known) => known === named)
  if (family === undefined) throw unknownArchitecture(fields.file, named)
  const rope = fields.record('rope') ?? fields
  const pairing = rope.text('pairing')
  if (pairing !== 'halves' && pairing !== 'interleaved') {
    throw unbuiltVariant(fields.file, `RoPE pairs by "${pairing}"`, 'halves or interleaved ones')
  }
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
    rope: {
      theta: rope.number('theta'),
      dims: rope.number('dims'),
      pairing,
      scaling: ropeScaling(rope.record('scaling')),
    },
    contextLength: fields.number('contextLength'),
    ssm: hbmSsm(fields.record('ssm')),
    multipliers: hbmMultipliers(fields.record('multipliers')),
    ...(fields.has('attentionLayers') && { attentionLayers: fields.list('attentionLayers').map(Number) }),
    tiedEmbeddings: fields.fact('tiedEmbeddings'),
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
    default:
      throw unbuiltVariant(fields.file, `RoPE scaling "${type}"`, 'linear, llama3 or factors')
  }
}
