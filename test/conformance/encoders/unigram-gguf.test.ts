// GGUF files of XLM-RoBERTa, with its unigram vocabulary. In: random encoders and rerankers. Out: the
// vectors and scores of a definition in f64.
import { expect, test } from 'vitest'
import { encoderTokenizer } from '../../../src/core/text/tokenize/read/encoder-tokenizer.ts'
import { newFile } from '../testing/model-files.ts'
import {
  bertScoreOf,
  bertStates,
  pooled,
  type RandomBert,
  randomBert,
  scaled,
  VOCABULARY,
} from '../testing/random-bert.ts'
import { type GgufValue, ggufBytes } from '../testing/writers/gguf-writer.ts'
import { distance, withEmbedder } from './open-embedder.ts'

const TEXTS = ['the cat', '  the running   cats ', '', 'a', `${'abc the runner '.repeat(5)}x`, 'the <mask> ☃']

/** XLM-RoBERTa's control tokens, and pieces, in which a marker begins a word. */
const TOKENS = ['<s>', '<pad>', '</s>', '<unk>', '<mask>'].concat(
  VOCABULARY.slice(5).map((token) => (token.startsWith('##') ? token.slice(2) : `\u2581${token}`)),
)
const SPEC = {
  kind: 'gguf',
  model: 't5',
  tokens: TOKENS,
  scores: TOKENS.map((token, id) => (id < 5 ? 0 : -10 / token.length - id / 1000)),
  types: TOKENS.map((_, id) => (id === 3 ? 2 : id < 5 ? 3 : 1)),
  bosId: 0,
  eosId: 2,
  unknownId: 3,
} as const
const { encode } = encoderTokenizer(SPEC, { sep: 2 })
const idsOf = (text: string): number[] => [0, ...encode(text), 2]

const NAMES: readonly (readonly [string | RegExp, string])[] = [
  ['embeddings.word_embeddings', 'token_embd'],
  ['embeddings.position_embeddings', 'position_embd'],
  ['embeddings.token_type_embeddings', 'token_types'],
  ['embeddings.LayerNorm', 'token_embd_norm'],
  [/encoder\.layer\.(\d+)/, 'blk.$1'],
  [/attention\.self\.(.)\w+/, 'attn_$1'],
  ['attention.output.dense', 'attn_output'],
  ['attention.output.LayerNorm', 'attn_output_norm'],
  ['intermediate.dense', 'ffn_up'],
  [/(?<!attn_)output\.dense/, 'ffn_down'],
  ['output.LayerNorm', 'layer_output_norm'],
  ['classifier.dense', 'cls'],
  ['classifier.out_proj', 'cls.output'],
]

/** The file as written by llama.cpp's converter, which drops the padding positions. */
async function ggufOf({ config, weights }: RandomBert, pooling: number, left: RegExp): Promise<File> {
  const first = config.pad_token_id + 1
  const width = config.hidden_size
  const u32 = (value: number): GgufValue => ['u32', value]
  const metadata: Record<string, GgufValue> = {
    'general.architecture': ['string', 'bert'],
    'general.name': ['string', 'random'],
    'bert.block_count': u32(config.num_hidden_layers),
    'bert.context_length': u32(config.max_position_embeddings - first),
    'bert.embedding_length': u32(width),
    'bert.feed_forward_length': u32(config.intermediate_size),
    'bert.attention.head_count': u32(config.num_attention_heads),
    'bert.attention.causal': ['bool', false],
    'bert.attention.layer_norm_epsilon': ['f32', config.layer_norm_eps],
    'bert.pooling_type': u32(pooling),
    'tokenizer.ggml.model': ['string', 't5'],
    'tokenizer.ggml.tokens': ['string[]', SPEC.tokens],
    'tokenizer.ggml.scores': ['f32[]', SPEC.scores],
    'tokenizer.ggml.token_type': ['i32[]', SPEC.types],
    'tokenizer.ggml.bos_token_id': u32(SPEC.bosId),
    'tokenizer.ggml.eos_token_id': u32(SPEC.eosId),
    'tokenizer.ggml.unknown_token_id': u32(SPEC.unknownId),
    'tokenizer.ggml.seperator_token_id': u32(2),
  }
  const tensors = [...weights].map(([name, { shape, values }]) => {
    const isTable = name.includes('position_embeddings')
    const kept = isTable ? values.slice(first * width) : values
    return {
      name: NAMES.reduce((text, [from, to]) => text.replace(from, to), name),
      dtype: 'F32' as const,
      shape: isTable ? [shape[0]! - first, width] : shape,
      data: () => [new Uint8Array(kept.buffer)],
    }
  })
  const written = tensors.filter(({ name }) => !left.test(name))
  return newFile('random.gguf', await ggufBytes({ metadata, tensors: written }))
}
const NONE = /^$/

test.each([0, 1, 2, 3])('an encoder has the vectors of the definition, %i', async (seed) => {
  const model = randomBert(seed, { family: 'XLMRoberta' })
  await withEmbedder([await ggufOf(model, 1, NONE)], {}, async (embedder) => {
    const { vectors, tokens } = await embedder.embed(TEXTS)
    expect(tokens).toEqual(TEXTS.map((text) => idsOf(text).length))
    for (const [index, text] of TEXTS.entries()) {
      const right = scaled(pooled(bertStates(model, idsOf(text)), () => 1))
      expect(distance(vectors[index]!, right)).toBeLessThan(1e-5)
    }
  })
})

test.each([0, 1, 2, 3])('a reranker scores as defined, %i', async (seed) => {
  const model = randomBert(seed, { family: 'XLMRoberta', isReranker: true })
  await withEmbedder([await ggufOf(model, 4, NONE)], {}, async (embedder) => {
    expect(embedder.model.task).toBe('rerank')
    const { results } = await embedder.rerank('a cat', TEXTS)
    for (const { index, score } of results) {
      const right = bertScoreOf(model, [...idsOf('a cat'), 2, ...encode(TEXTS[index]!), 2])
      expect(score).toBeCloseTo(1 / (1 + Math.exp(-right)), 4)
    }
  })
})

test('a reranker whose converter omitted part of its head is rejected', async () => {
  const model = randomBert(1, { family: 'XLMRoberta', isReranker: true })
  const load = withEmbedder([await ggufOf(model, 4, /^cls\.(weight|bias)/)], {}, async () => undefined)
  await expect(load).rejects.toMatchObject({
    code: 'unsupported',
    message: expect.stringContaining('without its first matrix'),
  })
})
