// The models of the embeddings bench: a sentence encoder of MiniLM's shape with random weights, for Halfbyte
// and for transformers.js, and a tokenizer for both in which each word is one token.
import { copyFileSync, existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { bertTokenizer } from '../../../test/conformance/testing/random-bert.ts'
import {
  type StoredTensor,
  safetensorsBytes,
} from '../../../test/conformance/testing/writers/safetensors-writer.ts'
import { bertBytes, bertConstants, MINILM } from '../graphs/bert.ts'

const SPECIAL = ['[PAD]', '[UNK]', '[CLS]', '[SEP]', '[MASK]']
const SYLLABLES = [...'bdfgklmnprstvz'].flatMap((consonant) => [...'aeiou'].map((vowel) => consonant + vowel))
/** Words that are not prefixes of each other, so that each is one token. */
const WORDS = SYLLABLES.flatMap((first) => SYLLABLES.map((second) => first + second)).slice(
  0,
  MINILM.vocabulary - SPECIAL.length,
)

/** A text of `tokens` tokens, including the special tokens at both ends; different for each `index`. */
export const textOf = (tokens: number, index: number): string =>
  Array.from({ length: tokens - 2 }, (_, at) => WORDS[(index * 97 + at * 37) % WORDS.length]).join(' ')

/** Maps names in the graph to those in transformers' files. */
const NAMES: readonly (readonly [RegExp, string])[] = [
  [/^words\.table$/, 'embeddings.word_embeddings.weight'],
  [/^types\.table$/, 'embeddings.token_type_embeddings.weight'],
  [/^places\.table$/, 'embeddings.position_embeddings.weight'],
  [/^embeddings\./, 'embeddings.LayerNorm.'],
  [/^layer\.(\d+)\.(query|key|value)\./, 'encoder.layer.$1.attention.self.$2.'],
  [/^layer\.(\d+)\.output\./, 'encoder.layer.$1.attention.output.dense.'],
  [/^layer\.(\d+)\.norm\./, 'encoder.layer.$1.attention.output.LayerNorm.'],
  [/^layer\.(\d+)\.up\./, 'encoder.layer.$1.intermediate.dense.'],
  [/^layer\.(\d+)\.down\./, 'encoder.layer.$1.output.dense.'],
  [/^layer\.(\d+)\.out\./, 'encoder.layer.$1.output.LayerNorm.'],
]

/** The graph's weights as safetensors. Matrices become [outputs, inputs]. */
function safetensors(): Uint8Array {
  const tensors: Record<string, StoredTensor> = {}
  for (const { name, dims, values } of bertConstants(MINILM)) {
    const [pattern, by] = NAMES.find(([each]) => each.test(name)) ?? []
    if (pattern === undefined || by === undefined || !/(weight|bias|table)$/.test(name)) continue
    const isTurned = dims.length === 2 && !name.endsWith('table')
    const [from = 0, to = 0] = dims
    const data = isTurned
      ? Float32Array.from(
          { length: values.length },
          (_, at) => values[(at % from) * to + Math.floor(at / from)]!,
        )
      : values
    const shape = isTurned ? [to, from] : dims
    tensors[name.replace(pattern, by)] = { dtype: 'F32', shape, data: new Uint8Array(data.buffer) }
  }
  return safetensorsBytes(tensors)
}

/**
 * Writes a folder that both can read. `quantized`: transformers.js's own 8-bit graph of all-MiniLM-L6-v2,
 * with real weights.
 */
export function writeModel(folder: string, quantized: string): void {
  const { hidden, layers, heads, intermediate, positions, vocabulary } = MINILM
  mkdirSync(join(folder, 'onnx'), { recursive: true })
  const json = (name: string, value: object) => writeFileSync(join(folder, name), JSON.stringify(value))
  json('config.json', {
    ...{
      architectures: ['BertModel'],
      model_type: 'bert',
      hidden_act: 'gelu',
      type_vocab_size: 2,
      pad_token_id: 0,
    },
    ...{ hidden_size: hidden, num_hidden_layers: layers, num_attention_heads: heads },
    ...{ intermediate_size: intermediate, max_position_embeddings: positions, vocab_size: vocabulary },
    layer_norm_eps: 1e-12,
  })
  json('tokenizer.json', bertTokenizer([...SPECIAL, ...WORDS]))
  json('tokenizer_config.json', { tokenizer_class: 'BertTokenizer', model_max_length: positions })
  json('modules.json', [
    { idx: 0, name: '0', path: '', type: 'sentence_transformers.models.Transformer' },
    { idx: 1, name: '1', path: '1_Pooling', type: 'sentence_transformers.models.Pooling' },
    { idx: 2, name: '2', path: '2_Normalize', type: 'sentence_transformers.models.Normalize' },
  ])
  writeFileSync(join(folder, 'model.safetensors'), safetensors())
  writeFileSync(join(folder, 'onnx/model.onnx'), bertBytes(MINILM))
  if (!existsSync(quantized)) throw new Error('the 8-bit graph is missing; run npm run setup -- minilm')
  copyFileSync(quantized, join(folder, 'onnx/model_quantized.onnx'))
}
