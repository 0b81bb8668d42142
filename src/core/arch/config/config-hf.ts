// Reads the hyperparameters that a config.json states. They are not yet validated.

import type { MetaValue } from '../../formats/tensors.ts'
import type { Activation } from '../../graph/ir.ts'
import { familyFile, findFamily } from '../families.ts'
import { type Defaults, type FamilyFile, otherBiases } from '../family.ts'
import type { Biases, Family, ModelConfig, WindowConfig } from './config.ts'
import { Fields, layersOf, requireFacts, unbuiltVariant, windowOf, withoutIdleWindow } from './fields.ts'
import { fullRope, hfRope } from './hf-rope.ts'
import { hfRecurrent, hfSsm, NO_ATTENTION, RECURRENT_CONTEXT } from './recurrent-config.ts'

/** True for the config.json of state-spaces/mamba, which does not name an architecture. */
const isMambaSsm = (fields: Fields): boolean => fields.has('d_model') && fields.has('ssm_cfg')

/** The family of such a configuration. */
const ssmFamily = (fields: Fields): 'mamba' | 'mamba2' =>
  (fields.record('ssm_cfg')?.text('layer', 'Mamba1') ?? 'Mamba1') === 'Mamba1' ? 'mamba' : 'mamba2'

/** Hugging Face's keys, and the keys of state-spaces/mamba for the same values. */
const SSM_KEYS = {
  state_size: 'd_state',
  conv_kernel: 'd_conv',
  use_conv_bias: 'conv_bias',
  time_step_rank: 'dt_rank',
  n_groups: 'ngroups',
  time_step_limit: 'dt_limit',
}

/** Throws `architecture` for keys of the wrong type, `unsupported` for layers with attention or an MLP. */
export function mambaSsmConfig(name: string, fields: Fields): ModelConfig {
  const ssm = fields.record('ssm_cfg') ?? Fields.of(fields.file, {})
  const refuse = (found: string, supported: string) => unbuiltVariant(fields.file, found, supported)
  const attention = fields.list('attn_layer_idx').length
  if (attention > 0) throw refuse(`${attention} attention layers`, 'none')
  const wide = fields.number('d_intermediate', 0)
  if (wide > 0) throw refuse(`MLPs with ${wide} inner values`, 'none')
  if (!fields.fact('rms_norm', true)) throw refuse('LayerNorm', 'RMSNorm')
  const hiddenSize = fields.number('d_model')
  const family = ssmFamily(fields)
  const own = hfSsm(ssm.renamed(SSM_KEYS), family, { hiddenSize, groups: 1 })
  const padding = fields.number('pad_vocab_size_multiple', 8)
  return {
    family,
    name,
    hiddenSize,
    layers: fields.number('n_layer'),
    ...NO_ATTENTION,
    vocabSize: Math.ceil(fields.number('vocab_size') / padding) * padding,
    normEpsilon: 1e-5,
    contextLength: RECURRENT_CONTEXT,
    tiedEmbeddings: fields.fact('tie_embeddings', true),
    ssm: own.kind !== 'mamba2' ? own : { ...own, heads: own.innerSize / ssm.number('headdim', 64) },
  }
}

/** Whether `name` is the causal language model class of a type; for `gpt_neox` that is GPTNeoXForCausalLM. */
export const isClassOf = (type: string, name: string): boolean =>
  name === type ||
  (name.endsWith('ForCausalLM') &&
    name.slice(0, -'ForCausalLM'.length).toLowerCase() === type.replaceAll('_', '').toLowerCase())

/** The class of a model type among the loaded families; the type itself if there is none. */
function classOfType(type: string): string {
  const family = findFamily(({ hf }) => Object.keys(hf.classes).some((name) => isClassOf(type, name)))
  const classes = family === undefined ? [] : Object.keys(familyFile(family).hf.classes)
  return classes.find((name) => isClassOf(type, name)) ?? type
}

/**
 * The transformers class that a config.json names, or else its model type. Some models of Llama's class use
 * other names for keys and tensors; only their model type tells them apart.
 */
export function hfClass(stated: Fields): string {
  if (isMambaSsm(stated)) return `M${ssmFamily(stated).slice(1)}ForCausalLM`
  const [listed] = stated.textList('architectures')
  if (listed === undefined) return classOfType(stated.text('model_type'))
  const type = stated.has('model_type') ? stated.text('model_type') : listed
  return findFamily(({ hf }) => Object.hasOwn(hf.classes, type)) === undefined ? listed : type
}

/**
 * `unset`: keys whose value is null although the class has another default. Throws `architecture` for keys
 * of the wrong type, `unsupported` for variants that are not implemented.
 */
export function hfConfig(
  name: string,
  stated: Fields,
  { family, unset = [] }: { readonly family: Family; readonly unset?: readonly MetaValue[] },
): ModelConfig {
  if (isMambaSsm(stated)) return mambaSsmConfig(name, stated)
  const file = familyFile(family)
  const { classes } = file.hf
  // If the caller chooses another family, the file's class does not belong to it.
  const [first] = Object.keys(classes) as [string]
  const listed = hfClass(stated)
  const defaults = classes[Object.hasOwn(classes, listed) ? listed : first] as Defaults
  const fields = stated.renamed(file.hf.keys ?? {}, defaults, unset)
  const activation = activationOf(fields, file)
  refuseVariants(fields, file.traits?.isUneven)
  const hiddenSize = fields.number('hidden_size')
  const layers = fields.number('num_hidden_layers')
  const sizes = {
    family,
    name,
    hiddenSize,
    layers,
    vocabSize: fields.number('vocab_size'),
    tiedEmbeddings: fields.fact('tie_word_embeddings', false),
    ...(activation !== file.traits?.activation && { activation }),
  }
  if (file.traits === undefined) {
    return { ...sizes, ...hfRecurrent(fields, family === 'mamba' ? 'mamba' : 'mamba2') }
  }
  if (file.attention === false) {
    const common = { ...sizes, ...NO_ATTENTION, normEpsilon: 1e-5, contextLength: RECURRENT_CONTEXT }
    return { ...common, ...file.hf.config?.(fields, common, listed) }
  }
  const contextLength = fields.number('max_position_embeddings')
  const heads = fields.number('num_attention_heads')
  const headDim = fields.number('head_dim', hiddenSize / heads)
  const common: ModelConfig = {
    ...sizes,
    heads,
    kvHeads: fields.number('num_key_value_heads', heads),
    headDim,
    intermediateSize:
      (file.traits.mlp === 'plain' && fields.number('intermediate_size', 0) === 0 && 4 * hiddenSize) ||
      (file.traits.isUneven === true && Math.max(0, ...fields.eachNumber('intermediate_size'))) ||
      fields.number('intermediate_size'),
    normEpsilon: fields.number('rms_norm_eps', 1e-6),
    rope: {
      ...hfRope(fields, fullRope(fields), {
        ...{ headDim, contextLength },
        isPartial: 'partial_rotary_factor' in defaults,
      }),
      pairing: file.hf.pairing ?? 'halves',
    },
    contextLength,
    window: window(fields, defaults, { layers }),
    biases: biases(fields, file),
    ...(fields.has('clip_qkv') && { qkvLimit: fields.number('clip_qkv') }),
  }
  return withoutIdleWindow({ ...common, ...file.hf.config?.(fields, common, listed) })
}

/** Activations, by every name that transformers uses for them. */
export const ACTIVATIONS: ReadonlyMap<string, Activation> = new Map(
  Object.entries({
    silu: 'silu',
    swish: 'silu',
    gelu: 'gelu_exact',
    gelu_new: 'gelu',
    gelu_fast: 'gelu',
    gelu_pytorch_tanh: 'gelu',
    relu: 'relu',
    relu2: 'relu2',
  }),
)

/** Recurrent layers whose convolutions use the feed-forward blocks' activation. */
const CONVOLVED: readonly unknown[] = ['mamba', 'mamba2', 'delta']

/**
 * The file's activation; default: the family's. Throws `unsupported` if recurrent layers need the default.
 */
function activationOf(fields: Fields, file: FamilyFile): Activation | undefined {
  const activation = statedActivation(fields, file)
  const { traits, recurrence, hf } = file
  const isShared = CONVOLVED.includes(recurrence) && hf.keys?.['hidden_act'] === undefined
  if (traits === undefined || !isShared || activation === traits.activation) return activation
  throw unbuiltVariant(fields.file, 'an activation other than SiLU', 'SiLU')
}

function statedActivation(fields: Fields, { traits }: FamilyFile): Activation | undefined {
  if (!fields.has('hidden_act')) return traits?.activation
  const name = fields.text('hidden_act')
  // The parameters of this activation are tensors, which only its family reads.
  if (name === 'xielu' && traits?.activation === name) return name
  const activation = ACTIVATIONS.get(name)
  if (activation === 'silu') return traits && activation
  if (activation !== undefined && traits !== undefined) return activation
  throw unbuiltVariant(fields.file, `the activation "${name}"`, [...ACTIVATIONS.keys()].join(' or '))
}

/** Keys that change the arithmetic in unsupported ways, each with its only supported value. */
function refuseVariants(fields: Fields, isUneven = false): void {
  requireFacts(fields, {
    conv_bias: false,
    is_causal: true,
    ...(!isUneven && { use_bidirectional_attention: false }),
  })
  if (fields.has('per_layer_config') && !isUneven) {
    throw unbuiltVariant(fields.file, 'different kinds of layers in per_layer_config', 'none')
  }
}

const BIAS_KEYS = { qkv: 'attention_bias', output: 'attention_bias', mlp: 'mlp_bias' } as const

/** Biases that differ from those of the family. */
function biases(fields: Fields, { traits, hf }: FamilyFile): Biases | undefined {
  const keys = Object.entries(hf.biases ?? BIAS_KEYS).filter(([, key]) => fields.has(key))
  return otherBiases(traits, Object.fromEntries(keys.map(([part, key]) => [part, fields.fact(key)])))
}

function window(
  fields: Fields,
  defaults: Defaults,
  model: Pick<ModelConfig, 'layers'>,
): WindowConfig | undefined {
  if (!('sliding_window' in defaults) || !fields.fact('use_sliding_window', true)) return undefined
  const positions = fields.number('sliding_window', 0)
  const kinds = fields.list('layer_types')
  const strange = kinds.find(
    (kind) => kind !== 'sliding_attention' && kind !== 'full_attention' && kind !== 'conv',
  )
  if (strange !== undefined) {
    throw unbuiltVariant(fields.file, 'an unknown layer type in layer_types', 'full and sliding attention')
  }
  if (kinds.length > 0) {
    return windowOf(
      model,
      positions,
      kinds.map((kind) => kind === 'sliding_attention'),
    )
  }
  if (!('max_window_layers' in defaults)) {
    return windowOf(model, positions, fields.number('sliding_window_pattern', 0))
  }
  const first = fields.number('max_window_layers')
  const pattern = layersOf(model).map((layer) => layer >= first)
  return windowOf(model, positions, pattern)
}
