// Packs of ONNX models. In: exports in every form, and the graphs that the perf suite writes. Out: whether
// each pack belongs to a family and has the graph's logits bit for bit, and whether other graphs are rejected
// with the closest family.
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, test } from 'vitest'
import { onnxFiles } from '../../../lab/bench/perf/onnx/write.ts'
import { randomModel } from '../../../lab/bench/random-model.ts'
import { TINY } from '../../../lab/bench/shapes.ts'
import { openModel } from '../../../src/core/arch/open-model.ts'
import { blobSource, bufferSource } from '../../../src/core/base/bytes.ts'
import type { ModelFile } from '../../../src/core/formats/readers.ts'
import { asFamily } from '../../../src/tools/shrink/match/as-family.ts'
import { packOfModel } from '../testing/families/matrix-families.ts'
import { logitsOf, withModel } from '../testing/node-engine.ts'
import { ggufBytes } from '../testing/writers/gguf-writer.ts'
import { peftFiles, randomLora } from '../testing/writers/lora-files.ts'
import { byteTokenizer } from './byte-tokenizer.ts'
import { openGraph } from './open-graph.ts'

const EXPORTS = join(import.meta.dirname, 'exports')
const IDS = [1, 17, 42, 5, 80, 33, 2, 61]

const read = async (path: string, name = basename(path)) =>
  bufferSource(name, new Uint8Array(await readFile(path)))

const openExport = async (name: string) =>
  openGraph([await read(join(EXPORTS, name, 'model.onnx')), byteTokenizer(96)])

const packOf = async (file: ModelFile, weights: 'auto' | 'w4') => {
  const pack = await packOfModel(await asFamily(file), weights)
  return openModel([blobSource(pack.name, pack)])
}

test.each([
  ['llama-cache', 'llama'],
  ['llama-no-cache', 'llama'],
  ['opset23', 'llama'],
  ['multi-head-causal', 'llama'],
  ['multi-head-mask', 'llama'],
  ['qwen2-cache', 'qwen2'],
  ['qwen3-cache', 'qwen3'],
  ['mamba-channels', 'mamba'],
  ['mamba-rows', 'mamba'],
  ['dynamic-i8', 'llama'],
  ['dynamic-u8', 'qwen2'],
  ['qdq-blocks-16', 'llama'],
  ['qdq-blocks-32', 'llama'],
  ['gelu-exact', 'arcee'],
  ['gelu-tanh', 'arcee'],
])('the pack of %s belongs to %s and has its logits', async (name, family) => {
  const file = await openExport(name)
  for (const weights of ['auto', 'w4'] as const) {
    const pack = await packOf(file, weights)
    expect(pack.metadata.get('config')).toMatchObject({ family, layers: 2 })
    const due = await withModel(file, { weights }, (built) => logitsOf(built, IDS))
    expect(await withModel(pack, {}, (built) => logitsOf(built, IDS))).toEqual(due)
  }
})

/** A random model as GGUF, and as an int4 graph of the same weights. */
async function inBothForms<T>(use: (graph: ModelFile, gguf: ModelFile) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'halfbyte-onnx-'))
  try {
    const bytes = await ggufBytes(randomModel(TINY))
    const gguf = pathToFileURL(join(folder, 'tiny.gguf'))
    await writeFile(gguf, bytes)
    const { model, data } = await onnxFiles(gguf, TINY, 'int4')
    const parts = await Promise.all(data.map(({ pathname }) => read(pathname)))
    const graph = await openGraph([await read(model.pathname), ...parts, byteTokenizer(TINY.vocabSize)])
    return await use(graph, await openModel([bufferSource('tiny.gguf', bytes)]))
  } finally {
    await rm(folder, { recursive: true })
  }
}

test('the int4 form gives the same pack as its GGUF, tensor by tensor', () =>
  inBothForms(async (graph, gguf) => {
    const [own, due] = await Promise.all([packOf(graph, 'auto'), packOf(gguf, 'auto')])
    // The graph reads its logits matrix separately from the embeddings.
    expect([...own.tensors.keys()].filter((name) => !due.tensors.has(name))).toEqual(['output.weight'])
    for (const [name, { source, offset, byteLength, packed }] of due.tensors) {
      const tensor = own.tensors.get(name)!
      expect([name, tensor.packed, tensor.byteLength]).toEqual([name, packed, byteLength])
      const stored = await tensor.source.read(tensor.offset, byteLength)
      expect(Buffer.compare(stored, await source.read(offset, byteLength))).toBe(0)
    }
  }))

test('an adapter changes a family’s weights, and is rejected for a graph', () =>
  inBothForms(async (graph, gguf) => {
    const changed = [
      ['model.layers.0.self_attn.q_proj.weight', [TINY.heads * TINY.headDim, TINY.hiddenSize]],
      ['model.layers.1.mlp.down_proj.weight', [TINY.hiddenSize, TINY.intermediateSize]],
    ] as const
    const weights = new Map(changed.map(([name, shape]) => [name, { shape, values: new Float32Array() }]))
    const lora = peftFiles(randomLora(weights, /./, 2, 7))
    const options = { lora: [{ source: lora, scale: 0.5 }] }
    const [plain, own, due] = await Promise.all([
      withModel(gguf, {}, (built) => logitsOf(built, IDS)),
      withModel(await asFamily(graph), options, (built) => logitsOf(built, IDS)),
      withModel(gguf, options, (built) => logitsOf(built, IDS)),
    ])
    expect(own).toEqual(due)
    expect(own).not.toEqual(plain)
    await expect(withModel(graph, options, (built) => logitsOf(built, IDS))).rejects.toMatchObject({
      code: 'unsupported',
      message: expect.stringMatching(/halfbyte convert --lora/),
    })
  }))

test('a graph that no family builds is rejected with the closest family', async () => {
  await expect(openExport('dynamic-bare').then((file) => asFamily(file))).rejects.toMatchObject({
    code: 'unsupported',
    message: expect.stringMatching(
      /no model family builds; the closest is llama, where layers\.0\.attn_norm is made by rmsnorm instead of embed; load it as it is/,
    ),
    detail: { nearest: 'llama' },
  })
})

test('a graph that limits activations is rejected, because families do not', async () => {
  await expect(openExport('qdq-static').then((file) => asFamily(file))).rejects.toMatchObject({
    code: 'unsupported',
    message: expect.stringMatching(/no model family builds; the closest is llama, where .*clamp/),
  })
})

test('a model without a graph is unchanged', async () => {
  const file = await openModel([bufferSource('tiny.gguf', await ggufBytes(randomModel(TINY)))])
  expect(await asFamily(file)).toBe(file)
})
