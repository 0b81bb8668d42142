// Encoders in ONNX graphs. In: small random encoders in transformers.js's layout, as files, as a folder and
// from a server. Out: the vectors and scores that onnxruntime computed, and errors for other graphs.
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { Embedder, EmbedderOptions } from '../../../src/encoders/embedder/embedder.ts'
import { modelBytes, type WrittenValue } from '../../../src/network/onnx/testing/write-model.ts'
import { loadEmbedder } from '../../../src/tools/cli/models/node-models.ts'
import { serveFiles } from '../../helpers/file-server.ts'
import { newFile } from '../testing/model-files.ts'
import { pooledResult, type Repository, repository, resultsOf, TEXTS, unit } from './graph-repository.ts'
import { distance, withEmbedder } from './open-embedder.ts'

const picked = (files: Repository): File[] =>
  [...files].map(([path, bytes]) => newFile(path.split('/').at(-1)!, bytes))

const withPicked = <T>(
  files: Repository,
  options: EmbedderOptions,
  use: (embedder: Embedder) => Promise<T>,
): Promise<T> => withEmbedder(picked(files), options, use)

const POOLING = {
  mean: { pooling_mode_mean_tokens: true },
  cls: { pooling_mode_cls_token: true },
  last: { pooling_mode_lasttoken: true },
}
const module = (type: string, path: string) => ({ type: `sentence_transformers.models.${type}`, path })

describe('the vectors of onnxruntime', () => {
  const expectVectors = async (embedder: Embedder, rights: readonly Float64Array[], most = 2e-6) => {
    const { vectors, truncated } = await embedder.embed(TEXTS)
    for (const [index, vector] of vectors.entries())
      expect(distance(vector, rights[index]!), TEXTS[index]!).toBeLessThan(most)
    expect(truncated).toEqual([])
  }

  test('of a graph that pools, in the order of the texts', async () => {
    await withPicked(repository('bert'), {}, async (embedder) => {
      expect(embedder.model).toMatchObject({
        architecture: 'bert',
        task: 'embed',
        dimensions: 16,
        maxTokens: 48,
      })
      await expectVectors(
        embedder,
        resultsOf('bert').map(({ vector }) => unit(vector!)),
      )
      const { tokens } = await embedder.embed(TEXTS)
      expect(tokens).toEqual(resultsOf('bert').map((result) => result.tokens))
    })
  })

  test.each(['mean', 'cls', 'last'] as const)('of a graph with states, pooled by %s', async (pooling) => {
    const rights = resultsOf('xlm-roberta').map((result) => pooledResult(result, pooling))
    const stated = { '1_Pooling/config.json': POOLING[pooling] }
    await withPicked(repository('xlm-roberta', stated), {}, (embedder) => expectVectors(embedder, rights))
    await withPicked(repository('xlm-roberta'), { pooling }, (embedder) => expectVectors(embedder, rights))
  })

  test('of the states of a graph that pools, if the caller chooses a pooling method', async () => {
    const rights = resultsOf('bert').map((result) => pooledResult(result, 'cls'))
    await withPicked(repository('bert'), { pooling: 'cls' }, (embedder) => expectVectors(embedder, rights))
  })

  test('of a decoder with inputs for earlier tokens, which stay empty', async () => {
    const rights = resultsOf('qwen3').map((result) => pooledResult(result, 'last'))
    const stated = { '1_Pooling/config.json': POOLING.last }
    await withPicked(repository('qwen3', stated), {}, (embedder) => expectVectors(embedder, rights))
  })

  test('approximately, in 8 bits, because the graph rounds activations', async () => {
    const rights = resultsOf('bert-int8').map(({ vector }) => unit(vector!))
    const files = repository('bert-int8', {}, 'onnx/model_quantized.onnx')
    await withPicked(files, { dtype: 'q8' }, (embedder) => expectVectors(embedder, rights, 0.02))
  })

  test.each([
    { weights: 'w8', most: 0.02 },
    { weights: 'w4', most: 0.3 },
  ] as const)('approximately, with weights in $weights', async ({ weights, most }) => {
    const rights = resultsOf('bert').map(({ vector }) => unit(vector!))
    await withPicked(repository('bert'), { weights }, (embedder) => expectVectors(embedder, rights, most))
  })

  test('bit for bit with one thread and with two, alone and in a batch', async () => {
    const vectorsOf = (options: EmbedderOptions) =>
      withPicked(repository('xlm-roberta'), options, async (embedder) => {
        const { vectors } = await embedder.embed(TEXTS)
        const [alone] = (await embedder.embed([TEXTS[1]!])).vectors
        expect(alone).toEqual(vectors[1])
        return { vectors, threads: embedder.threads, pool: embedder.pool }
      })
    const one = await vectorsOf({ threads: 1 })
    const two = await vectorsOf({ threads: 2 })
    expect([one.threads, one.pool, two.threads, two.pool]).toEqual([1, 'single', 2, 'shared'])
    expect(two.vectors).toEqual(one.vectors)
  })

  test("normalised only if modules.json says so, with the folder's prompts", async () => {
    const files = repository('xlm-roberta', {
      'modules.json': [module('Transformer', ''), module('Pooling', '1_Pooling')],
      '1_Pooling/config.json': POOLING.mean,
      'sentence_bert_config.json': { max_seq_length: 9 },
      'config_sentence_transformers.json': { prompts: { query: 'the ' } },
    })
    await withPicked(files, {}, async (embedder) => {
      expect(embedder.model).toMatchObject({ maxTokens: 9, prompts: ['query'] })
      const { vectors } = await embedder.embed(['cat'], { kind: 'query' })
      const { states = [] } = resultsOf('xlm-roberta')[0]!
      const mean = states[0]!.map((_, at) => states.reduce((sum, row) => sum + row[at]! / states.length, 0))
      expect(distance(vectors[0]!, Float64Array.from(mean))).toBeLessThan(2e-6)
      expect((await embedder.embed([TEXTS[1]!])).truncated).toEqual([0])
    })
  })
})

test("a reranker gives onnxruntime's scores after its class's sigmoid", async () => {
  await withPicked(repository('reranker'), {}, async (embedder) => {
    expect(embedder.model.task).toBe('rerank')
    const { results, tokens } = await embedder.rerank('the cat', TEXTS)
    const rights = resultsOf('reranker')
    for (const { index, score } of results)
      expect(score).toBeCloseTo(1 / (1 + Math.exp(-rights[index]!.logit!)), 6)
    expect(tokens).toEqual(rights.map((right) => right.tokens))
    await expect(embedder.embed(['a'])).rejects.toMatchObject({ code: 'unsupported' })
  })
})

const IDS: WrittenValue = { name: 'input_ids', type: 7, dims: ['batch', 'tokens'] }
const STATES: WrittenValue = { name: 'last_hidden_state', type: 1, dims: ['batch', 'tokens', 4] }
const ROWS = Float32Array.from({ length: 68 * 4 }, (_, at) => Math.sin(at))

/** A graph that looks tokens up in a table, stored in a separate file. */
const lookup = (inputs: readonly WrittenValue[] = [IDS], outputs: readonly WrittenValue[] = [STATES]) =>
  Uint8Array.from(
    modelBytes({
      nodes: [
        { op: 'Gather', inputs: ['table', inputs[0]!.name], outputs: [outputs[0]!.name] },
        ...outputs.slice(1).map(({ name }) => ({ op: 'Identity', inputs: ['table'], outputs: [name] })),
      ],
      constants: [{ name: 'table', type: 1, dims: [68, 4], external: { location: 'model.onnx_data' } }],
      inputs,
      outputs,
    }),
  )

const withData = (graph: Uint8Array<ArrayBuffer>, others = {}): Repository =>
  new Map([...repository(graph, others), ['onnx/model.onnx_data', new Uint8Array(ROWS.buffer)]])

describe('a repository with external data', () => {
  const files = withData(lookup())
  /** The mean over the rows of [CLS], "the", "cat" and [SEP]. */
  const right = () => {
    const ids = [2, 57, 58, 3]
    return unit([0, 1, 2, 3].map((at) => ids.reduce((sum, id) => sum + ROWS[id * 4 + at]!, 0)))
  }
  const expectRight = async (embedder: Embedder) => {
    const { vectors } = await embedder.embed(['the cat'])
    expect(distance(vectors[0]!, right())).toBeLessThan(1e-6)
    // A text of a new length reads the weights again.
    await embedder.embed(TEXTS)
    const { totalBytes, weightsBytes } = await embedder.memory()
    expect(totalBytes).toBeGreaterThanOrEqual(weightsBytes)
    expect(weightsBytes).toBeGreaterThanOrEqual(ROWS.byteLength)
    await embedder.dispose()
  }

  test('loads from files', () => withPicked(files, {}, expectRight))

  test('loads from a folder', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'halfbyte-graph-'))
    try {
      for (const [path, bytes] of files) {
        await mkdir(dirname(join(folder, path)), { recursive: true })
        await writeFile(join(folder, path), bytes)
      }
      await expectRight(await loadEmbedder(folder))
    } finally {
      await rm(folder, { recursive: true })
    }
  })

  test('loads from a server, in the requested precision, with progress', async () => {
    const server = await serveFiles(Object.fromEntries([...files].map(([path, bytes]) => [path, bytes])))
    try {
      const phases: string[] = []
      const onProgress = ({ phase }: { readonly phase: string }) => void phases.push(phase)
      await expectRight(await loadEmbedder(server.address, { dtype: 'fp32', onProgress }))
      expect([...new Set(phases)]).toEqual(['download', 'compile', 'warmup'])
      await expect(loadEmbedder(server.address, { dtype: 'q4' })).rejects.toMatchObject({ code: 'network' })
      server.files.delete('onnx/model.onnx_data')
      await expect(loadEmbedder(server.address)).rejects.toThrow('model.onnx_data')
    } finally {
      await server.close()
    }
  })
})

describe('other graphs are rejected with the entry that runs them:', () => {
  const mask: WrittenValue = { name: 'attention_mask', type: 7, dims: ['batch', 'tokens'] }
  const named = (name: string, dims: readonly (number | string)[]): WrittenValue => ({ name, type: 1, dims })
  const cases: readonly (readonly [what: string, files: Repository, message: string])[] = [
    ['a chat model with states', repository('qwen3-chat'), 'Engine.load'],
    [
      'a decoder with logits',
      repository('qwen3-chat', { '1_Pooling/config.json': POOLING.last }),
      'is a decoder that generates text',
    ],
    ['no tokenizer', repository('bert', { 'tokenizer.json': undefined }), 'without a tokenizer'],
    [
      'a tokenizer of another model',
      repository('bert', { 'config.json': { vocab_size: 12 } }),
      'belongs to a different model',
    ],
    ['pictures', withData(lookup([IDS, named('pixel_values', ['b', 3, 8, 8])])), 'pixel_values'],
    ['no ids', withData(lookup([{ ...IDS, name: 'ids' }])), 'instead of input_ids'],
    [
      'one half of an encoder-decoder model',
      withData(lookup([IDS, { ...IDS, name: 'decoder_input_ids' }])),
      'encoder-decoder',
    ],
    ['a fixed number of texts', withData(lookup([{ ...IDS, dims: [8, 'tokens'] }])), '8 texts at a time'],
    [
      'a fixed number of tokens without a mask',
      withData(lookup([{ ...IDS, dims: [1, 32] }])),
      'no attention_mask',
    ],
    [
      'unknown outputs',
      withData(lookup([IDS, mask], [named('a', ['b', 't', 4]), named('b', [68, 4])])),
      'outputs a, b',
    ],
    [
      'logits of each position',
      withData(lookup([IDS, mask], [named('logits', ['batch', 'tokens', 4])])),
      'a model for filling in words',
    ],
    ['an unknown module', withData(lookup(), { 'modules.json': [module('CNN', 'x')] }), 'CNN'],
  ]

  test.each(cases)('%s', async (_, files, message) => {
    const loading = withPicked(files, {}, async () => undefined)
    await expect(loading).rejects.toThrow(message)
    await expect(loading).rejects.toMatchObject({ code: expect.stringMatching(/^(unsupported|format)$/) })
  })

  test('per-channel scales, which networks do not support', async () => {
    const loading = withPicked(repository('bert'), { weights: 'w4_channel' }, async () => undefined)
    await expect(loading).rejects.toThrow('auto, f32, w8 or w4')
  })
})

test('a graph with a fixed size pads shorter texts and truncates longer ones', async () => {
  const mask: WrittenValue = { name: 'attention_mask', type: 7, dims: [1, 8] }
  const fixed = lookup([{ ...IDS, dims: [1, 8] }, mask], [{ ...STATES, dims: [1, 8, 4] }])
  await withPicked(withData(fixed), {}, async (embedder) => {
    expect(embedder.model.maxTokens).toBe(8)
    const { vectors, truncated } = await embedder.embed(['the cat', TEXTS[4]!])
    await withPicked(withData(lookup()), {}, async (other) => {
      expect(vectors[0]).toEqual((await other.embed(['the cat'])).vectors[0])
    })
    expect(truncated).toEqual([1])
  })
})

test('an abort ends a load or a call, and the embedder stays usable', async () => {
  const stopped = AbortSignal.abort(new Error('stopped'))
  await expect(withPicked(repository('bert'), { signal: stopped }, async () => undefined)).rejects.toThrow(
    'stopped',
  )
  await withPicked(repository('bert'), {}, async (embedder) => {
    const asked = new AbortController()
    const onProgress = () => asked.abort(new Error('enough'))
    const { signal } = asked
    await expect(embedder.embed(TEXTS, { signal, onProgress })).rejects.toThrow('enough')
    expect((await embedder.embed(['a'])).vectors).toHaveLength(1)
  })
})
