// Dense modules after the pooling. In: random encoders with random modules, as picked files, as folders and
// in GGUF. Out: the vectors of a definition in f64.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { jsonSpec } from '../../../src/core/text/testing/tiny.ts'
import { encoderTokenizer } from '../../../src/core/text/tokenize/read/encoder-tokenizer.ts'
import { loadEmbedder } from '../../../src/tools/cli/models/node-models.ts'
import { pooled, scaled } from '../testing/random-bert.ts'
import { distance, withEmbedder } from './open-embedder.ts'
import { around, bodyFolder, bodyGguf, bodyStates, type RandomBody, randomBody } from './random-bodies.ts'
import { denseFiles, denseOf, type RandomDense, randomDense } from './random-dense.ts'
import { modernStates, type RandomModern, randomModern } from './random-modern.ts'

const TEXT = 'hello world, and another world or two'
const plain = encoderTokenizer(jsonSpec())
const idsOf = (model: RandomBody | RandomModern): number[] => {
  const [before, after] = around(model)
  return [...before, ...plain.encode(TEXT), ...after]
}
const meanOf = (model: RandomBody | RandomModern): Float64Array =>
  pooled(
    model.family === 'modern' ? modernStates(model, idsOf(model)) : bodyStates(model, idsOf(model)),
    () => 1,
  )

const MODULES = ['Transformer', 'Pooling', 'Dense', 'Dense', 'Normalize']

/** EmbeddingGemma's two modules: one widens the vector, the other narrows it. */
const gemmaModules = (seed: number, width: number): [RandomDense, RandomDense] => [
  randomDense(seed, width, 4 * width + 1),
  randomDense(seed + 100, 4 * width + 1, width),
]

describe('EmbeddingGemma', () => {
  test.each([0, 1, 2, 3])('has the vectors of the definition from picked files, %i', async (seed) => {
    const model = randomBody('gemma', seed)
    const modules = gemmaModules(seed, model.config.hidden_size)
    const right = modules.reduce((x, module) => denseOf(module, x), meanOf(model))
    // A picked folder's files may come in any order.
    const others = modules.flatMap(denseFiles)
    const files = bodyFolder(model, {
      modules: MODULES,
      others: seed % 2 === 0 ? others : others.toReversed(),
    })
    await withEmbedder(seed % 2 === 0 ? files : files.toReversed(), {}, async (embedder) => {
      expect(embedder.model.dimensions).toBe(model.config.hidden_size)
      const { vectors } = await embedder.embed([TEXT])
      expect(distance(vectors[0]!, scaled(right))).toBeLessThan(1e-5)
      const short = await embedder.embed([TEXT], { dimensions: 5 })
      expect(distance(short.vectors[0]!, scaled(right.slice(0, 5)))).toBeLessThan(1e-5)
    })
  })

  test('has the vectors of the definition from GGUF', async () => {
    const model = randomBody('gemma', 2)
    const modules = gemmaModules(2, model.config.hidden_size)
    const weights = new Map(model.weights)
    for (const [index, { weight, outputs, inputs }] of modules.entries())
      weights.set(`dense_${index + 2}.weight`, { shape: [outputs, inputs], values: weight })
    const right = modules.reduce((x, module) => denseOf(module, x), meanOf(model))
    await withEmbedder([await bodyGguf({ ...model, weights }, 1)], {}, async (embedder) => {
      const { vectors } = await embedder.embed([TEXT])
      expect(distance(vectors[0]!, scaled(right))).toBeLessThan(1e-5)
    })
  })
})

describe('a Dense module', () => {
  const model = randomModern(3)
  const width = model.config.hidden_size
  const modules = ['Transformer', 'Pooling', 'Dense']
  const folder = mkdtempSync(join(tmpdir(), 'halfbyte-dense-'))
  afterAll(() => rmSync(folder, { recursive: true }))

  test('of any family, with tanh and a bias, makes longer vectors, loaded from a folder', async () => {
    const module = randomDense(1, width, 2 * width + 3, 'torch.nn.modules.activation.Tanh', true)
    const [pooling, ...others] = bodyFolder(model, { modules }).toReversed()
    mkdirSync(join(folder, '1_Pooling'))
    mkdirSync(join(folder, '2_Dense'))
    const write = async (path: string, file: File) =>
      writeFileSync(join(folder, path), Buffer.from(await file.arrayBuffer()))
    await write('1_Pooling/config.json', pooling!)
    for (const file of denseFiles(module)) await write(`2_Dense/${file.name}`, file)
    for (const file of others) await write(file.name, file)
    const embedder = await loadEmbedder(folder, { threads: 1 })
    try {
      expect(embedder.model.dimensions).toBe(module.outputs)
      const { vectors } = await embedder.embed([TEXT])
      expect(distance(vectors[0]!, denseOf(module, meanOf(model)))).toBeLessThan(1e-5)
    } finally {
      await embedder.dispose()
    }
  })

  const load = (others: readonly File[], kinds = modules) =>
    withEmbedder(bodyFolder(model, { modules: kinds, others }), {}, async () => undefined)
  const good = () => denseFiles(randomDense(1, width, 7))

  test.each<[string, () => Promise<unknown>, string, RegExp]>([
    [
      'with another activation',
      () => load(denseFiles(randomDense(1, width, 7, 'torch.nn.ReLU'))),
      'unsupported',
      /ReLU/,
    ],
    [
      'before the pooling',
      () => load(good(), ['Transformer', 'Dense', 'Pooling']),
      'unsupported',
      /in this position/,
    ],
    ['without weights', () => load(good().slice(1)), 'format', /1 configurations and 0 weights/],
    ['without a configuration', () => load(good().slice(0, 1)), 'format', /0 configurations/],
    [
      'for another width',
      () => load(denseFiles(randomDense(1, width + 1, 7))),
      'format',
      new RegExp(`${width} inputs`),
    ],
    ['that is ambiguous', () => load([...good(), ...good()]), 'format', /2 configurations/],
  ])('%s is rejected', async (_, loaded, code, message) => {
    await expect(loaded()).rejects.toMatchObject({ code, message: expect.stringMatching(message) })
  })
})
