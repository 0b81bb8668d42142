// Reads RoPE's settings from a config.json, for all layers or for those with a window.
import type { ModelConfig, RopeConfig, RopeScaling } from './config.ts'
import { Fields, unbuiltVariant } from './fields.ts'

/**
 * Since version 5, transformers keeps all settings of RoPE in one object, or in one object per kind of layer.
 */
export function fullRope(fields: Fields): Fields | undefined {
  const rope = fields.record('rope_scaling') ?? fields.record('rope_parameters')
  return rope?.record('full_attention') ?? rope
}

/** What RoPE depends on besides its own settings. `isPartial`: the class can rotate part of each head. */
type RopeSizes = Pick<ModelConfig, 'headDim' | 'contextLength'> & { readonly isPartial?: boolean }

/**
 * RoPE according to the object `stated` and, for absent keys, the keys next to it. `theta`: the default if
 * neither has it. As in transformers, a class that cannot rotate part of a head ignores the share of rotated
 * numbers, unless its positions are scaled.
 */
export function hfRope(
  fields: Fields,
  stated: Fields | undefined,
  { headDim, contextLength, isPartial = false }: RopeSizes,
  theta = fields.number('rope_theta', 10_000),
): RopeConfig {
  const rope = stated ?? Fields.of(fields.file, {})
  const share = rope.number('partial_rotary_factor', fields.number('partial_rotary_factor', 1))
  const own = { theta: rope.number('rope_theta', theta), pairing: 'halves' } as const
  if (rope.text('rope_type', 'default') !== 'proportional') {
    const scaling = ropeScaling(rope, fields, contextLength)
    const dims = isPartial || scaling !== undefined ? Math.trunc(headDim * share) : headDim
    return { ...own, dims, scaling }
  }
  // Frequencies are spaced over all dimensions, but only the first pairs rotate.
  const pairs = Math.min(headDim, 1 << 12) / 2
  const factor = rope.number('factor', 1)
  const turned = Math.floor(Math.trunc(share * headDim) / 2)
  const factors = Array.from({ length: pairs }, (_, pair) => (pair < turned ? factor : UNTURNED))
  return { ...own, dims: headDim, scaling: { type: 'factors', factors } }
}

/** The divisor that llama.cpp's converter writes for the frequencies of pairs that do not rotate. */
const UNTURNED = 1e30

/**
 * The rotation of layers without a window. Unless the file says otherwise, it is proportional, with this
 * share of rotating pairs.
 */
export function proportionalRope(fields: Fields, sizes: RopeSizes, share: number): RopeConfig {
  const usual = { rope_type: 'proportional', partial_rotary_factor: share }
  const stated = fields.record('rope_parameters')?.record('full_attention')
  return hfRope(fields, stated ?? Fields.of(fields.file, usual), sizes, 1e6)
}

/** The rotation of layers with a window: not scaled, unless the file says so. */
export const localRope = (fields: Fields, common: ModelConfig, theta: number): RopeConfig =>
  hfRope(fields, fields.record('rope_parameters')?.record('sliding_attention'), common, theta)

function ropeScaling(rope: Fields, fields: Fields, contextLength: number): RopeScaling | undefined {
  const stated = rope.text('rope_type', rope.text('type', 'default'))
  // The name in early Phi-3 files.
  const type = stated === 'su' || (stated === 'yarn' && rope.has('long_factor')) ? 'longrope' : stated
  // Qwen2-VL's name for RoPE with sections; its family reads these.
  if (type === 'default' || type === 'mrope') return undefined
  const key = 'original_max_position_embeddings'
  const originalContextLength = fields.number(key, rope.number(key, contextLength))
  switch (type) {
    case 'linear':
      return { type, factor: rope.number('factor') }
    case 'dynamic':
      return { type, factor: rope.number('factor'), originalContextLength: contextLength }
    case 'yarn': {
      const factor = rope.number('factor', contextLength / originalContextLength)
      const magnitude = (scale: number) => (factor <= 1 ? 1 : 1 + 0.1 * scale * Math.log(factor))
      const scale = rope.number('mscale', 0)
      const others = rope.number('mscale_all_dim', 0)
      const made = scale !== 0 && others !== 0 ? magnitude(scale) / magnitude(others) : magnitude(1)
      return {
        type,
        factor,
        originalContextLength,
        fast: rope.number('beta_fast', 32),
        slow: rope.number('beta_slow', 1),
        magnitude: rope.number('attention_factor', made),
        ...(!rope.fact('truncate', true) && { isUnrounded: true }),
      }
    }
    case 'longrope': {
      const growth = rope.number('factor', contextLength / originalContextLength)
      const magnitude = growth <= 1 ? 1 : Math.sqrt(1 + Math.log(growth) / Math.log(originalContextLength))
      return {
        type,
        shortFactors: rope.numberList('short_factor'),
        longFactors: rope.numberList('long_factor'),
        originalContextLength,
        magnitude: rope.number('attention_factor', magnitude),
      }
    }
    case 'llama3':
      return {
        type,
        factor: rope.number('factor'),
        lowFrequencyFactor: rope.number('low_freq_factor'),
        highFrequencyFactor: rope.number('high_freq_factor'),
        originalContextLength,
      }
    default:
      throw unbuiltVariant(
        fields.file,
        `RoPE scaling "${type}"`,
        'linear, dynamic, llama3, yarn or longrope scaling, or none',
      )
  }
}
