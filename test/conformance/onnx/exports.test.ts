// Exports. In: tiny decoders as torch writes them (exports/export.py), with ONNX Runtime's logits. Out:
// whether the plan translated from each gives the same logits in one chunk, in several, and token by token.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { bufferSource } from '../../../src/core/base/bytes.ts'
import type { ModelFile } from '../../../src/core/formats/readers.ts'
import type { TensorInfo } from '../../../src/core/formats/tensors.ts'
import { graphBuilder } from '../../../src/core/graph/builder.ts'
import { prepareModel } from '../../../src/engine/load/prepare.ts'
import { graphBudget } from '../../../src/network/onnx/graph-budget.ts'
import type { Node } from '../../../src/network/onnx/ir/graph.ts'
import { tensorOf } from '../../../src/network/onnx/ir/tensor.ts'
import { HANDLERS } from '../../../src/network/onnx/raise/handlers.ts'
import { type Translation, Translator } from '../../../src/network/onnx/raise/translator.ts'
import { largestDifference, logitsOf, relativeError, withModel } from '../testing/node-engine.ts'
import { byteTokenizer } from './byte-tokenizer.ts'
import { exportedGraph } from './exported-graph.ts'
import { openGraph } from './open-graph.ts'

const EXPORTS = join(import.meta.dirname, 'exports')
const VOCAB = 96

const openExport = (name: string) =>
  openGraph([
    bufferSource('model.onnx', new Uint8Array(readFileSync(join(EXPORTS, name, 'model.onnx')))),
    byteTokenizer(VOCAB),
  ])

test.each([
  ['llama-no-cache', 10_000, 2],
  ['llama-cache', 10_000, 2],
  ['qwen2-cache', 1_000_000, 2],
  ['qwen3-cache', 1_000_000, 2],
  ['opset23', 10_000, 2],
  ['gelu-exact', 10_000, 2],
  ['gelu-tanh', 10_000, 2],
  ['multi-head-causal', 10_000, 4],
  ['multi-head-mask', 10_000, 4],
])("%s gives ONNX Runtime's logits", async (name, theta, kvHeads) => {
  const file = await openExport(name)
  const config = file.metadata.get('config')
  expect(config).toMatchObject({ family: 'llama', layers: 2, heads: 4, kvHeads, headDim: 8 })
  expect(config).toMatchObject({ rope: { theta, dims: 8, pairing: 'halves' } })
  const { ids, logits } = JSON.parse(readFileSync(join(EXPORTS, name, 'logits.json'), 'utf8'))
  const found = await withModel(file, {}, (built) => logitsOf(built, ids))
  expect(largestDifference(found, logits)).toBeLessThan(2e-5)
})

test.each(['f16-tables', 'f16-angles', 'f16-inside'])(
  "%s, in f16 by the usual converter, gives ONNX Runtime's logits up to f16 rounding",
  async (name) => {
    const file = await openExport(name)
    expect(file.metadata.get('config')).toMatchObject({ rope: { theta: 10_000, dims: 8, pairing: 'halves' } })
    const { ids, logits } = JSON.parse(readFileSync(join(EXPORTS, name, 'logits.json'), 'utf8'))
    const found = await withModel(file, {}, (built) => logitsOf(built, ids))
    expect(relativeError(found, logits)).toBeLessThan(2e-3)
  },
)

test.each(['mamba-channels', 'mamba-rows'])(
  "%s, which takes one token per step, gives ONNX Runtime's logits for whole texts",
  async (name) => {
    const file = await openExport(name)
    expect(file.metadata.get('config')).toMatchObject({
      family: 'mamba',
      layers: 2,
      heads: 0,
      intermediateSize: 0,
      ssm: { innerSize: 64, stateSize: 16, convKernel: 4, timeStepRank: 8, convBias: true },
    })
    const { ids, logits } = JSON.parse(readFileSync(join(EXPORTS, name, 'logits.json'), 'utf8'))
    const found = await withModel(file, { weights: 'f32' }, (built) => logitsOf(built, ids))
    expect(largestDifference(found, logits)).toBeLessThan(2e-5)
  },
)

test.each(['llama-cache', 'multi-head-causal', 'mamba-channels'])(
  '%s: a chunk and single tokens are bit-identical to the whole text',
  async (name) => {
    const file = await openExport(name)
    const { ids } = JSON.parse(readFileSync(join(EXPORTS, name, 'logits.json'), 'utf8'))
    await withModel(file, {}, async (built) => {
      const whole = await logitsOf(built, ids)
      const sequence = built.newSequence()
      const rows: Float32Array[] = []
      for (const end of [4, 7, 8, 9, 10]) {
        sequence.setTokens(ids.slice(0, end))
        const onLogits = (position: number, row: Float32Array) => {
          rows[position] = row.slice()
        }
        const signal = new AbortController().signal
        await built.scheduler.forward({ sequence, logits: 'all', onLogits, signal })
      }
      sequence.release()
      expect(rows).toEqual(whole)
    })
  },
)

const AGAIN = 'values are rounded again if they are stored in fewer bits'
/**
 * Weights by the dtype that is read, and how one of them is described. Scales are rounded to f16, by at most
 * 1 part in 2048.
 */
test.each([
  ['dynamic-i8', { Q8_0: 15, 'F32 like Q8_0': 1 }, '8 bits by output: scales are rounded to f16'],
  ['dynamic-u8', { Q8_0: 7, 'F32 like Q8_0': 9 }, `8 bits by tensor, zero points: ${AGAIN}`],
  ['dynamic-bare', { Q8_0: 15, 'F32 like Q8_0': 1 }, '8 bits by output: scales are rounded to f16'],
  ['qdq-static', { Q8_0: 15 }, '8 bits by output: scales are rounded to f16'],
  ['qdq-limits', { Q8_0: 15 }, '8 bits by output: scales are rounded to f16'],
  ['qdq-blocks-32', { Q4_0: 15 }, '4 bits in blocks of 32: scales are rounded to f16'],
  ['qdq-blocks-16', { 'F32 like Q8_0': 15 }, `4 bits in blocks of 16, zero points: ${AGAIN}`],
])('%s gives the logits of float products by its weights', async (name, forms, origin) => {
  const file = await openExport(name)
  const matrices = [...file.tensors.values()].filter(({ shape }) => shape.length === 2)
  const formOf = ({ dtype, like }: TensorInfo) => (like === undefined ? dtype : `${dtype} like ${like}`)
  const counts = Object.entries(Object.groupBy(matrices, formOf)).map(([form, { length } = []]) => [
    form,
    length,
  ])
  expect(Object.fromEntries(counts)).toMatchObject(forms)
  expect(matrices.map((tensor) => tensor.origin)).toContain(origin)
  const { ids, logits } = JSON.parse(readFileSync(join(EXPORTS, name, 'logits.json'), 'utf8'))
  const exact = await withModel(file, { weights: 'f32' }, (built) => logitsOf(built, ids))
  const usual = await withModel(file, { weights: 'auto' }, (built) => logitsOf(built, ids))
  expect(largestDifference(exact, logits)).toBeLessThan(2e-3)
  expect(relativeError(usual, logits)).toBeLessThan(0.05)
})

/** Translates the export with one constant changed. */
async function translatedWith(constant: string, value: number): Promise<Translation> {
  const graph = await exportedGraph('qdq-static')
  const { dtype, dims } = graph.constants.get(constant)!
  const constants = new Map(graph.constants).set(constant, tensorOf(dtype, dims, [value]))
  return new Translator('model.onnx', { ...graph, constants }, HANDLERS, graphBuilder()).run()
}

test.each([
  ['scale', 0, /its scale is 0; export/],
  ['scale', -0.5, /its scale is -0.5; export/],
  ['scale', Number.POSITIVE_INFINITY, /its scale is Infinity; export/],
  ['scale', Number.NaN, /its scale is NaN; export/],
])('rows quantised with the %s %d are rejected with a reason', async (part, value, message) => {
  const run = translatedWith(`/layers.0/gate/MatMul_output_0_${part}`, value)
  await expect(run).rejects.toMatchObject({ code: 'unsupported', message: expect.stringMatching(message) })
})

// Tools omit a ReLU if the codes after it have no negative values.
test.each([
  [0, { least: 0, most: expect.closeTo(3.72, 1) }],
  [255, { least: expect.closeTo(-3.72, 1), most: 0 }],
])('rows quantised with the zero point %d are clamped on one side of 0', async (zero, limits) => {
  const { graph } = await translatedWith('/layers.0/gate/MatMul_output_0_zero_point', zero)
  expect(graph.nodes.flatMap((node) => (node.op === 'clamp' ? [node.limits] : []))).toContainEqual(limits)
})

test('ranges that a step exceeds change its result, in one chunk and token by token', async () => {
  const [wide, narrow] = await Promise.all(['qdq-static', 'qdq-limits'].map(openExport))
  const { ids } = JSON.parse(readFileSync(join(EXPORTS, 'qdq-limits', 'logits.json'), 'utf8'))
  const rows = (file: ModelFile) => withModel(file, { weights: 'f32' }, (built) => logitsOf(built, ids))
  const whole = await rows(narrow!)
  expect(relativeError(await rows(wide!), whole)).toBeGreaterThan(0.1)
  await withModel(narrow!, { weights: 'f32' }, async (built) => {
    const sequence = built.newSequence()
    const { signal } = new AbortController()
    for (const end of ids.keys()) {
      sequence.setTokens(ids.slice(0, end + 1))
      const onLogits = (_: number, row: Float32Array) => expect(row).toEqual(whole[end])
      await built.scheduler.forward({ sequence, logits: 'all', onLogits, signal })
    }
    sequence.release()
  })
})

test('a step keeps all ranges of its file, and reports none as ignored', async () => {
  const file = await openExport('qdq-limits')
  const prepared = await prepareModel(file, { weights: 'f32' })
  expect(prepared.notes).toEqual([])
  const ops = Map.groupBy(file.graph.nodes, ({ op }) => op)
  const isLimited = (node: object) => 'limits' in node && node.limits !== undefined
  // Values are clamped where they are computed, and not again when heads copy them or attention concatenates
  // them.
  expect(ops.get('clamp')).toHaveLength(26)
  for (const op of ['ropeKv', 'attention'] as const) expect(ops.get(op)?.every(isLimited)).toBe(true)
})

/**
 * The export in which the output of a node, or of an operator's first node, becomes codes from 0 to `end`.
 */
async function codesAfter(made: string | Node, end: number): Promise<Translation> {
  const graph = await exportedGraph('llama-cache')
  const scale = tensorOf('f32', [], [end / 255])
  const constants = new Map(graph.constants).set('scale', scale).set('zero', tensorOf('u8', [], [0]))
  const isFirst = (node: Node) => (typeof made === 'string' ? node.op === made : node.name === made.name)
  const first = graph.nodes.find(isFirst)!
  const [whole = ''] = first.outputs
  const step = (op: string, from: string, to: string): Node => ({
    name: to,
    op,
    domain: '',
    version: 17,
    attributes: new Map(),
    inputs: [from, 'scale', 'zero'],
    outputs: [to],
  })
  const nodes = graph.nodes.flatMap((node) =>
    node === first
      ? [
          { ...node, outputs: ['exact'] },
          step('QuantizeLinear', 'exact', 'codes'),
          step('DequantizeLinear', 'codes', whole),
        ]
      : [node],
  )
  return new Translator('model.onnx', { ...graph, constants, nodes }, HANDLERS, graphBuilder()).run()
}

test('codes that cover all of a softmax clamp nothing; others are rejected with their range and name', async () => {
  const { graph } = await codesAfter('Softmax', 0.999)
  expect(graph.nodes.map(({ op }) => op)).not.toContain('clamp')
  await expect(codesAfter('Softmax', 0.9)).rejects.toMatchObject({
    code: 'unsupported',
    message: expect.stringMatching(
      /codes.*limit attention weights to the range 0 to 0\.9, which a step cannot do/,
    ),
  })
  await expect(codesAfter('Sqrt', 3)).rejects.toThrow(
    /limit statistic to the range 0 to 3, which a step cannot do/,
  )
})

test('a gate with a quantised activation is a product of rows', async () => {
  // SiLU is a separate product after the sigmoid.
  const graph = await exportedGraph('llama-cache')
  const silu = graph.nodes.find(
    ({ op, inputs }) => op === 'Mul' && inputs.some((name) => /Sigmoid/.test(name)),
  )!
  const { graph: step } = await codesAfter(silu, 0.25)
  const gates = step.nodes.filter((node) => node.op === 'swiglu')
  expect(gates.map(({ activation }) => activation)).toContain('none')
})

test('an abort stops the translation during a proof', async () => {
  const graph = await exportedGraph('llama-cache')
  const spentBy = async (abort: AbortController) => {
    const budget = graphBudget(abort.signal)
    const run = new Translator('model.onnx', graph, HANDLERS, graphBuilder(), { budget }).run()
    return { ended: await run.then(() => 'whole', String), units: budget.spentUnits }
  }
  const whole = await spentBy(new AbortController())
  const abort = new AbortController()
  setTimeout(() => abort.abort('cancelled'))
  const part = await spentBy(abort)
  expect([whole.ended, part.ended]).toEqual(['whole', 'cancelled'])
  expect(part.units).toBeGreaterThan(0)
  expect(part.units).toBeLessThan(whole.units)
})

test('values that are also keys are rejected, because keys are normed in place', async () => {
  const bytes = readFileSync(join(EXPORTS, 'qwen3-cache', 'model.onnx'))
  const [values, keys] = ['v', 'k'].map((part) => `/layers.0/attention/${part}/MatMul_output_0`)
  // The first is the product's output, the second the input of the heads.
  const at = bytes.indexOf(values!, bytes.indexOf(values!) + 1)
  bytes.write(keys!, at, 'latin1')
  const file = await openGraph([bufferSource('model.onnx', new Uint8Array(bytes)), byteTokenizer(VOCAB)])
  await expect(prepareModel(file, { weights: 'auto' })).rejects.toMatchObject({
    code: 'unsupported',
    message: expect.stringMatching(/normed in place but is read by the same node too; export/),
  })
})

test('a sum of all rows and of only the needed rows is rejected with a reason', async () => {
  const graph = await exportedGraph('llama-cache')
  const embed = graph.nodes.find(({ op, inputs }) => op === 'Gather' && inputs[1] === 'input_ids')
  const logits = graph.nodes.find(({ outputs }) => outputs[0] === graph.outputs[0])
  const mixed: Node = {
    name: 'mixed',
    op: 'Add',
    domain: '',
    version: 17,
    attributes: new Map(),
    inputs: [embed!.outputs[0]!, logits!.inputs[0]!],
    outputs: ['mixed'],
  }
  const run = new Translator(
    'model.onnx',
    { ...graph, nodes: [...graph.nodes, mixed] },
    HANDLERS,
    graphBuilder(),
  ).run()
  await expect(run).rejects.toMatchObject({
    code: 'unsupported',
    message: expect.stringMatching(/node mixed \(Add\): .* meets /),
  })
})
