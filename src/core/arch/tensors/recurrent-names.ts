// The rows of the tensor table for Mamba, Mamba-2 and hybrids.

import { isRecurrent } from '../blocks/parts.ts'
import type { ModelConfig } from '../config/config.ts'
import { first, hidden, type IsIn, row, type Shape, type StoredWeightOf, type TensorRow } from '../family.ts'

/** A tensor of layer N's mixer, with Mamba's and with Granite's prefix. */
const mixer = (name: string) => `backbone.layers.N.mixer.${name}|model.layers.N.mamba.${name}`

const hasState: IsIn = (config, _, layer) => isRecurrent(config, layer)
const isMamba: IsIn = (config, _, layer) => isRecurrent(config, layer) && config.ssm?.kind === 'mamba'
const isMamba2: IsIn = (config, _, layer) => isRecurrent(config, layer) && config.ssm?.kind === 'mamba2'
const hasConvBias: IsIn = (config, _, layer) => isRecurrent(config, layer) && config.ssm?.convBias === true

const inner = ({ ssm }: ModelConfig) => ssm?.innerSize ?? 0
const heads = ({ ssm }: ModelConfig) => (ssm?.kind === 'mamba2' ? ssm.heads : 0)
const rank = ({ ssm }: ModelConfig) => (ssm?.kind === 'mamba' ? ssm.timeStepRank : 0)
/** Columns of B and C in all groups; Mamba has one group. */
const between = ({ ssm }: ModelConfig) =>
  2 * (ssm?.stateSize ?? 0) * (ssm?.kind === 'mamba2' ? ssm.groups : 1)
const channels = (config: ModelConfig) =>
  inner(config) + (config.ssm?.kind === 'mamba2' ? between(config) : 0)

/** Splits one stored matrix by rows: each width takes the next rows. `k` is the number of inputs. */
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

/** GGUF stores A, safetensors ln(-A). The kernels take A log2(e), because they compute powers of 2. */
const decay: StoredWeightOf = (_, format) => ({
  change: format === 'gguf' ? { scale: Math.LOG2E } : { scale: -Math.LOG2E, exp: true },
})

const inputs = ({ hiddenSize }: ModelConfig) => hiddenSize
const perChannel: Shape = (config) => [inner(config)]
const perHead: Shape = (config) => [heads(config)]
const kernel: Shape = (config) => [channels(config), config.ssm?.convKernel ?? 0]

export const recurrentTensors: readonly TensorRow[] = [
  row(
    'layers.N.ssm_norm.weight',
    'blk.N.attn_norm.weight',
    'backbone.layers.N.norm.weight|model.layers.N.input_layernorm.weight',
    hidden,
    hasState,
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
  row('layers.N.ssm_conv.weight', 'blk.N.ssm_conv1d.weight', mixer('conv1d.weight'), kernel, hasState),
  row('layers.N.ssm_conv.bias', 'blk.N.ssm_conv1d.bias', mixer('conv1d.bias'), first(kernel), hasConvBias),
  ...stacked(
    { 'layers.N.ssm_select_dt.weight': rank, 'layers.N.ssm_select_bc.weight': between },
    'blk.N.ssm_x.weight',
    mixer('x_proj.weight'),
    inner,
    isMamba,
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
    isMamba2,
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
