// Tests networks. In: a small encoder, valid and invalid inputs. Out: the outputs of a run, and the error for
// each mistake.
import { expect, test } from 'vitest'
import { bertBytes } from '../../../lab/bench/graphs/bert.ts'
import { evaluate } from '../../../test/conformance/onnx/verify/evaluate.ts'
import { bufferSource } from '../../core/base/bytes.ts'
import { readModel } from '../onnx/read-model.ts'
import { modelBytes } from '../onnx/testing/write-model.ts'
import { Network } from './network.ts'
import { encoderInputs, ids } from './testing/encoder-inputs.ts'

const SHAPE = { layers: 1, hidden: 16, heads: 2, intermediate: 24, vocabulary: 30, positions: 12 }
const BYTES = bertBytes(SHAPE)

const inputsOf = (batch: number, tokens: number) =>
  encoderInputs(SHAPE.vocabulary, [batch, tokens], (at) => (at % tokens < tokens - 1 ? 1 : 0))

const load = () => Network.load(new File([new Uint8Array(BYTES)], 'bert.onnx'))

const TANH = {
  nodes: [{ op: 'Tanh', inputs: ['x'], outputs: ['y'] }],
  inputs: ['x'],
  outputs: ['y'],
} as const

test('a network describes its inputs and outputs, and computes what the graph defines', async () => {
  const network = await load()
  expect(network.inputs).toContainEqual({ name: 'input_ids', dtype: 'i64', dims: ['batch', 'tokens'] })
  expect(network.outputs).toMatchObject([{ name: 'last_hidden_state', dtype: 'f32' }])
  const { graph } = await readModel(bufferSource('bert.onnx', BYTES))
  for (const [batch, tokens] of [
    [1, 3],
    [2, 12],
    [3, 1],
    [1, 3],
  ] as const) {
    const inputs = inputsOf(batch, tokens)
    const made = await network.run(inputs)
    const wanted = evaluate(graph, new Map(Object.entries(inputs))).get('last_hidden_state')!
    const found = made['last_hidden_state']!
    expect(found.dims).toEqual([batch, tokens, SHAPE.hidden])
    for (let at = 0; at < wanted.data.length; at++)
      expect(Math.abs(Number(found.data[at]) - Number(wanted.data[at]))).toBeLessThan(1e-5)
  }
  expect(network.memory().codeBytes).toBeLessThan(40_000)
  await network.dispose()
  await expect(network.run(inputsOf(1, 3))).rejects.toMatchObject({ code: 'disposed' })
})

test('the timeline has the stages of a load and of a first run in order', async () => {
  const names: string[] = []
  const observer = new PerformanceObserver((list) => {
    for (const { name } of list.getEntries()) names.push(name)
  })
  observer.observe({ entryTypes: ['measure'] })
  const network = await Network.load(new File([new Uint8Array(modelBytes(TANH))], 'm.onnx'), { threads: 1 })
  const x = { dtype: 'f32', dims: [2], data: Float32Array.of(0, 1) } as const
  await network.run({ x })
  await network.run({ x })
  await network.dispose()
  await new Promise((resolve) => setImmediate(resolve))
  observer.disconnect()
  expect(names).toEqual(
    [
      'read the graph',
      'simplify the graph',
      'plan the program',
      'lay out the weights',
      'emit the functions',
      'compile the functions',
    ].map((name) => `halfbyte: ${name}`),
  )
})

test('simultaneous runs are executed one after another', async () => {
  const network = await load()
  const sizes = [2, 5, 9, 2, 7]
  const alone = []
  for (const tokens of sizes) alone.push(await network.run(inputsOf(1, tokens)))
  expect(await Promise.all(sizes.map((tokens) => network.run(inputsOf(1, tokens))))).toEqual(alone)
  await network.dispose()
})

test('wrong inputs get an error that names them', async () => {
  const network = await load()
  const right = inputsOf(1, 4)
  const run = (change: Record<string, unknown>) => network.run({ ...right, ...change } as typeof right)
  const rejects = (change: Record<string, unknown>, text: string) =>
    expect(run(change)).rejects.toMatchObject({ code: 'unsupported', message: expect.stringContaining(text) })
  await rejects({ input_idz: right.input_ids }, 'input_idz')
  await rejects({ input_ids: { ...right.input_ids, dtype: 'i32' } }, 'i64')
  await rejects({ input_ids: { ...right.input_ids, dims: [1, 5] } }, '4 elements but its dims [1,5] need 5')
  await rejects({ input_ids: { ...right.input_ids, data: new Float32Array(4) } }, 'BigInt64Array')
  await rejects({ input_ids: 7 }, 'input_ids is 7')
  await rejects({ attention_mask: inputsOf(1, 5).attention_mask }, '[1,5]')
  const { token_type_ids, ...rest } = right
  await expect(network.run(rest as typeof right)).rejects.toMatchObject({ code: 'unsupported' })
  await expect(run({ input_ids: ids([1, 4], () => SHAPE.vocabulary) })).rejects.toMatchObject({
    code: 'format',
  })
  const { last_hidden_state } = await run({})
  expect(last_hidden_state!.data.every((value) => Number.isFinite(Number(value)))).toBe(true)
  const signal = AbortSignal.abort(new Error('no longer wanted'))
  await expect(network.run(right, { signal })).rejects.toThrow('no longer wanted')
  await network.dispose()
})

test('wrong options and files get typed errors', async () => {
  await expect(Network.load('x.onnx', { chache: 'none' } as never)).rejects.toMatchObject({
    code: 'unsupported',
  })
  await expect(Network.load('x.onnx', { build: 'fast' as never })).rejects.toMatchObject({
    code: 'unsupported',
  })
  await expect(Network.load(new File(['no model'], 'x.onnx'))).rejects.toMatchObject({ code: 'format' })
  const cut = new File([new Uint8Array(BYTES.subarray(0, 900))], 'x.onnx')
  await expect(Network.load(cut)).rejects.toMatchObject({ code: 'format' })
})

test('the metadata of a file are its own texts, of any length and under any name', async () => {
  const characters = Array.from({ length: 20_000 }, (_, at) => String.fromCodePoint(0x4e00 + at)).join('\n')
  const graph = {
    nodes: [{ op: 'Relu', inputs: ['x'], outputs: ['y'] }],
    inputs: ['x'],
    outputs: ['y'],
  }
  const entries = { character: characters, constructor: 'of a name', '': '' }
  const network = await Network.load(new File([new Uint8Array(modelBytes(graph, 17, 8, entries))], 'x.onnx'))
  expect([...network.metadata]).toEqual(Object.entries(entries))
  await network.dispose()
  const other = await load()
  expect(other.metadata.size).toBe(0)
  await other.dispose()
})

test('8-bit weights change the outputs slightly', async () => {
  const shape = { ...SHAPE, hidden: 96, intermediate: 128 }
  const file = () => new File([new Uint8Array(bertBytes(shape))], 'bert.onnx')
  const exact = await Network.load(file())
  const rounded = await Network.load(file(), { weights: 'w8' })
  const inputs = inputsOf(2, 9)
  const [wanted, found] = [await exact.run(inputs), await rounded.run(inputs)].map(({ last_hidden_state }) =>
    Array.from(last_hidden_state!.data, Number),
  ) as [number[], number[]]
  const size = (of: number[]) => Math.sqrt(of.reduce((sum, value) => sum + value ** 2, 0))
  const error = size(wanted.map((value, at) => value - found[at]!)) / size(wanted)
  expect(error).toBeGreaterThan(1e-4)
  expect(error).toBeLessThan(0.02)
  await Promise.all([exact.dispose(), rounded.dispose()])
  await expect(Network.load(file(), { weights: 'w5' } as never)).rejects.toMatchObject({
    code: 'unsupported',
    message: expect.stringContaining('weights is "w5"'),
  })
})
