// Factors, caps and two rotations. In: the int4 graph that the perf suite writes, with what Granite's and
// Gemma's exports add to it. Out: whether it says what a family with that configuration says, and is known as
// one.
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { randomModel } from '../../bench/random-model.ts'
import { TINY } from '../../bench/shapes.ts'
import { decoder, MOST_POSITIONS } from '../../e2e/perf/onnx/decoder.ts'
import { dataLayout, modelProto, type Node } from '../../e2e/perf/onnx/proto.ts'
import { onnxFiles } from '../../e2e/perf/onnx/write.ts'
import type { ModelConfig } from '../../src/arch/config/config.ts'
import { asFamily } from '../../src/arch/match/as-family.ts'
import { blobSource, bufferSource } from '../../src/base/bytes.ts'
import type { ModelFile } from '../../src/formats/model-file.ts'
import { openModel } from '../../src/formats/open-model.ts'
import type { MetaValue } from '../../src/formats/tensors.ts'
import { packOfModel } from '../testing/families/matrix-families.ts'
import { logitsOf, withModel } from '../testing/node-engine.ts'
import { ggufBytes } from '../testing/writers/gguf-writer.ts'
import { byteTokenizer } from './byte-tokenizer.ts'
import { openGraph } from './open-graph.ts'

const IDS = [98, 120, 81, 104, 75, 66, 110, 99, 12, 200, 7, 31]
const HALF = TINY.headDim / 2
const GRAPH = decoder(TINY, 'int4')

let folder: string
let data: { readonly name: string; readonly bytes: Uint8Array }
let pack: ModelFile
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'halfbyte-onnx-'))
  const gguf = pathToFileURL(join(folder, 'tiny.gguf'))
  const bytes = await ggufBytes(randomModel(TINY))
  await writeFile(gguf, bytes)
  const [{ pathname }] = (await onnxFiles(gguf, TINY, 'int4')).data
  data = { name: basename(pathname), bytes: new Uint8Array(await readFile(pathname)) }
  const made = await packOfModel(await openModel([bufferSource('tiny.gguf', bytes)]), 'auto')
  pack = await openModel([blobSource('tiny.hbm', made)])
})
afterAll(() => rm(folder, { recursive: true }))

type Constants = Readonly<Record<string, readonly [readonly number[], readonly number[]]>>

/** The graph with other nodes, and further constants: shape and values. */
async function opened(nodes: readonly Node[], constants: Constants): Promise<ModelFile> {
  const more = Object.entries(constants).map(([name, [shape]]) => ({ name, type: 'f32' as const, shape }))
  const graph = { ...GRAPH, nodes, weights: [...GRAPH.weights, ...more] }
  const { places, sizes } = dataLayout(graph.weights)
  const bytes = new Uint8Array(sizes[0]!)
  bytes.set(data.bytes)
  for (const [index, [, values]] of Object.values(constants).entries())
    bytes.set(new Uint8Array(Float32Array.from(values).buffer), places[GRAPH.weights.length + index]!.offset)
  const sources = [bufferSource('model.onnx', modelProto(graph, data.name)), bufferSource(data.name, bytes)]
  return openGraph([...sources, byteTokenizer(256)])
}

/** The node that makes `name`, and what is done to that before others read it. */
function followed(name: string, ...steps: readonly (readonly [string, string?])[]): Node[] {
  const maker = GRAPH.nodes.find(({ outputs }) => outputs[0] === name)!
  const plain = { ...maker, outputs: [`${name}.0`, ...maker.outputs.slice(1)] }
  return [
    plain,
    ...steps.map(
      ([op, constant], index): Node => ({
        op,
        inputs: constant === undefined ? [`${name}.${index}`] : [`${name}.${index}`, constant],
        outputs: [index === steps.length - 1 ? name : `${name}.${index + 1}`],
      }),
    ),
  ]
}

const withSteps = (...all: readonly (readonly Node[])[]): Node[] =>
  GRAPH.nodes.flatMap((node) => {
    const name = `${node.outputs[0]}.0`
    return all.find(([plain]) => plain?.outputs[0] === name) ?? [node]
  })

/** Logits of the pack's weights under another configuration. */
async function expectFamily(file: ModelFile, changes: Partial<ModelConfig>): Promise<void> {
  const config = { ...(pack.metadata.get('config') as object), ...changes } as unknown as MetaValue
  const family = { ...pack, metadata: new Map([['config', config]]) }
  const due = await withModel(family, {}, (built) => logitsOf(built, IDS))
  expect(await withModel(file, {}, (built) => logitsOf(built, IDS))).toEqual(due)
  expect(due).not.toEqual(await withModel(pack, {}, (built) => logitsOf(built, IDS)))
  const known = await asFamily(file)
  expect(known.metadata.get('config')).toMatchObject({ ...changes, family: 'qwen2' })
  expect(await withModel(known, {}, (built) => logitsOf(built, IDS))).toEqual(due)
}

test('embeddings and what blocks add are multiplied', async () => {
  const added = [0, 1].flatMap((layer) => [`layer${layer}.attn_output`, `layer${layer}.down`])
  const file = await opened(
    withSteps(
      followed('embed', ['Mul', 'embedding_factor']),
      ...added.map((name) => followed(name, ['Mul', 'residual_factor'])),
    ),
    { embedding_factor: [[], [12]], residual_factor: [[1], [0.25]] },
  )
  await expectFamily(file, { embeddingScale: 12, residualScale: 0.25 })
})

test('logits are divided', async () => {
  const file = await opened(withSteps(followed('logits', ['Div', 'eight'])), { eight: [[], [8]] })
  await expectFamily(file, { logitScale: 0.125 })
})

test('logits are capped', async () => {
  const capped = followed('logits', ['Div', 'two'], ['Tanh'], ['Mul', 'five'])
  const file = await opened(withSteps(capped), { two: [[], [2]], five: [[], [5]] })
  await expectFamily(file, { logitScale: 2.5, logitCap: 5 })
})

test('layers with a window rotate by a base of their own', async () => {
  const angle = (index: number) => Math.floor(index / HALF) * 100 ** (-(index % HALF) / HALF)
  const table = (of: (angle: number) => number) =>
    [[MOST_POSITIONS, HALF], Array.from({ length: MOST_POSITIONS * HALF }, (_, at) => of(angle(at)))] as const
  const nodes = GRAPH.nodes.map((node): Node => {
    if (node.outputs[0] !== 'layer1.attention') return node
    const attributes = { ...node.attributes, local_window_size: ['int', 4] as const }
    return { ...node, inputs: [...node.inputs.slice(0, 7), 'cos_local', 'sin_local'], attributes }
  })
  const file = await opened(nodes, { cos_local: table(Math.cos), sin_local: table(Math.sin) })
  const rope = { theta: 100, dims: TINY.headDim, pairing: 'halves' } as const
  await expectFamily(file, { window: { positions: 4, layers: [1] }, localRope: rope })
})
