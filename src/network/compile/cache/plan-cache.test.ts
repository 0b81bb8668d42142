// Cached plans. In: networks that are opened twice, with changes in between. Out: the same outputs, and what
// was read from the graph's file and from the cache.
import { expect, test } from 'vitest'
import { bertBytes } from '../../../../lab/bench/graphs/bert.ts'
import { type ByteSource, bufferSource } from '../../../core/base/bytes.ts'
import { encoderInputs } from '../../api/testing/encoder-inputs.ts'
import type { Graph } from '../../onnx/ir/graph.ts'
import { type Tensor, tensorOf } from '../../onnx/ir/tensor.ts'
import { modelBytes } from '../../onnx/testing/write-model.ts'
import { type OpenNetworkOptions, openNetwork } from '../open-network.ts'
import { StagedGraph } from '../staged/staged-graph.ts'
import { randomGraph } from '../testing/random-graph.ts'
import { PlanCache, type PlanStore } from './plan-cache.ts'

const SHAPE = { layers: 2, hidden: 64, heads: 2, intermediate: 96, vocabulary: 300, positions: 40 }
const BYTES = bertBytes(SHAPE)
const feedsOf = (tokens: number) =>
  new Map<string, Tensor>(Object.entries(encoderInputs(SHAPE.vocabulary, [1, tokens], () => 1)))

/** A store in memory, which counts. */
class MemoryStore implements PlanStore {
  readonly entries = new Map<string, Uint8Array>()
  readonly written: string[] = []
  version = '1'
  isFull = false

  async read(key: string) {
    return this.entries.get(key)
  }
  async write(key: string, bytes: Uint8Array) {
    if (this.isFull) throw new Error('no space')
    this.written.push(key)
    this.entries.set(key, bytes)
  }
  async remove(key: string) {
    this.entries.delete(key)
  }
  async versionOf() {
    return this.version
  }
}

/** Opens the network, runs it for each number of tokens, and closes it. `read`: bytes of the graph's file. */
async function runs(
  store: MemoryStore | undefined,
  tokens: readonly number[],
  how: Partial<Parameters<typeof openNetwork>[1]> = {},
  bytes = BYTES,
) {
  let read = 0
  const source = bufferSource('m.onnx', bytes)
  const counted: ByteSource = {
    ...source,
    read: (offset, length) => {
      read += length
      return source.read(offset, length)
    },
  }
  const plans: OpenNetworkOptions['plans'] = store && (async () => store)
  store?.written.splice(0)
  const { graph, metadata } = await openNetwork([counted], { fuse: true, plans, ...how })
  const outputs: ReadonlyMap<string, Tensor>[] = []
  for (const each of tokens) outputs.push(await graph.run(feedsOf(each)))
  const { inputs, outputTypes, parameters } = graph
  await graph.dispose()
  return { read, outputs, facts: { inputs, outputTypes, parameters, metadata } }
}

test('a second visit reads plans instead of the graph, and computes the same bits', async () => {
  const store = new MemoryStore()
  const plain = await runs(undefined, [5, 9])
  const first = await runs(store, [5, 9])
  expect(store.written).toHaveLength(3)
  const second = await runs(store, [5, 9])
  expect(store.written).toEqual([])
  for (const { outputs, facts } of [first, second]) {
    expect(outputs).toEqual(plain.outputs)
    expect(facts).toEqual(plain.facts)
  }
  // Only constants above 64 KB stay in the file.
  expect(first.read).toBeGreaterThan(BYTES.length / 2)
  expect(second.read).toBe(4 * SHAPE.vocabulary * SHAPE.hidden)
})

test('a new shape reads the graph once, and is cached too', async () => {
  const store = new MemoryStore()
  const plain = await runs(undefined, [3, 4, 3, 7])
  await runs(store, [3])
  expect((await runs(store, [3, 4, 3, 7])).outputs).toEqual(plain.outputs)
  expect(store.written).toHaveLength(2)
  expect((await runs(store, [4, 7])).read).toBe(4 * SHAPE.vocabulary * SHAPE.hidden)
})

test('builds, weights and limits have entries of their own', async () => {
  const store = new MemoryStore()
  const loadKernels = async () => Promise.reject(new Error('no kernels are needed'))
  for (const how of [
    { fuse: true },
    { fuse: false },
    { fuse: true, weights: 'f32' as const, loadKernels },
    { fuse: true, limits: { steps: 2 ** 30 } },
  ]) {
    const made = await runs(store, [6], how)
    expect(store.written, JSON.stringify(how)).toHaveLength(2)
    expect(made.outputs).toEqual((await runs(undefined, [6], how)).outputs)
  }
  await expect(runs(store, [6], { limits: { steps: 10 } })).rejects.toMatchObject({ code: 'out-of-memory' })
})

test('a damaged, shortened or swapped entry is replaced', async () => {
  const store = new MemoryStore()
  const { outputs } = await runs(store, [5])
  const right = new Map(store.entries)
  const [facts, plan] = [...right.keys()] as [string, string]
  const flipped = (at: number) => {
    const bytes = right.get(plan)!.slice()
    bytes[at]! ^= 1
    return bytes
  }
  const { length } = right.get(plan)!
  const damage: Readonly<Record<string, Uint8Array>> = {
    'a byte of the hash': flipped(3),
    'a byte of the header': flipped(80),
    'the last byte': flipped(length - 1),
    'half an entry': right.get(plan)!.slice(0, length / 2),
    'an empty entry': new Uint8Array(),
    'the entry of another key': right.get(facts)!,
  }
  for (const [what, spoiled] of Object.entries(damage)) {
    store.entries.clear()
    for (const [key, bytes] of right) store.entries.set(key, bytes.slice())
    store.entries.set(plan, spoiled)
    expect((await runs(store, [5])).outputs, what).toEqual(outputs)
    expect(store.written, what).toEqual([plan])
    expect(store.entries, what).toEqual(right)
  }
})

test('a program that would leave its memory is not run, whatever its hash says', async () => {
  const store = new MemoryStore()
  const { outputs } = await runs(store, [5])
  const [, key = ''] = [...store.entries.keys()]
  // The cache's own keys begin with the options.
  const [how = '', ...path] = key.split(' ')
  const source = bufferSource('m.onnx', BYTES)
  const cache = new PlanCache(store, { paths: new Map([[source, '']]), find: async () => source }, how)
  const stage = (await cache.read(path.join(' '), (value) => value)) as {
    compiled: { arenaBytes: number; steps: { call?: { outer: number[] } }[] }
  }
  const call = stage.compiled.steps.find((step) => (step.call?.outer.length ?? 0) > 0)!.call!
  call.outer[0] = 1e6
  await cache.write(path.join(' '), stage)
  expect(store.entries.get(key)).toBeDefined()
  expect((await runs(store, [5])).outputs).toEqual(outputs)
  expect(store.written).toEqual([key])
})

test('nothing is read from entries for an earlier version of the file', async () => {
  const store = new MemoryStore()
  await runs(store, [5])
  store.version = '2'
  const other = bertBytes({ ...SHAPE, hidden: 32 })
  const plain = await runs(undefined, [5], {}, other)
  expect((await runs(store, [5], {}, other)).outputs).toEqual(plain.outputs)
})

test('programs share the constants that they read, whether cached or not', async () => {
  const bytesOf = async (store: MemoryStore | undefined, tokens: readonly number[]) => {
    const plans: OpenNetworkOptions['plans'] = store && (async () => store)
    const { graph } = await openNetwork([bufferSource('m.onnx', BYTES)], { fuse: true, plans })
    for (const each of tokens) await graph.run(feedsOf(each))
    const { memoryBytes } = graph.machine.sizes
    await graph.dispose()
    return memoryBytes
  }
  const store = new MemoryStore()
  const tokens = [3, 5, 7, 9]
  const plain = await bytesOf(undefined, tokens)
  await bytesOf(store, [3, 5])
  expect(await bytesOf(store, tokens)).toBe(plain)
  expect(await bytesOf(store, tokens)).toBe(plain)
})

test('a full disk changes nothing but the next visit', async () => {
  const store = new MemoryStore()
  store.isFull = true
  const { outputs } = await runs(store, [5])
  expect(outputs).toEqual((await runs(undefined, [5])).outputs)
  expect(store.entries.size).toBe(0)
})

const f32 = (name: string, dims: readonly (number | string)[]) => ({ name, type: 1, dims })

test('nodes that are not compiled, and branches, run from cached stages', async () => {
  const branch = (op: string) => ({
    nodes: [{ op, inputs: ['s'], outputs: [`${op} y`] }],
    outputs: [f32(`${op} y`, [])],
  })
  const bytes = modelBytes({
    nodes: [
      { op: 'Relu', inputs: ['x'], outputs: ['r'] },
      { op: 'NonZero', inputs: ['r'], outputs: ['places'] },
      { op: 'ReduceSum', inputs: ['r'], outputs: ['s'], attributes: { keepdims: 0 } },
      { op: 'Greater', inputs: ['s', 'zero'], outputs: ['is'] },
      {
        op: 'If',
        inputs: ['is'],
        outputs: ['y'],
        attributes: { then_branch: branch('Exp'), else_branch: branch('Neg') },
      },
    ],
    constants: [{ name: 'zero', type: 1, dims: [], raw: new Uint8Array(4) }],
    inputs: [f32('x', ['n'])],
    outputs: [{ name: 'places', type: 7, dims: [1, 'k'] }, f32('y', [])],
  })
  const store = new MemoryStore()
  const feeds = [
    [1, -1, 2],
    [-1, -2, -3],
    [0, 3, 0],
  ].map((data) => new Map([['x', tensorOf('f32', [3], data)]]))
  const all = async (plans: OpenNetworkOptions['plans']) => {
    const { graph } = await openNetwork([bufferSource('m.onnx', bytes)], { fuse: true, plans })
    const made = []
    for (const each of feeds) made.push(await graph.run(each))
    const { foreign } = graph
    await graph.dispose()
    return { made, foreign }
  }
  const plain = await all(undefined)
  expect(plain.foreign.map(({ op }) => op)).toContain('NonZero')
  expect(await all(async () => store)).toEqual(plain)
  const count = store.written.length
  expect(await all(async () => store)).toEqual(plain)
  expect(store.written).toHaveLength(count)
})

/** HALFBYTE_SEED draws different graphs, HALFBYTE_GRAPHS draws more of them. */
const SEED = Number(process.env['HALFBYTE_SEED'] ?? 5)
const COUNT = Number(process.env['HALFBYTE_GRAPHS'] ?? 60)

test(`random graphs give the same bits from cached plans (seed ${SEED}, ${COUNT} graphs)`, async () => {
  for (let index = 0; index < COUNT; index++) {
    const { graph, feeds } = randomGraph(SEED, index)
    const store = new MemoryStore()
    const plans = new PlanCache(store, { paths: new Map(), find: async () => undefined }, '')
    const options = { fuse: true, plans }
    const first = await StagedGraph.open(graph, options)
    const wanted = await first.run(feeds)
    const { facts } = first
    await first.dispose()
    expect(store.entries.size, `${index}`).toBeGreaterThan(0)
    const unread = (): Promise<Graph> => Promise.reject(new Error('the graph was read'))
    const second = StagedGraph.known(facts, unread, options)
    expect(await second.run(feeds), `${index}`).toEqual(wanted)
    await second.dispose()
  }
})
