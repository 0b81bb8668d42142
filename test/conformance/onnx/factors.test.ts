// Features of other families' exports. In: the perf suite's int4 graph, with the factors, caps and rotations
// of Granite's and Gemma's exports and the norms of Qwen3's. Out: whether it gives the logits of a family
// with that configuration, and is recognised as that family.
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { decoder, MAX_POSITIONS } from '../../../lab/bench/perf/onnx/decoder.ts'
import { dataLayout, type ElementType, modelProto, weightBytes } from '../../../lab/bench/perf/onnx/proto.ts'
import { onnxFiles } from '../../../lab/bench/perf/onnx/write.ts'
import { randomModel } from '../../../lab/bench/random-model.ts'
import { TINY } from '../../../lab/bench/shapes.ts'
import type { ModelConfig } from '../../../src/core/arch/config/config.ts'
import { openModel } from '../../../src/core/arch/open-model.ts'
import { blobSource, bufferSource } from '../../../src/core/base/bytes.ts'
import type { ModelFile } from '../../../src/core/formats/readers.ts'
import type { MetaValue, TensorIndex, TensorInfo } from '../../../src/core/formats/tensors.ts'
import type { WrittenNode } from '../../../src/network/onnx/testing/write-model.ts'
import { asFamily } from '../../../src/tools/shrink/match/as-family.ts'
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

interface Constant {
  readonly type: ElementType
  readonly shape: readonly number[]
  readonly bytes: Uint8Array
}
type Constants = Readonly<Record<string, Constant>>

const floats = (shape: readonly number[], values: readonly number[]): Constant => ({
  type: 'f32',
  shape,
  bytes: new Uint8Array(Float32Array.from(values).buffer),
})

/** The graph with other nodes and more constants. */
async function opened(nodes: readonly WrittenNode[], constants: Constants): Promise<ModelFile> {
  const more = Object.entries(constants).map(([name, { type, shape }]) => ({ name, type, shape }))
  const graph = { ...GRAPH, nodes, weights: [...GRAPH.weights, ...more] }
  const { places, sizes } = dataLayout(graph.weights)
  const bytes = new Uint8Array(sizes[0]!)
  bytes.set(data.bytes)
  for (const [index, constant] of Object.values(constants).entries())
    bytes.set(constant.bytes, places[GRAPH.weights.length + index]!.offset)
  const sources = [bufferSource('model.onnx', modelProto(graph, data.name)), bufferSource(data.name, bytes)]
  return openGraph([...sources, byteTokenizer(256)])
}

/** The node that makes `name`, and the operation inserted before other nodes read it. */
function followed(name: string, ...steps: readonly (readonly [string, string?])[]): WrittenNode[] {
  const maker = GRAPH.nodes.find(({ outputs }) => outputs[0] === name)!
  const plain = { ...maker, outputs: [`${name}.0`, ...maker.outputs.slice(1)] }
  return [
    plain,
    ...steps.map(
      ([op, constant], index): WrittenNode => ({
        op,
        inputs: constant === undefined ? [`${name}.${index}`] : [`${name}.${index}`, constant],
        outputs: [index === steps.length - 1 ? name : `${name}.${index + 1}`],
      }),
    ),
  ]
}

const withSteps = (...all: readonly (readonly WrittenNode[])[]): WrittenNode[] =>
  GRAPH.nodes.flatMap((node) => {
    const name = `${node.outputs[0]}.0`
    return all.find(([plain]) => plain?.outputs[0] === name) ?? [node]
  })

/** Expects the logits that the pack's weights give when its configuration is changed in the same way. */
async function expectFamily(
  file: ModelFile,
  changes: Partial<ModelConfig>,
  tensors: TensorIndex = pack.tensors,
): Promise<void> {
  const config = { ...(pack.metadata.get('config') as object), ...changes } as unknown as MetaValue
  const family = { ...pack, tensors, metadata: new Map([['config', config]]) }
  const due = await withModel(family, {}, (built) => logitsOf(built, IDS))
  expect(await withModel(file, {}, (built) => logitsOf(built, IDS))).toEqual(due)
  expect(due).not.toEqual(await withModel(pack, {}, (built) => logitsOf(built, IDS)))
  const known = await asFamily(file)
  expect(known.metadata.get('config')).toMatchObject({ family: 'qwen2', ...changes })
  expect(await withModel(known, {}, (built) => logitsOf(built, IDS))).toEqual(due)
}

test('embeddings and the outputs of blocks are multiplied', async () => {
  const added = [0, 1].flatMap((layer) => [`layer${layer}.attn_output`, `layer${layer}.down`])
  const file = await opened(
    withSteps(
      followed('embed', ['Mul', 'embedding_factor']),
      ...added.map((name) => followed(name, ['Mul', 'residual_factor'])),
    ),
    { embedding_factor: floats([], [12]), residual_factor: floats([1], [0.25]) },
  )
  await expectFamily(file, { embeddingScale: 12, residualScale: 0.25 })
})

test('logits are divided', async () => {
  const file = await opened(withSteps(followed('logits', ['Div', 'eight'])), { eight: floats([], [8]) })
  await expectFamily(file, { logitScale: 0.125 })
})

test('logits are capped', async () => {
  const capped = followed('logits', ['Div', 'two'], ['Tanh'], ['Mul', 'five'])
  const file = await opened(withSteps(capped), { two: floats([], [2]), five: floats([], [5]) })
  await expectFamily(file, { logitScale: 2.5, logitCap: 5 })
})

test('layers with a window use their own RoPE base', async () => {
  const angle = (index: number) => Math.floor(index / HALF) * 100 ** (-(index % HALF) / HALF)
  const table = (of: (angle: number) => number) =>
    floats(
      [MAX_POSITIONS, HALF],
      Array.from({ length: MAX_POSITIONS * HALF }, (_, at) => of(angle(at))),
    )
  const nodes = GRAPH.nodes.map((node): WrittenNode => {
    if (node.outputs[0] !== 'layer1.attention') return node
    const attributes = { ...node.attributes, local_window_size: 4 }
    return { ...node, inputs: [...node.inputs.slice(0, 7), 'cos_local', 'sin_local'], attributes }
  })
  const file = await opened(nodes, { cos_local: table(Math.cos), sin_local: table(Math.sin) })
  const rope = { theta: 100, dims: TINY.headDim, pairing: 'halves' } as const
  await expectFamily(file, { window: { positions: 4, layers: [1] }, localRope: rope })
})

/** The bytes of some rows of a weight in the graph. */
function rowsOf(name: string, first: number, n: number): Uint8Array {
  const index = GRAPH.weights.findIndex((weight) => weight.name === name)
  const weight = GRAPH.weights[index]!
  const { offset } = dataLayout(GRAPH.weights).places[index]!
  const row = weightBytes(weight) / weight.shape[0]!
  return data.bytes.slice(offset + first * row, offset + (first + n) * row)
}

/**
 * Turns queries and keys into [batch, tokens * heads, head size] for their norm, and back into rows. Uses the
 * tensors of the pack that has such norms.
 */
function withHeadNorms() {
  const { heads, kvHeads, headDim, hiddenSize } = TINY
  const sizes = { q: heads * headDim, k: kvHeads * headDim, v: kvHeads * headDim }
  const constants: Record<string, Constant> = {
    as_heads: {
      type: 'i64',
      shape: [3],
      bytes: new Uint8Array(BigInt64Array.of(0n, -1n, BigInt(headDim)).buffer),
    },
  }
  const tensors = new Map(pack.tensors)
  const nodes = GRAPH.nodes.flatMap((node): WrittenNode[] => {
    const [, layer, kind] = /^layer(\d)\.(qkv|attention)$/.exec(node.outputs[0]!) ?? []
    const at = `layer${layer}`
    if (kind === 'attention')
      return [{ ...node, inputs: [`${at}.q`, `${at}.k`, `${at}.v`, ...node.inputs.slice(3)] }]
    if (kind !== 'qkv') return [node]
    let first = 0
    return Object.entries(sizes).flatMap(([part, n]) => {
      const name = `${at}.${part}`
      for (const [what, type, shape] of [
        ['codes', 'u8', [n, hiddenSize / 32, 16]],
        ['scales', 'f32', [n, hiddenSize / 32]],
      ] as const)
        constants[`${name}.${what}`] = { type, shape, bytes: rowsOf(`${at}.qkv.${what}`, first, n) }
      first += n
      const attributes = { ...node.attributes, N: n }
      const product = [node.inputs[0]!, `${name}.codes`, `${name}.scales`]
      tensors.delete(`layers.${layer}.attn_${part}.bias`)
      if (part === 'v') return [{ ...node, inputs: product, outputs: [name], attributes }]
      const values = Array.from(
        { length: headDim },
        (_, index) => 1 + Math.sin(index + n + Number(layer)) / 4,
      )
      constants[`${name}_norm`] = floats([headDim], values)
      constants[`${name}.as_rows`] = {
        type: 'i64',
        shape: [3],
        bytes: new Uint8Array(BigInt64Array.of(0n, -1n, BigInt(n)).buffer),
      }
      const norm = `layers.${layer}.attn_${part}_norm.weight`
      tensors.set(norm, vectorOf(norm, values))
      return [
        { ...node, inputs: product, outputs: [`${name}.0`], attributes },
        { op: 'Reshape', inputs: [`${name}.0`, 'as_heads'], outputs: [`${name}.1`] },
        {
          op: 'SimplifiedLayerNormalization',
          inputs: [`${name}.1`, `${name}_norm`],
          outputs: [`${name}.2`],
          attributes: { epsilon: { float: TINY.normEpsilon }, axis: -1 },
        },
        { op: 'Reshape', inputs: [`${name}.2`, `${name}.as_rows`], outputs: [name] },
      ]
    })
  })
  return { nodes, constants, tensors }
}

test('queries and keys are normed by head, as onnxruntime-genai writes Qwen3', async () => {
  const { nodes, constants, tensors } = withHeadNorms()
  await expectFamily(await opened(nodes, constants), { family: 'qwen3' }, tensors)
})

test('rows of normed heads are rejected if attention does not read them', async () => {
  const { nodes, constants } = withHeadNorms()
  const doubled = nodes.flatMap((node): WrittenNode[] => {
    if (node.outputs[0] !== 'layer0.attention') return [node]
    const [q = '', ...others] = node.inputs
    const sum = { op: 'Add', inputs: [q, q], outputs: ['doubled'] }
    return [sum, { ...node, inputs: ['doubled', ...others] }]
  })
  await expect(opened(doubled, constants)).rejects.toMatchObject({
    code: 'unsupported',
    message: expect.stringMatching(/\(Add\): it reads layer0\.q .*\(heads\)/),
  })
})

function vectorOf(name: string, values: readonly number[]): TensorInfo {
  const bytes = new Uint8Array(Float32Array.from(values).buffer)
  const place = { source: bufferSource(name, bytes), offset: 0, byteLength: bytes.length }
  return { name, dtype: 'F32', shape: [values.length], ...place }
}
