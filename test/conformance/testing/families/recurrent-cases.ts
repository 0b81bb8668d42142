// Cases of families with recurrent layers. A small model of each: config.json, tensors, and how llama.cpp's
// converter stores them.
import type { RandomTensor } from '../writers/random-tensor.ts'
import {
  type CaseTensor,
  each,
  type FamilyCase,
  familyParts,
  type Sizes,
  t,
  VOCABULARY,
} from './family-tensors.ts'

const GROUPS = 2
const STATE = 16
const TAPS = 4
/** Channels of a recurrent head. */
const DIM = 16

type Case = Omit<FamilyCase, 'sizes'>

const STATE_NAMES = [
  ['in_proj', 'ssm_in'],
  ['x_proj', 'ssm_x'],
  ['dt_proj', 'ssm_dt'],
  [/([bc]|dt)_layernorm/, 'ssm_$1_norm'],
  ['conv1d', 'ssm_conv1d'],
  ['dt_bias', 'ssm_dt.bias'],
  ['A_log', 'ssm_a'],
  [/\.D$/, '.ssm_d'],
  ['out_proj', 'ssm_out'],
] as const

/**
 * Conversions that every recurrent model needs. `heads`: the number of Mamba-2's heads, whose vectors become
 * columns.
 */
const stored =
  (heads?: number) =>
  (name: string, tensor: RandomTensor): RandomTensor => {
    if (/conv1d\.weight$/.test(name)) return { ...tensor, shape: tensor.shape.filter((size) => size !== 1) }
    const shape = heads === undefined ? tensor.shape : [heads, 1]
    if (/A_log$/.test(name)) return { shape, values: tensor.values.map((value) => -Math.exp(value)) }
    return /\.D$/.test(name) ? { ...tensor, shape } : tensor
  }

/** One case per family. */
export function recurrentCases(sizes: Sizes): readonly Case[] {
  const { hidden, heads, kvHeads, headDim, wide } = sizes
  const { config } = familyParts(sizes)
  const inner = 2 * hidden
  const ssmHeads = inner / DIM

  const attention = (at: string): CaseTensor[] => [
    t(`${at}.q_proj.weight`, [heads * headDim, hidden]),
    t(`${at}.k_proj.weight`, [kvHeads * headDim, hidden]),
    t(`${at}.v_proj.weight`, [kvHeads * headDim, hidden]),
    t(`${at}.o_proj.weight`, [hidden, heads * headDim]),
  ]
  const mlp = (at: string): CaseTensor[] => [
    t(`${at}.gate_proj.weight`, [wide, hidden]),
    t(`${at}.up_proj.weight`, [wide, hidden]),
    t(`${at}.down_proj.weight`, [hidden, wide]),
  ]
  const mamba2 = (at: string, hasNorm: boolean): CaseTensor[] => {
    const channels = inner + 2 * GROUPS * STATE
    return [
      t(`${at}.in_proj.weight`, [inner + channels + ssmHeads, hidden]),
      t(`${at}.conv1d.weight`, [channels, 1, TAPS], 'taps'),
      t(`${at}.conv1d.bias`, [channels], 'bias'),
      t(`${at}.dt_bias`, [ssmHeads], 'bias'),
      t(`${at}.A_log`, [ssmHeads], 'bias'),
      t(`${at}.D`, [ssmHeads], 'norm'),
      ...(hasNorm ? [t(`${at}.norm.weight`, [inner], 'norm')] : []),
      t(`${at}.out_proj.weight`, [hidden, inner]),
    ]
  }
  const ssmKeys = {
    'ssm.conv_kernel': ['u32', TAPS],
    'ssm.inner_size': ['u32', inner],
    'ssm.state_size': ['u32', STATE],
    'ssm.time_step_rank': ['u32', ssmHeads],
    'ssm.group_count': ['u32', GROUPS],
  } as const
  const model = (layers: CaseTensor[], norm: string, root = 'model.embed_tokens'): CaseTensor[] => [
    t(`${root}.weight`, [VOCABULARY, hidden], 'table'),
    ...layers,
    t(`${norm}.weight`, [hidden], 'norm'),
    t('lm_head.weight', [VOCABULARY, hidden], 'table'),
  ]
  return [qwen35(), qwen3next(), falconH1(), jamba(), nemotronH()]

  function qwen35(): Case {
    const valueHeads = 4
    const keys = 2 * GROUPS * STATE
    const values = valueHeads * STATE
    const less = 'norm less one'
    const linear = (at: string): CaseTensor[] => [
      t(`${at}.in_proj_qkv.weight`, [keys + values, hidden]),
      t(`${at}.in_proj_z.weight`, [values, hidden]),
      t(`${at}.in_proj_b.weight`, [valueHeads, hidden]),
      t(`${at}.in_proj_a.weight`, [valueHeads, hidden]),
      t(`${at}.conv1d.weight`, [keys + values, 1, TAPS], 'taps'),
      t(`${at}.dt_bias`, [valueHeads], 'bias'),
      t(`${at}.A_log`, [valueHeads], 'bias'),
      t(`${at}.norm.weight`, [STATE], 'norm'),
      t(`${at}.out_proj.weight`, [hidden, values]),
    ]
    const full = (at: string): CaseTensor[] => [
      ...attention(at).map((one) =>
        /q_proj/.test(one.name) ? { ...one, shape: [2 * heads * headDim, hidden] } : one,
      ),
      t(`${at}.q_norm.weight`, [headDim], less),
      t(`${at}.k_norm.weight`, [headDim], less),
    ]
    const layer = (index: number): CaseTensor[] => {
      const at = `model.layers.${index}`
      return [
        t(`${at}.input_layernorm.weight`, [hidden], less),
        ...(index % 4 === 3 ? full(`${at}.self_attn`) : linear(`${at}.linear_attn`)),
        t(`${at}.post_attention_layernorm.weight`, [hidden], less),
        ...mlp(`${at}.mlp`),
      ]
    }
    /**
     * In GGUF, value heads alternate between key heads; in these files, those that share a key head are
     * neighbours.
     */
    const inTurns = (rows: Float32Array, width: number, from = 0): Float32Array => {
      const moved = rows.slice()
      const ratio = valueHeads / GROUPS
      for (let head = 0; head < valueHeads; head++) {
        const place = (head % ratio) * GROUPS + Math.floor(head / ratio)
        moved.set(rows.subarray(from + head * width, from + (head + 1) * width), from + place * width)
      }
      return moved
    }
    const convert = stored()
    const tensors = model([0, 1, 2, 3].flatMap(layer), 'model.norm')
    return {
      family: 'qwen3_5',
      config: {
        ...config('Qwen3_5ForCausalLM', 4, { partial_rotary_factor: 0.5 }),
        linear_num_value_heads: valueHeads,
        linear_num_key_heads: GROUPS,
        linear_key_head_dim: STATE,
        linear_value_head_dim: STATE,
        linear_conv_kernel_dim: TAPS,
        layer_types: [...Array(3).fill('linear_attention'), 'full_attention'],
      },
      tensors: tensors.map((one) => (one.name === 'model.norm.weight' ? { ...one, kind: less } : one)),
      gguf: {
        architecture: 'qwen35',
        keys: {
          ...ssmKeys,
          'ssm.inner_size': ['u32', values],
          'ssm.time_step_rank': ['u32', valueHeads],
          full_attention_interval: ['u32', 4],
          'rope.dimension_count': ['u32', headDim / 2],
          'rope.dimension_sections': ['i32[]', [2, 1, 1, 0]],
        },
        names: [
          ['post_attention_layernorm', 'post_attention_norm'],
          ['linear_attn.in_proj_qkv', 'attn_qkv'],
          ['linear_attn.in_proj_z', 'attn_gate'],
          ['linear_attn.in_proj_b', 'ssm_beta'],
          ['linear_attn.in_proj_a', 'ssm_alpha'],
          ['linear_attn.norm', 'ssm_norm'],
          ['linear_attn.', ''],
          ...STATE_NAMES,
        ],
        convert(name, tensor) {
          const { shape, values: stay } = convert(name, tensor)
          const width = shape[1] ?? 1
          if (/in_proj_qkv|conv1d/.test(name))
            return { shape, values: inTurns(stay, STATE * width, keys * width) }
          if (/in_proj_z/.test(name)) return { shape, values: inTurns(stay, STATE * width) }
          if (/in_proj_[ab]|A_log|dt_bias/.test(name)) return { shape, values: inTurns(stay, width) }
          if (!/linear_attn\.out_proj/.test(name)) return { shape, values: stay }
          const rows = Array.from({ length: hidden }, (_, row) =>
            inTurns(stay.subarray(row * values, (row + 1) * values), STATE),
          )
          return { shape, values: Float32Array.from(rows.flatMap((row) => [...row])) }
        },
      },
    }
  }

  function qwen3next(): Case {
    const base = qwen35()
    const wideOf = { experts: 5, size: 48, shared: 32 }
    const expert = (at: string, size: number): CaseTensor[] => [
      t(`${at}.gate_proj.weight`, [size, hidden]),
      t(`${at}.up_proj.weight`, [size, hidden]),
      t(`${at}.down_proj.weight`, [hidden, size]),
    ]
    const routed = (at: string): CaseTensor[] => [
      t(`${at}.gate.weight`, [wideOf.experts, hidden]),
      ...Array.from({ length: wideOf.experts }, (_, e) => expert(`${at}.experts.${e}`, wideOf.size)).flat(),
      ...expert(`${at}.shared_expert`, wideOf.shared),
      t(`${at}.shared_expert_gate.weight`, [1, hidden]),
    ]
    const rows = (name: string) => base.tensors.find((one) => one.name.endsWith(name))?.shape[0] ?? 0
    const projections: Readonly<Record<string, readonly [string, number]>> = {
      in_proj_qkv: ['in_proj_qkvz', rows('in_proj_qkv.weight') + rows('in_proj_z.weight')],
      in_proj_b: ['in_proj_ba', 2 * rows('in_proj_b.weight')],
    }
    const tensors = base.tensors.flatMap((one) => {
      if (/in_proj_[az]|mlp\.(up|down)/.test(one.name)) return []
      const [, at] = /^(.*\.mlp)\.gate_proj/.exec(one.name) ?? []
      if (at !== undefined) return routed(at)
      const [, part = ''] = /(in_proj_\w+)/.exec(one.name) ?? []
      const [name = part, n] = projections[part] ?? []
      return n === undefined ? [one] : [{ ...one, name: one.name.replace(part, name), shape: [n, hidden] }]
    })
    const convert = stored()
    const { 'rope.dimension_sections': _, ...keys } = base.gguf.keys
    return {
      family: 'qwen3next',
      config: {
        ...base.config,
        architectures: ['Qwen3NextForCausalLM'],
        num_experts: wideOf.experts,
        num_experts_per_tok: 2,
        moe_intermediate_size: wideOf.size,
        shared_expert_intermediate_size: wideOf.shared,
        norm_topk_prob: true,
      },
      tensors,
      gguf: {
        architecture: 'qwen3next',
        keys: {
          ...keys,
          expert_count: ['u32', wideOf.experts],
          expert_used_count: ['u32', 2],
          expert_feed_forward_length: ['u32', wideOf.size],
          expert_shared_feed_forward_length: ['u32', wideOf.shared],
        },
        names: [
          ['linear_attn.in_proj_qkvz', 'ssm_in'],
          ['linear_attn.in_proj_ba', 'ssm_ba'],
          ['mlp.shared_expert_gate', 'ffn_gate_inp_shexp'],
          [/mlp\.shared_expert\.(gate|up|down)_proj/, 'ffn_$1_shexp'],
          ...(base.gguf.names ?? []),
        ],
        convert(name, tensor) {
          const made = convert(name, tensor)
          return /shared_expert_gate/.test(name) ? { ...made, shape: [hidden] } : made
        },
      },
    }
  }

  function falconH1(): Case {
    const layer = (at: string): CaseTensor[] => [
      t(`${at}.input_layernorm.weight`, [hidden], 'norm'),
      ...attention(`${at}.self_attn`),
      ...mamba2(`${at}.mamba`, false),
      t(`${at}.pre_ff_layernorm.weight`, [hidden], 'norm'),
      ...mlp(`${at}.feed_forward`),
    ]
    const between = GROUPS * STATE
    const sections = [inner, inner, between, between, ssmHeads]
    const [z, x, enter, leave, dt] = [0.8, 1.5, 0.7, 1.2, 0.6]
    const rows = [z, x, enter, leave, dt].flatMap((factor, at) =>
      Array<number>(sections[at] ?? 0).fill(1.25 * factor!),
    )
    const factors: readonly (readonly [RegExp, number])[] = [
      [/embed_tokens/, 3],
      [/lm_head/, 0.4],
      [/[qv]_proj/, 0.9],
      [/k_proj/, 0.9 * 0.5],
      [/o_proj/, 0.75],
      [/out_proj/, 0.5],
      [/gate_proj/, 1.5],
      [/down_proj/, 0.25],
    ]
    const convert = stored(ssmHeads)
    return {
      family: 'falcon_h1',
      config: {
        ...config('FalconH1ForCausalLM', 2),
        mamba_d_ssm: inner,
        mamba_n_heads: ssmHeads,
        mamba_d_head: DIM,
        mamba_d_state: STATE,
        mamba_d_conv: TAPS,
        mamba_n_groups: GROUPS,
        mamba_rms_norm: false,
        embedding_multiplier: 3,
        lm_head_multiplier: 0.4,
        attention_in_multiplier: 0.9,
        key_multiplier: 0.5,
        attention_out_multiplier: 0.75,
        ssm_in_multiplier: 1.25,
        ssm_out_multiplier: 0.5,
        ssm_multipliers: [z, x, enter, leave, dt],
        mlp_multipliers: [1.5, 0.25],
      },
      tensors: model(each(2, 'model.layers', layer), 'model.final_layernorm'),
      gguf: {
        architecture: 'falcon-h1',
        keys: ssmKeys,
        names: [
          ['final_layernorm', 'norm'],
          ['input_layernorm', 'attn_norm'],
          // The converter drops this suffix.
          ['pre_ff_layernorm.weight', 'ffn_norm'],
          ['feed_forward.', 'mlp.'],
          ['mamba.', ''],
          ...STATE_NAMES,
        ],
        convert(name, tensor) {
          const made = convert(name, tensor)
          if (/in_proj/.test(name))
            return { ...made, values: made.values.map((value, at) => value * rows[Math.floor(at / hidden)]!) }
          const factor = factors.find(([pattern]) => pattern.test(name))?.[1] ?? 1
          return { ...made, values: made.values.map((value) => value * factor) }
        },
      },
    }
  }

  function jamba(): Case {
    const rank = 4
    const mamba = (at: string): CaseTensor[] => [
      t(`${at}.in_proj.weight`, [2 * inner, hidden]),
      t(`${at}.conv1d.weight`, [inner, 1, TAPS], 'taps'),
      t(`${at}.conv1d.bias`, [inner], 'bias'),
      t(`${at}.x_proj.weight`, [rank + 2 * STATE, inner]),
      t(`${at}.dt_layernorm.weight`, [rank], 'norm'),
      t(`${at}.b_layernorm.weight`, [STATE], 'norm'),
      t(`${at}.c_layernorm.weight`, [STATE], 'norm'),
      t(`${at}.dt_proj.weight`, [inner, rank]),
      t(`${at}.dt_proj.bias`, [inner], 'bias'),
      t(`${at}.A_log`, [inner, STATE], 'bias'),
      t(`${at}.D`, [inner], 'norm'),
      t(`${at}.out_proj.weight`, [hidden, inner]),
    ]
    const layer = (index: number): CaseTensor[] => {
      const at = `model.layers.${index}`
      return [
        t(`${at}.input_layernorm.weight`, [hidden], 'norm'),
        ...(index === 1 ? attention(`${at}.self_attn`) : mamba(`${at}.mamba`)),
        t(`${at}.pre_ff_layernorm.weight`, [hidden], 'norm'),
        ...mlp(`${at}.feed_forward`),
      ]
    }
    const { 'ssm.group_count': _, ...keys } = ssmKeys
    return {
      family: 'jamba',
      config: {
        ...config('JambaForCausalLM', 3),
        num_experts: 1,
        attn_layer_period: 3,
        attn_layer_offset: 1,
        mamba_d_state: STATE,
        mamba_d_conv: TAPS,
        mamba_expand: 2,
        mamba_dt_rank: rank,
      },
      tensors: model([0, 1, 2].flatMap(layer), 'model.final_layernorm'),
      gguf: {
        architecture: 'jamba',
        keys: {
          ...keys,
          'ssm.time_step_rank': ['u32', rank],
          'attention.head_count_kv': ['i32[]', [0, kvHeads, 0]],
        },
        names: [
          ['final_layernorm', 'norm'],
          ['input_layernorm', 'attn_norm'],
          ['pre_ff_layernorm', 'ffn_norm'],
          ['feed_forward.', 'mlp.'],
          ['mamba.', ''],
          ...STATE_NAMES,
        ],
        convert: stored(),
      },
    }
  }

  function nemotronH(): Case {
    const kinds = ['linear_attention', 'mlp', 'full_attention', 'mlp']
    const layer = (kind: string, index: number): CaseTensor[] => {
      const at = `backbone.layers.${index}`
      const squared = mlp(`${at}.mixer`).filter(({ name }) => !/gate_proj/.test(name))
      const mixer =
        kind === 'mlp'
          ? squared
          : kind === 'full_attention'
            ? attention(`${at}.mixer`)
            : mamba2(`${at}.mixer`, true)
      return [t(`${at}.norm.weight`, [hidden], 'norm'), ...mixer]
    }
    const convert = stored(ssmHeads)
    const { rope_theta: _, ...own } = config('NemotronHForCausalLM', 4)
    return {
      family: 'nemotron_h',
      config: {
        ...own,
        layers_block_type: kinds,
        layer_norm_epsilon: 1e-5,
        mamba_num_heads: ssmHeads,
        mamba_head_dim: DIM,
        ssm_state_size: STATE,
        conv_kernel: TAPS,
        n_groups: GROUPS,
        time_step_min: 0,
      },
      tensors: model(kinds.flatMap(layer), 'backbone.norm_f', 'backbone.embeddings'),
      gguf: {
        architecture: 'nemotron_h',
        keys: {
          ...ssmKeys,
          'attention.layer_norm_epsilon': ['f32', 1e-5],
          'attention.head_count_kv': [
            'i32[]',
            kinds.map((kind) => (kind === 'full_attention' ? kvHeads : 0)),
          ],
          feed_forward_length: ['i32[]', kinds.map((kind) => (kind === 'mlp' ? wide : 0))],
        },
        names: [
          ['backbone.embeddings', 'model.embed_tokens'],
          ['backbone.norm_f', 'model.norm'],
          ['backbone.layers.', 'model.layers.'],
          ['mixer.norm', 'ssm_norm'],
          [/(layers\.\d+)\.norm/, '$1.attn_norm'],
          [/mixer\.([qkvo])_proj/, 'self_attn.$1_proj'],
          [/mixer\.(up|down)_proj/, 'mlp.$1_proj'],
          ['mixer.', ''],
          ...STATE_NAMES,
        ],
        convert(name, tensor) {
          const made = convert(name, tensor)
          return /mixer\.norm/.test(name) ? { ...made, shape: [GROUPS, inner / GROUPS] } : made
        },
      },
    }
  }
}
