// The hyperparameters of a model as config.json of a Hugging Face folder, and a check that a reader would get
// the same model.
import type { ModelConfig, RopeConfig, RopeScaling } from '../../../core/arch/config/config.ts'
import { layersOf } from '../../../core/arch/config/fields.ts'
import { readConfig } from '../../../core/arch/read-config.ts'
import { inverseFrequencies } from '../../../core/arch/rope.ts'
import { HalfbyteError, isHalfbyteError } from '../../../core/base/errors.ts'
import type { MetaObject } from '../../../core/formats/json-files.ts'
import type { TensorInfo } from '../../../core/formats/tensors.ts'
import { firstDifference } from '../gguf/gguf-settings.ts'

/** How transformers names a family, and the keys that only this family has. */
interface FolderFamily {
  readonly type: string
  readonly class: string
  readonly keys?: (config: ModelConfig) => MetaObject
}

const windowKeys = ({ window: sliding }: ModelConfig): MetaObject => ({
  use_sliding_window: sliding !== undefined,
  sliding_window: sliding?.positions ?? 0,
})

/** Families whose tensors and keys are those of transformers, one for one. */
const FAMILIES: ReadonlyMap<string, FolderFamily> = new Map(
  Object.entries({
    llama: { type: 'llama', class: 'LlamaForCausalLM' },
    qwen2: { type: 'qwen2', class: 'Qwen2ForCausalLM', keys: windowKeys },
    qwen3: { type: 'qwen3', class: 'Qwen3ForCausalLM', keys: windowKeys },
    smollm3: {
      type: 'smollm3',
      class: 'SmolLM3ForCausalLM',
      keys: (config) => ({
        ...windowKeys(config),
        no_rope_layers: layersOf(config).map((layer) => (config.unrotatedLayers?.includes(layer) ? 0 : 1)),
      }),
    },
    gemma3: {
      type: 'gemma3_text',
      class: 'Gemma3ForCausalLM',
      keys: (config) => ({
        hidden_activation: 'gelu_pytorch_tanh',
        query_pre_attn_scalar: shortest((config.attentionScale ?? 1 / Math.sqrt(config.headDim)) ** -2),
        rope_local_base_freq: config.localRope?.theta ?? 10_000,
        ...(config.logitCap && { final_logit_softcapping: config.logitCap }),
        sliding_window: config.window?.positions ?? 0,
        layer_types: layersOf(config).map((layer) =>
          config.window?.layers.includes(layer) ? 'sliding_attention' : 'full_attention',
        ),
      }),
    },
  } satisfies Record<string, FolderFamily>),
)

/** Llama with a window in each layer. */
const MISTRAL: FolderFamily = {
  type: 'mistral',
  class: 'MistralForCausalLM',
  keys: ({ window: sliding }) => ({ sliding_window: sliding?.positions ?? 0 }),
}

/**
 * The names of the values, in JSON, without `torch_dtype` and token ids. Throws `unsupported` for other
 * families.
 */
export async function folderConfig(config: ModelConfig): Promise<MetaObject> {
  const { family: name, window: sliding } = config
  const family = name === 'llama' && sliding !== undefined ? MISTRAL : FAMILIES.get(name)
  if (family === undefined) {
    throw new HalfbyteError(
      'unsupported',
      `${config.name} has the family ${config.family}, which cannot be written as a folder, only ${[...FAMILIES.keys()].join(', ')}; write a .hbm`,
      { family: config.family },
    )
  }
  const scaling = ropeScaling(config.rope)
  const json: MetaObject = {
    architectures: [family.class],
    model_type: family.type,
    hidden_size: config.hiddenSize,
    intermediate_size: config.intermediateSize,
    num_hidden_layers: config.layers,
    num_attention_heads: config.heads,
    num_key_value_heads: config.kvHeads,
    head_dim: config.headDim,
    rms_norm_eps: shortest(config.normEpsilon),
    rope_theta: shortest(config.rope.theta),
    max_position_embeddings: config.contextLength,
    vocab_size: config.vocabSize,
    tie_word_embeddings: config.tiedEmbeddings,
    ...(config.family !== 'gemma3' && { hidden_act: 'silu' }),
    ...(scaling !== undefined && { rope_scaling: scaling }),
    ...(config.biases?.qkv !== undefined && { attention_bias: config.biases.qkv }),
    ...(config.biases?.mlp !== undefined && { mlp_bias: config.biases.mlp }),
    ...family.keys?.(config),
  }
  await checkFolder(config, json)
  return json
}

/** The shortest number with the same f32: GGUF stores 1e-6 as 9.999999974752427e-7. */
function shortest(value: number): number {
  for (let digits = 1; digits < 9; digits++) {
    const short = Number(value.toPrecision(digits))
    if (Math.fround(short) === Math.fround(value)) return short
  }
  return value
}

function ropeScaling(rope: RopeConfig): MetaObject | undefined {
  const { scaling } = rope
  switch (scaling?.type) {
    case undefined:
      return undefined
    case 'linear':
      return { rope_type: 'linear', factor: scaling.factor }
    case 'yarn':
      return {
        rope_type: 'yarn',
        factor: scaling.factor,
        original_max_position_embeddings: scaling.originalContextLength,
        beta_fast: scaling.fast,
        beta_slow: scaling.slow,
        attention_factor: scaling.magnitude,
      }
    default:
      return llama3Scaling(rope)
  }
}

/** Llama 3's published settings. GGUF stores only the frequencies that follow from them. */
const LLAMA3 = [8, 32].map((factor) => ({
  type: 'llama3' as const,
  ...{ factor, lowFrequencyFactor: 1, highFrequencyFactor: 4, originalContextLength: 8192 },
}))

/** Settings with the same frequencies; the model is rejected when it is read back if there are none. */
function llama3Scaling(rope: RopeConfig): MetaObject | undefined {
  const own = inverseFrequencies(rope)
  const found: Extract<RopeScaling, { type: 'llama3' }> | undefined =
    rope.scaling?.type === 'llama3'
      ? rope.scaling
      : LLAMA3.find((scaling) =>
          inverseFrequencies({ ...rope, scaling }).every(
            (frequency, pair) => Math.abs(frequency - own[pair]!) <= 1e-6 * own[pair]!,
          ),
        )
  return (
    found && {
      rope_type: 'llama3',
      factor: found.factor,
      low_freq_factor: found.lowFrequencyFactor,
      high_freq_factor: found.highFrequencyFactor,
      original_max_position_embeddings: found.originalContextLength,
    }
  )
}

/** Throws `unsupported` if a reader of the folder would get a different model. */
async function checkFolder(config: ModelConfig, json: MetaObject): Promise<void> {
  const table = { shape: [config.vocabSize, config.hiddenSize] } as unknown as TensorInfo
  const file = {
    name: config.name,
    format: 'safetensors',
    metadata: new Map([['config', json]]),
    tensors: new Map([['model.embed_tokens.weight', table]]),
  } as const
  const other = await readConfig(file).then(
    (back) => firstDifference(config, back),
    (error) => {
      if (isHalfbyteError(error)) return error.message
      throw error
    },
  )
  if (other === undefined) return
  throw new HalfbyteError(
    'unsupported',
    `${config.name}: a config.json for ${config.family} cannot express this model's ${other}, so a different model would be read; write a .hbm`,
    { family: config.family, setting: other },
  )
}
