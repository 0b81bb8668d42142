// Separates the folder of a vision model into the language model, under its own names, and the vision tower.
import { isObject } from '../../base/values.ts'
import type { MetaObject } from '../json-files.ts'
import type { ModelFile } from '../readers.ts'
import type { MetaValue, TensorInfo } from '../tensors.ts'

/** The class of each language model whose configuration is nested in another that does not name the class. */
const CLASSES: ReadonlyMap<string, string> = new Map<string, string>([
  ['llama', 'LlamaForCausalLM'],
  ['mistral', 'MistralForCausalLM'],
  ['ministral', 'MinistralForCausalLM'],
  ['ministral3', 'Ministral3ForCausalLM'],
  ['cohere2', 'Cohere2ForCausalLM'],
  ['granite', 'GraniteForCausalLM'],
  ['gemma3_text', 'Gemma3ForCausalLM'],
  ['qwen2', 'Qwen2ForCausalLM'],
  ...['qwen2_vl', 'qwen2_vl_text', 'qwen2_5_vl', 'qwen2_5_vl_text'].map(
    (name) => [name, 'Qwen2VLForConditionalGeneration'] as const,
  ),
  ['qwen3', 'Qwen3ForCausalLM'],
  // Without images, the three coordinates are equal.
  ['qwen3_vl_text', 'Qwen3ForCausalLM'],
  ['qwen3_5_text', 'Qwen3_5ForCausalLM'],
  ['smollm3', 'SmolLM3ForCausalLM'],
  ['gemma3n_text', 'Gemma3nForCausalLM'],
  ['gemma4_text', 'Gemma4ForCausalLM'],
])

/** The language model's tensors, except the output matrix. */
const LANGUAGE =
  /^(?:(?:model\.)?(?:language_model|text_model)\.(?:model\.)?|model\.(?=(?:layers|embed_tokens|norm)\.))(.*)$/

type Parts = Pick<ModelFile, 'tensors' | 'metadata' | 'tower'>

/**
 * `processor`: how images are prepared, if the folder states it. A model without a tower keeps all tensors.
 * The names come from several versions of transformers.
 */
export function partTower(
  file: string,
  whole: { readonly config: MetaObject; readonly tensors: ReadonlyMap<string, TensorInfo> },
  processor: MetaObject | undefined,
): Parts {
  const { config, tensors } = whole
  const { vision_config: vision, audio_config: audio, model_type: kindOfAll } = config
  const isOneObject = typeof kindOfAll === 'string' && /^qwen2(_5)?_vl$/.test(kindOfAll)
  // The first Qwen2-VL files keep the settings of both models in one object.
  const text = config['text_config'] ?? (isOneObject ? config : undefined)
  const { model_type: type } = isObject(text) ? text : {}
  const kind = typeof type === 'string' ? type : ''
  if (!isObject(text) || !(isObject(vision) || isObject(audio)))
    return { tensors, metadata: new Map([['config', config]]) }
  const own = new Map<string, TensorInfo>()
  const seen = new Map<string, TensorInfo>()
  for (const [name, tensor] of tensors) {
    const [, plain] = LANGUAGE.exec(name) ?? []
    const isHead = /^(?:language_model\.)?lm_head\./.test(name)
    if (isHead) own.set('lm_head.weight', { ...tensor, name: 'lm_head.weight' })
    else if (plain !== undefined) own.set(`model.${plain}`, { ...tensor, name: `model.${plain}` })
    else {
      const short = name
        .replace(/^model\./, '')
        .replace(/^(?:vision_tower\.|visual\.)?(?:vision_model\.)?/, '')
      seen.set(short, { ...tensor, name: short })
    }
  }
  const { tie_word_embeddings: tied } = config
  const language = {
    ...(text as MetaObject),
    // The whole model's setting overrides its language model's.
    ...(tied === true && { tie_word_embeddings: true }),
    ...(own.has('lm_head.weight') && { tie_word_embeddings: false }),
    architectures: [CLASSES.get(kind) ?? kind],
  }
  const metadata = new Map<string, MetaValue>([['config', language]])
  if (seen.size === 0) return { tensors: own, metadata }
  return {
    tensors: own,
    metadata,
    tower: {
      ...{ format: 'safetensors', name: file, tensors: seen },
      metadata: new Map<string, MetaValue>([
        ['config', config],
        ...(processor === undefined ? [] : [['processor', processor] as const]),
      ]),
    },
  }
}
