// Zamba 2: Mamba-2 layers, some of which also run an attention block that they share with other layers.

import type { MetaValue } from '../../../formats/tensors.ts'
import { type DecoderTraits, PLAIN } from '../../blocks/parts.ts'
import { withSharedBlocks } from '../../blocks/shared-blocks.ts'
import type { ModelConfig, SharedBlocks } from '../../config/config.ts'
import { type Fields, layersOf, requireFacts, unbuiltVariant } from '../../config/fields.ts'
import { MAX_BLOCKS } from '../../config/layer-sizes.ts'
import { hfSsm } from '../../config/recurrent-config.ts'
import {
  defaults,
  type FamilyFile,
  type IsIn,
  NO_GGUF,
  row,
  type Shape,
  type StoredWeight,
  type TensorRow,
} from '../../family.ts'
import { mamba2Layer } from '../mamba.ts'

const TRAITS: DecoderTraits = { ...PLAIN, activation: 'gelu_exact', sharedBlocks: true }

/** The epsilon of the norm after Mamba's gate, whatever the file says. */
const GATE_EPSILON = 1e-5
/** Close to the largest f32, so effectively no limit. */
const LARGEST = 3e38

const SSM_KEYS = {
  inner_size: 'mamba_inner_size',
  expand: 'mamba_expand',
  state_size: 'mamba_d_state',
  conv_kernel: 'mamba_d_conv',
  num_heads: 'n_mamba_heads',
  n_groups: 'mamba_ngroups',
}

const blocksOf = ({ sharedBlocks }: ModelConfig): SharedBlocks =>
  sharedBlocks ?? { layers: [], count: 1, rank: 1, adaptsAttention: false }

/** Files store a block with the first layer that uses it. */
const prefixOf = (config: ModelConfig, block: number): string =>
  `model.layers.${blocksOf(config).layers[block] ?? 0}.shared_transformer`

/** The tensors of each block. */
function blockRows(
  name: string,
  file: string,
  shape: Shape,
  place?: (config: ModelConfig) => Partial<StoredWeight>,
): TensorRow[] {
  return Array.from({ length: MAX_BLOCKS }, (_, block) =>
    row(
      `blocks.${block}.${name}.weight`,
      '',
      '',
      shape,
      (config) => block < Math.min(blocksOf(config).count, blocksOf(config).layers.length),
      (config) => ({ tensor: `${prefixOf(config, block)}.${file}.weight`, ...place?.(config) }),
    ),
  )
}

const both = ({ hiddenSize }: ModelConfig): number => 2 * hiddenSize
const attends: Shape = (config) => [config.heads * config.headDim, both(config)]
const stores: Shape = (config) => [config.kvHeads * config.headDim, both(config)]
const widens: Shape = ({ intermediateSize, hiddenSize }) => [intermediateSize, hiddenSize]
const part =
  (index: number) =>
  ({ intermediateSize, hiddenSize }: ModelConfig): Partial<StoredWeight> => ({
    shape: [2 * intermediateSize, hiddenSize],
    runs: [[index * intermediateSize, intermediateSize]],
  })

const readsBlock: IsIn = (config, _, layer) => blocksOf(config).layers.includes(layer)
const adapts: IsIn = (...of) => readsBlock(...of) && blocksOf(of[0]).adaptsAttention

const KINDS = ['q', 'k', 'v'] as const

const TENSORS: readonly TensorRow[] = [
  ...blockRows('attn_norm', 'input_layernorm', (config) => [both(config)]),
  ...blockRows('attn_q', 'self_attn.q_proj', attends),
  ...blockRows('attn_k', 'self_attn.k_proj', stores),
  ...blockRows('attn_v', 'self_attn.v_proj', stores),
  ...blockRows('attn_output', 'self_attn.o_proj', (config) => [
    config.hiddenSize,
    config.heads * config.headDim,
  ]),
  ...blockRows('mlp_norm', 'pre_ff_layernorm', ({ hiddenSize }) => [hiddenSize]),
  ...blockRows('mlp_gate', 'feed_forward.gate_up_proj', widens, part(0)),
  ...blockRows('mlp_up', 'feed_forward.gate_up_proj', widens, part(1)),
  ...blockRows('mlp_down', 'feed_forward.down_proj', (...of) => widens(...of).toReversed()),
  row(
    'layers.N.block_output.weight',
    '',
    'model.layers.N.linear.weight',
    ({ hiddenSize }) => [hiddenSize, hiddenSize],
    readsBlock,
  ),
  ...KINDS.flatMap((kind) => [
    row(
      `layers.N.attn_${kind}_adapter_in.weight`,
      '',
      '',
      (config) => [blocksOf(config).rank, both(config)],
      adapts,
    ),
    row(
      `layers.N.attn_${kind}_adapter.weight`,
      '',
      '',
      (config) => [both(config), blocksOf(config).rank],
      adapts,
    ),
  ]),
  row(
    'layers.N.mlp_adapter_in.weight',
    '',
    '',
    (config) => [blocksOf(config).rank, config.hiddenSize],
    readsBlock,
  ),
  ...['gate', 'up'].map((kind) =>
    row(
      `layers.N.mlp_${kind}_adapter.weight`,
      '',
      '',
      (config) => [config.intermediateSize, blocksOf(config).rank],
      readsBlock,
    ),
  ),
]

/** The file's name for the adapter matrix `step` that a layer has for one of the block's matrices. */
function adapter(config: ModelConfig, layer: number, list: string, step: 0 | 1): { readonly tensor: string } {
  const { layers, count } = blocksOf(config)
  const index = layers.indexOf(layer)
  return { tensor: `${prefixOf(config, index % count)}.${list}_adapter_list.${index}.${step}.weight` }
}

const MLP = 'feed_forward.gate_up_proj'

function sharedBlocks(fields: Fields, kinds: readonly MetaValue[]): SharedBlocks {
  return {
    layers: [...kinds.keys()].filter((layer) => kinds[layer] === 'hybrid'),
    count: fields.number('num_mem_blocks', 1),
    rank: fields.number('adapter_rank', 128),
    adaptsAttention: fields.fact('use_shared_attention_adapter', false),
  }
}

/** The class's default: the types of its 54 layers. */
function defaultKinds(): readonly string[] {
  const mamba = (count: number): string[] => Array(count).fill('linear_attention')
  const run = [...mamba(5), 'hybrid']
  const runs = Array.from({ length: 7 }, () => run).flat()
  return [...mamba(1), ...runs, ...mamba(4), 'hybrid', ...mamba(3), 'hybrid', ...mamba(2)]
}

function hfConfig(fields: Fields, common: ModelConfig): Partial<ModelConfig> {
  requireFacts(fields, { add_bias_linear: false, use_long_context: false })
  const stated = fields.list('layers_block_type')
  const kinds = stated.length > 0 ? stated : defaultKinds()
  const layers = kinds.length
  const blocks = sharedBlocks(fields, kinds)
  if (blocks.adaptsAttention && common.kvHeads !== common.heads)
    throw unbuiltVariant(fields.file, 'fewer key heads than query heads together with adapters', 'as many')
  const headDim = (2 * common.hiddenSize) / common.heads
  const dims = fields.fact('use_mem_rope', false) ? headDim : 0
  const ssm = hfSsm(fields.renamed(SSM_KEYS), 'mamba2', { stateSize: 64, groups: 1 })
  return {
    // The class uses the length of the list, whatever the file says.
    layers,
    headDim,
    rope: { ...common.rope, dims },
    sharedBlocks: blocks,
    // Attention and the feed-forward parts are in the shared blocks, not in the layers.
    attentionLayers: [],
    mlpLayers: [],
    recurrentLayers: layersOf({ layers }),
    ssm: {
      ...ssm,
      convBias: true,
      timeStepLimit: [fields.number('time_step_min', 0.001), LARGEST],
    } as ModelConfig['ssm'],
  }
}

export const zamba2: FamilyFile = {
  traits: TRAITS,
  recurrence: 'mamba2',
  tensors: TENSORS,
  build: (config, decoder) =>
    decoder(
      config,
      TRAITS,
      undefined,
      withSharedBlocks((parts, layer, input) =>
        mamba2Layer({ ...parts, config: { ...config, normEpsilon: GATE_EPSILON } }, layer, input),
      ),
    ),
  // Files saved without tied weights contain extra copies of the shared blocks.
  isUnused: (name, config) =>
    blocksOf(config)
      .layers.slice(blocksOf(config).count)
      .some((layer) => name.startsWith(`model.layers.${layer}.shared_transformer.`)),
  gguf: NO_GGUF,
  hf: {
    classes: {
      Zamba2ForCausalLM: defaults(32_000, 2560, 10_240, 54, 32, 4096, {
        rms_norm_eps: 1e-5,
        n_mamba_heads: 8,
        tie_word_embeddings: true,
      }),
    },
    config: hfConfig,
    names: {
      'norm.weight': 'model.final_layernorm.weight',
      'layers.N.ssm_norm.weight':
        'model.layers.N.input_layernorm.weight|model.layers.N.mamba_decoder.input_layernorm.weight',
      ...Object.fromEntries(
        KINDS.flatMap((kind) =>
          ([0, 1] as const).map((step) => [
            `layers.N.attn_${kind}_adapter${step === 0 ? '_in' : ''}.weight`,
            (config: ModelConfig, _: number, layer: number) =>
              adapter(config, layer, `self_attn.linear_${kind}`, step),
          ]),
        ),
      ),
      'layers.N.mlp_adapter_in.weight': (config, _, layer) => adapter(config, layer, MLP, 0),
      ...Object.fromEntries(
        ['gate', 'up'].map((kind, index) => [
          `layers.N.mlp_${kind}_adapter.weight`,
          (config: ModelConfig, _: number, layer: number) => ({
            ...adapter(config, layer, MLP, 1),
            shape: [2 * config.intermediateSize, blocksOf(config).rank],
            runs: [[index * config.intermediateSize, config.intermediateSize]] as const,
          }),
        ]),
      ),
    },
  },
}
