// Hugging Face configuration. In: config.json. Out: the hyperparameters it states, not yet validated.
import type { ModelConfig, RopeScaling, WindowConfig } from './config.ts'
import { isMambaSsm, mambaSsmConfig } from './config-mamba-ssm.ts'
import { familyFile, findFamily } from './families.ts'
import type { FamilyFile } from './family.ts'
import type { Fields } from './fields.ts'
import { hfRecurrent } from './recurrent-config.ts'
import { unbuiltVariant, unknownArchitecture } from './refuse.ts'
import { layersOf, windowOf } from './sliding.ts'

/** Throws `architecture` for another family and keys of the wrong type, `unsupported` for variants that are not built. */
export function hfConfig(name: string, stated: Fields): ModelConfig {
  if (isMambaSsm(stated)) return mambaSsmConfig(name, stated)
  const [listed = stated.text('model_type')] = stated.textList('architectures')
  const family = findFamily(({ hf }) => hf.classes.includes(listed))
  if (family === undefined) throw unknownArchitecture(stated.file, listed)
  const file = familyFile(family)
  const fields = stated.renamed(file.hf.keys ?? {})
  refuseVariants(fields, file)
  const hiddenSize = fields.number('hidden_size')
  const layers = fields.number('num_hidden_layers')
  const sizes = {
    ...{ family, name, hiddenSize, layers, vocabSize: fields.number('vocab_size') },
    tiedEmbeddings: fields.fact('tie_word_embeddings', file.hf.tied ?? false),
  }
  if (file.traits === undefined) return { ...sizes, ...hfRecurrent(fields, family) }
  const contextLength = fields.number('max_position_embeddings')
  const heads = fields.number('num_attention_heads')
  const headDim = fields.number('head_dim', hiddenSize / heads)
  const rope = ropeFields(fields)
  const common: ModelConfig = {
    ...sizes,
    heads,
    kvHeads: fields.number('num_key_value_heads', heads),
    headDim,
    intermediateSize: fields.number(
      'intermediate_size',
      file.traits.mlp === 'plain' ? 4 * hiddenSize : undefined,
    ),
    normEpsilon: fields.number('rms_norm_eps', 1e-6),
    rope: {
      theta: (rope ?? fields).number('rope_theta', 10_000),
      dims:
        headDim * (rope ?? fields).number('partial_rotary_factor', fields.number('partial_rotary_factor', 1)),
      pairing: 'halves',
      scaling: ropeScaling(rope ?? fields.record('rope_scaling'), fields, contextLength),
    },
    contextLength,
    window: window(fields, file, { layers, contextLength }),
  }
  return { ...common, ...file.hf.config?.(fields, common) }
}

/** Since version 5 of transformers one object holds all of RoPE, or one for each kind of layer. */
function ropeFields(fields: Fields): Fields | undefined {
  const rope = fields.record('rope_parameters')
  return rope?.record('full_attention') ?? rope
}

function refuseVariants(fields: Fields, { hf, traits }: FamilyFile): void {
  const refuse = (found: string, supported: string) => unbuiltVariant(fields.file, found, supported)
  const supported = hf.activations ?? ['silu']
  const activation = fields.text('hidden_act', supported[0])
  if (!supported.includes(activation)) throw refuse(`the activation "${activation}"`, supported.join(' or '))
  for (const bias of traits?.qkvBias === true ? ['mlp_bias'] : ['attention_bias', 'mlp_bias']) {
    if (fields.fact(bias, false)) throw refuse(`the biases of ${bias}`, 'none')
  }
}

function window(
  fields: Fields,
  { hf }: FamilyFile,
  model: Pick<ModelConfig, 'layers' | 'contextLength'>,
): WindowConfig | undefined {
  const positions = fields.number('sliding_window', 0)
  const kinds = fields.list('layer_types')
  if (kinds.length > 0) {
    return windowOf(
      model,
      positions,
      kinds.map((kind) => kind === 'sliding_attention'),
    )
  }
  if (hf.windowIsOptional !== true) {
    return windowOf(model, positions, fields.number('sliding_window_pattern', hf.windowPeriod ?? 0))
  }
  if (!fields.fact('use_sliding_window', false)) return undefined
  const first = fields.number('max_window_layers', 0)
  const pattern = layersOf(model).map((layer) => layer >= first)
  return windowOf(model, positions, pattern)
}

function ropeScaling(
  rope: Fields | undefined,
  fields: Fields,
  contextLength: number,
): RopeScaling | undefined {
  const type = rope?.text('rope_type', rope.text('type', 'default')) ?? 'default'
  if (rope === undefined || type === 'default') return undefined
  const original = (fallback: number) =>
    rope.number(
      'original_max_position_embeddings',
      fields.number('original_max_position_embeddings', fallback),
    )
  switch (type) {
    case 'linear':
      return { type, factor: rope.number('factor') }
    case 'yarn': {
      const factor = rope.number('factor')
      if (rope.has('mscale') || rope.has('mscale_all_dim') || !rope.fact('truncate', true)) {
        throw unbuiltVariant(fields.file, 'another kind of RoPE scaling "yarn"', 'the plain one')
      }
      return {
        type,
        factor,
        originalContextLength: original(contextLength),
        fast: rope.number('beta_fast', 32),
        slow: rope.number('beta_slow', 1),
        magnitude: rope.number('attention_factor', factor <= 1 ? 1 : 1 + 0.1 * Math.log(factor)),
      }
    }
    case 'longrope':
    case 'su': {
      const originalContextLength = original(contextLength)
      const growth = contextLength / originalContextLength
      const magnitude = growth <= 1 ? 1 : Math.sqrt(1 + Math.log(growth) / Math.log(originalContextLength))
      return {
        type: 'longrope',
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
        originalContextLength: original(contextLength),
      }
    default:
      throw unbuiltVariant(
        fields.file,
        `RoPE scaling "${type}"`,
        'linear, llama3, yarn or longrope scaling, or none',
      )
  }
}
