// The tensor table's rows for layers with recurrent state.

import { deltaChannels } from '../blocks/delta.ts'
import { attends, isRecurrent } from '../blocks/parts.ts'
import type { ModelConfig } from '../config/config.ts'
import { first, hidden, type IsIn, row, type Shape, type StoredWeightOf, type TensorRow } from '../family.ts'

/** A tensor of layer N's mixer, with the prefixes of Mamba, hybrids and the delta rule. */
const mixer = (name: string) =>
  `backbone.layers.N.mixer.${name}|model.layers.N.mamba.${name}|model.layers.N.linear_attn.${name}|model.layers.N.mamba_decoder.mamba.${name}`

const hasState: IsIn = (config, _, layer) => isRecurrent(config, layer)
const isMamba: IsIn = (config, _, layer) => isRecurrent(config, layer) && config.ssm?.kind === 'mamba'
const isMamba2: IsIn = (config, _, layer) => isRecurrent(config, layer) && config.ssm?.kind === 'mamba2'
/** A layer that also has attention has only attention's norm. */
const hasNorm: IsIn = (config, _, layer) => isRecurrent(config, layer) && !attends(config, layer)
const convolves: IsIn = (config, traits, layer) =>
  hasState(config, traits, layer) && config.ssm?.kind !== 'wkv'
const isDelta: IsIn = (config, _, layer) => isRecurrent(config, layer) && config.ssm?.kind === 'delta'
/** Mamba with one matrix for B and C, and without norms on them. */
const isPlainMamba: IsIn = (config, traits, layer) =>
  isMamba(config, traits, layer) && normsIn(config) === undefined
const isNormedMamba: IsIn = (config, traits, layer) =>
  isMamba(config, traits, layer) && normsIn(config) !== undefined
const hasGateNorm: IsIn = (config, traits, layer) =>
  isMamba2(config, traits, layer) && (config.ssm?.kind !== 'mamba2' || config.ssm.gateNorm !== false)
const hasConvBias: IsIn = (config, _, layer) => isRecurrent(config, layer) && config.ssm?.convBias === true

const inner = ({ ssm }: ModelConfig) => ssm?.innerSize ?? 0
const normsIn = ({ ssm }: ModelConfig) => (ssm?.kind === 'mamba' ? ssm.norms : undefined)
const heads = ({ ssm }: ModelConfig) => (ssm?.kind === 'mamba2' || ssm?.kind === 'delta' ? ssm.heads : 0)
const states = ({ ssm }: ModelConfig) => ssm?.stateSize ?? 0
const rank = ({ ssm }: ModelConfig) => (ssm?.kind === 'mamba' ? ssm.timeStepRank : 0)
/** Number of columns of B and C in all groups; Mamba has one group. */
const between = ({ ssm }: ModelConfig) =>
  2 * (ssm?.stateSize ?? 0) * (ssm?.kind === 'mamba2' ? ssm.groups : 1)
const channels = (config: ModelConfig) =>
  config.ssm?.kind === 'delta'
    ? deltaChannels(config.ssm)
    : inner(config) + (config.ssm?.kind === 'mamba2' ? between(config) : 0)

/**
 * Splits one stored matrix by rows: each part is as many of the next rows as its width. `k` is the number of
 * inputs.
 */
function stacked(
  names: Readonly<Record<string, (config: ModelConfig) => number>>,
  gguf: string,
  safetensors: string,
  k: (config: ModelConfig) => number,
  isIn: IsIn,
): TensorRow[] {
  const widths = Object.values(names)
  const sum = (config: ModelConfig, count: number) =>
    widths.slice(0, count).reduce((all, width) => all + width(config), 0)
  return Object.entries(names).map(([name, width], index) =>
    row(
      name,
      gguf,
      safetensors,
      (config) => [width(config), k(config)],
      isIn,
      (config) => ({
        shape: [sum(config, widths.length), k(config)],
        runs: [[sum(config, index), width(config)]],
      }),
    ),
  )
}

/** GGUF stores A, safetensors ln(-A). The kernels expect A log2(e), because they compute powers of 2. */
const decay: StoredWeightOf = (_, format) => ({
  change: format === 'gguf' ? { scale: Math.LOG2E } : { scale: -Math.LOG2E, exp: true },
})

const inputs = ({ hiddenSize }: ModelConfig) => hiddenSize
const perChannel: Shape = (config) => [inner(config)]
const perHead: Shape = (config) => [heads(config)]
const kernel: Shape = (config) => [channels(config), config.ssm?.convKernel ?? 0]

const isLru: IsIn = (config, _, layer) => isRecurrent(config, layer) && config.ssm?.kind === 'lru'
const isWkv: IsIn = (config, _, layer) => isRecurrent(config, layer) && config.ssm?.kind === 'wkv'
const projection: Shape = (config) => [inner(config), config.hiddenSize]
const shares: Shape = ({ hiddenSize }) => [hiddenSize, 2]
const blocks: Shape = ({ ssm }) => [ssm?.kind === 'lru' ? ssm.innerSize ** 2 / ssm.heads : 0]
const LRU = 'model.layers.N.temporal_block.rg_lru'

/** A row for layers whose names only their family defines. */
const own = (name: string, shape: Shape, isIn: IsIn): TensorRow =>
  row(`layers.N.${name}`, '', '', shape, isIn)

const griffin: readonly TensorRow[] = [
  own('ssm_in_x.weight', projection, isLru),
  own('ssm_in_x.bias', perChannel, isLru),
  own('ssm_in_z.weight', projection, isLru),
  own('ssm_in_z.bias', perChannel, isLru),
  ...(['enter', 'stay'] as const).flatMap((name) => {
    const gate = `${LRU}.${name === 'enter' ? 'input' : 'recurrent'}_gate`
    const flat =
      (tensor: string): StoredWeightOf =>
      () => ({ tensor, isFlat: true })
    return [
      row(`layers.N.ssm_${name}`, '', '', blocks, isLru, flat(`${gate}_weight`)),
      row(`layers.N.ssm_${name}.bias`, '', '', perChannel, isLru, flat(`${gate}_bias`)),
    ]
  }),
  row('layers.N.ssm_decay', '', `${LRU}.recurrent_param`, perChannel, isLru),
  own('ssm_output.bias', hidden, isLru),
]

const rwkv: readonly TensorRow[] = [
  own('ssm_norm.bias', hidden, isWkv),
  ...['r', 'k', 'v'].flatMap((name) => [
    own(`ssm_${name}.weight`, projection, isWkv),
    own(`ssm_${name}_conv.weight`, shares, isWkv),
  ]),
  row('layers.N.ssm_decay', '', 'rwkv.blocks.N.attention.time_decay', perChannel, isWkv, () => ({
    change: { scale: -1, exp: true },
  })),
  row('layers.N.ssm_first', '', 'rwkv.blocks.N.attention.time_first', perChannel, isWkv),
  own('mlp_r.weight', ({ hiddenSize }) => [hiddenSize, hiddenSize], isWkv),
  own('mlp_r_conv.weight', shares, isWkv),
  own('mlp_k.weight', ({ intermediateSize, hiddenSize }) => [intermediateSize, hiddenSize], isWkv),
  own('mlp_k_conv.weight', shares, isWkv),
]

const headRows: Shape = (config) => [heads(config), config.hiddenSize]

/** A norm before the scan. If the file stores no weight, all its elements are 1. */
function selectionNorm(name: 'dt' | 'b' | 'c', width: (config: ModelConfig) => number): TensorRow[] {
  const canonical = `layers.N.ssm_${name}_norm.weight`
  const shape: Shape = (config) => [width(config)]
  const weighted: IsIn = (config, _, layer) =>
    isRecurrent(config, layer) && normsIn(config)?.haveWeights === true
  const bare: IsIn = (config, _, layer) =>
    isRecurrent(config, layer) && normsIn(config)?.haveWeights === false
  return [
    row(canonical, `blk.N.ssm_${name}_norm.weight`, mixer(`${name}_layernorm.weight`), shape, weighted),
    row(canonical, '', '', shape, bare, () => ({ constant: 1 })),
  ]
}

export const recurrentTensors: readonly TensorRow[] = [
  ...griffin,
  ...rwkv,
  row(
    'layers.N.ssm_norm.weight',
    'blk.N.attn_norm.weight',
    'backbone.layers.N.norm.weight|model.layers.N.input_layernorm.weight',
    hidden,
    hasNorm,
  ),
  ...stacked(
    { 'layers.N.ssm_in_x.weight': inner, 'layers.N.ssm_in_z.weight': inner },
    'blk.N.ssm_in.weight',
    mixer('in_proj.weight'),
    inputs,
    isMamba,
  ),
  ...stacked(
    {
      'layers.N.ssm_in_z.weight': inner,
      'layers.N.ssm_in_x.weight': channels,
      'layers.N.ssm_in_dt.weight': heads,
    },
    'blk.N.ssm_in.weight',
    mixer('in_proj.weight'),
    inputs,
    isMamba2,
  ),
  row('layers.N.ssm_conv.weight', 'blk.N.ssm_conv1d.weight', mixer('conv1d.weight'), kernel, convolves),
  row('layers.N.ssm_conv.bias', 'blk.N.ssm_conv1d.bias', mixer('conv1d.bias'), first(kernel), hasConvBias),
  ...stacked(
    { 'layers.N.ssm_select_dt.weight': rank, 'layers.N.ssm_select_bc.weight': between },
    'blk.N.ssm_x.weight',
    mixer('x_proj.weight'),
    inner,
    isPlainMamba,
  ),
  ...stacked(
    {
      'layers.N.ssm_select_dt.weight': rank,
      'layers.N.ssm_select_b.weight': states,
      'layers.N.ssm_select_c.weight': states,
    },
    'blk.N.ssm_x.weight',
    mixer('x_proj.weight'),
    inner,
    isNormedMamba,
  ),
  ...selectionNorm('dt', rank),
  ...selectionNorm('b', states),
  ...selectionNorm('c', states),
  row(
    'layers.N.ssm_in_x.weight',
    'blk.N.attn_qkv.weight',
    mixer('in_proj_qkv.weight'),
    (config) => [channels(config), config.hiddenSize],
    isDelta,
  ),
  row(
    'layers.N.ssm_in_z.weight',
    'blk.N.attn_gate.weight',
    mixer('in_proj_z.weight'),
    (config) => [inner(config), config.hiddenSize],
    isDelta,
  ),
  row('layers.N.ssm_in_beta.weight', 'blk.N.ssm_beta.weight', mixer('in_proj_b.weight'), headRows, isDelta),
  row('layers.N.ssm_in_dt.weight', 'blk.N.ssm_alpha.weight', mixer('in_proj_a.weight'), headRows, isDelta),
  row('layers.N.ssm_dt.bias', 'blk.N.ssm_dt.bias', mixer('dt_bias'), perHead, isDelta),
  row('layers.N.ssm_decay', 'blk.N.ssm_a', mixer('A_log'), perHead, isDelta, decay),
  row(
    'layers.N.ssm_gate_norm.weight',
    'blk.N.ssm_norm.weight',
    mixer('norm.weight'),
    (config) => [inner(config) / heads(config)],
    isDelta,
  ),
  row(
    'layers.N.ssm_dt.weight',
    'blk.N.ssm_dt.weight',
    mixer('dt_proj.weight'),
    (config) => [inner(config), rank(config)],
    isMamba,
  ),
  row('layers.N.ssm_dt.bias', 'blk.N.ssm_dt.bias', mixer('dt_proj.bias'), perChannel, isMamba),
  row('layers.N.ssm_dt.bias', 'blk.N.ssm_dt.bias', mixer('dt_bias'), perHead, isMamba2),
  row(
    'layers.N.ssm_decay',
    'blk.N.ssm_a',
    mixer('A_log'),
    (config) => [inner(config), config.ssm?.stateSize ?? 0],
    isMamba,
    decay,
  ),
  row('layers.N.ssm_decay', 'blk.N.ssm_a', mixer('A_log'), perHead, isMamba2, decay),
  row('layers.N.ssm_skip', 'blk.N.ssm_d', mixer('D'), perChannel, isMamba),
  row('layers.N.ssm_skip', 'blk.N.ssm_d', mixer('D'), perHead, isMamba2),
  // GGUF stores one row for each group.
  row(
    'layers.N.ssm_gate_norm.weight',
    'blk.N.ssm_norm.weight',
    mixer('norm.weight'),
    perChannel,
    hasGateNorm,
    () => ({
      isFlat: true,
    }),
  ),
  row(
    'layers.N.ssm_output.weight',
    'blk.N.ssm_out.weight',
    mixer('out_proj.weight'),
    (config) => [config.hiddenSize, inner(config)],
    hasState,
  ),
]
