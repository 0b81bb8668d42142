// Networks with `fallback: 'ort'`. In: graphs with nodes that cannot be compiled, at every position. Out:
// whether they match onnxruntime-web on the whole file, which nodes are reported, and errors.
import { InferenceSession, Tensor } from 'onnxruntime-web/wasm'
import { describe, expect, test } from 'vitest'
import { halfToFloat } from '../../../../src/core/base/half.ts'
import { localConnection } from '../../../../src/engine/wire/connection.ts'
import { Network, type NetworkOptions, type NetworkTensor } from '../../../../src/network/api/network.ts'
import { toOrtFeeds } from '../../../../src/network/compile/staged/ort-tensors.ts'
import { TYPE } from '../../../../src/network/onnx/testing/node-writer.ts'
import { loadNetwork } from '../../../../src/network/service/load-network.ts'
import { createNetworkService } from '../../../../src/network/service/network-service.ts'
import { nodeHost } from '../../../../src/tools/cli/node-host.ts'
import { built, CASES, floats, value, X } from './cases.ts'

const load = (bytes: Uint8Array, options: NetworkOptions = { fallback: 'ort' }) =>
  Network.load(new File([new Uint8Array(bytes)], 'model.onnx'), options)

const byOrt = (session: InferenceSession, feeds: Readonly<Record<string, NetworkTensor>>) =>
  session.run(toOrtFeeds(Tensor, Object.entries(feeds)))

/**
 * onnxruntime-web rounds halves after each node, and Halfbyte once, so they may differ by one step of numbers
 * up to 2.
 */
const TOLERANCE: Partial<Record<NetworkTensor['dtype'], number>> = { f32: 1e-5, f16: 2 ** -10 }

/** The values as numbers. For half floats, `data` has their bit patterns. */
function numbersOf({ type, data }: Tensor): number[] {
  if (type !== 'float16') return Array.from(data as Float32Array, Number)
  const { buffer, byteOffset, length } = data as Uint16Array
  return Array.from(new Uint16Array(buffer, byteOffset, length), halfToFloat)
}

const FALLBACKS = Object.entries(CASES).flatMap(([name, make]) => [
  { name, make, fallback: 'ort' as const },
  ...(make().needsFallback ? [] : [{ name, make, fallback: undefined }]),
])

describe('nodes that are not compiled', () => {
  test.each(FALLBACKS)('$name, with fallback: $fallback', async ({ make, fallback }) => {
    const { bytes, foreign, feeds } = make()
    const network = await load(bytes, { fallback })
    const session = await InferenceSession.create(bytes, { logSeverityLevel: 4 })
    for (const each of feeds) {
      const found = await network.run(each)
      const wanted = await byOrt(session, each)
      expect(Object.keys(found).sort()).toEqual(Object.keys(wanted).sort())
      for (const [name, tensor] of Object.entries(wanted)) {
        expect(found[name]!.dims, name).toEqual([...tensor.dims])
        const own = Array.from(found[name]!.data, Number)
        const due = numbersOf(tensor)
        expect(own).toHaveLength(due.length)
        for (const [at, number] of due.entries())
          expect(Math.abs(own[at]! - number)).toBeLessThanOrEqual(TOLERANCE[found[name]!.dtype] ?? 0)
      }
    }
    const runtime = fallback ?? 'script'
    expect(network.foreignNodes().map(({ op, runtime }) => ({ op, runtime }))).toEqual(
      foreign.map((op) => ({ op, runtime })),
    )
    await network.dispose()
    await session.release()
  })
})

const MIDDLE = CASES['in the middle']!().bytes

test('without the option, the error for an unsupported node names the node and the option', async () => {
  const { bytes, feeds } = CASES['that has no evaluator']!()
  const network = await load(bytes, {})
  expect(network.foreignNodes()).toEqual([])
  await expect(network.run(feeds[0]!)).rejects.toMatchObject({
    code: 'unsupported',
    message: expect.stringMatching(/^node inverse \(Inverse\): .*; set fallback: 'ort' to run it in/),
    detail: { node: 'inverse', op: 'Inverse' },
  })
  await network.dispose()
})

test('the load reports which nodes run elsewhere, and why', async () => {
  const network = await load(MIDDLE)
  expect(network.foreignNodes()).toEqual([
    { node: 'unit', op: 'LpNormalization', runtime: 'ort', reason: 'the compiler does not support it' },
  ])
  expect(network.outputs).toEqual([{ name: 'y', dtype: 'f32', dims: ['rows', 12] }])
  await network.dispose()
})

test('a graph that compiles completely reports no nodes', async () => {
  const bytes = built((to) => to.node('Relu', ['x'], ['y']), [X], [value('y')])
  const network = await load(bytes)
  const { y } = await network.run({ x: floats(2, 8) })
  expect(y!.dims).toEqual([2, 8])
  expect(network.foreignNodes()).toEqual([])
  await network.dispose()
})

test('networks loaded and run concurrently do not interfere', async () => {
  const names = ['at the end', 'of boxes', 'in two branches that meet']
  const cases = names.map((name) => CASES[name]!())
  const alone = []
  for (const { bytes, feeds } of cases) {
    await using network = await load(bytes)
    alone.push(await network.run(feeds[0]!))
  }
  const all = await Promise.all(cases.map(({ bytes }) => load(bytes)))
  expect(await Promise.all(all.map((network, at) => network.run(cases[at]!.feeds[0]!)))).toEqual(alone)
  await Promise.all(all.map((network) => network.dispose()))
})

test('a node that onnxruntime does not support either is rejected at load', async () => {
  const bytes = built((to) => to.node('Frobnicate', [to.op('Relu', ['x'])], ['y']), [X], [value('y')])
  await expect(load(bytes)).rejects.toMatchObject({
    code: 'unsupported',
    message: expect.stringMatching(/^neither Halfbyte nor onnxruntime-web runs y \(Frobnicate\): /),
    detail: { nodes: ['y'] },
  })
})

test('values that a node rejects, wrong inputs and wrong options give typed errors', async () => {
  const count = value('count', [1], TYPE.i64)
  const bytes = built(
    (to) => to.node('Exp', [to.node('TopK', ['x', 'count'], ['top', 'top_at'])], ['y']),
    [X, count],
    [value('y')],
  )
  const network = await load(bytes)
  const of = (most: bigint) => ({
    x: floats(2, 8),
    count: { dtype: 'i64', dims: [1], data: BigInt64Array.of(most) } as const,
  })
  await expect(network.run(of(9n))).rejects.toMatchObject({
    code: 'format',
    message: expect.stringMatching(/^onnxruntime-web failed in top \(TopK\): /),
  })
  expect((await network.run(of(3n)))['y']!.dims).toEqual([2, 3])
  expect((await network.run(of(5n)))['y']!.dims).toEqual([2, 5])
  const { x, ...rest } = of(3n)
  await expect(network.run(rest)).rejects.toMatchObject({ code: 'unsupported' })
  await expect(network.run({ ...rest, x: floats(2, 7) })).rejects.toMatchObject({ code: 'unsupported' })
  await network.dispose()
  await expect(load(bytes, { fallback: 'tfjs' as never })).rejects.toMatchObject({
    code: 'unsupported',
    message: expect.stringContaining('fallback is "tfjs" but must be ort'),
  })
})

test('aborts reject with their reason, and a disposed network rejects queued runs', async () => {
  const network = await load(MIDDLE)
  const x = floats(3, 8)
  const wanted = await network.run({ x })
  const control = new AbortController()
  const aborted = network.run({ x }, { signal: control.signal })
  control.abort(new Error('no longer wanted'))
  await expect(aborted).rejects.toThrow('no longer wanted')
  const several = [network.run({ x }), network.run({ x: floats(1, 8) }), network.run({ x })]
  const [first, , third] = await Promise.all(several)
  expect(first).toEqual(wanted)
  expect(third).toEqual(wanted)
  const late = network.run({ x })
  const [outcome] = await Promise.allSettled([late, network.dispose()])
  expect(outcome).toMatchObject({ status: 'rejected', reason: { code: 'disposed' } })
  await expect(network.run({ x })).rejects.toMatchObject({ code: 'disposed' })
  const early = new AbortController()
  const loading = load(MIDDLE, { fallback: 'ort', signal: early.signal })
  early.abort(new Error('closed'))
  await expect(loading).rejects.toThrow('closed')
})

test('through a service, on two threads, outputs and nodes are the same', async () => {
  const { bytes, feeds } = CASES['with sizes that depend on computed values']!()
  const here = await load(bytes)
  const service = createNetworkService((request, hooks) => loadNetwork(request, hooks, nodeHost()))
  const file = new File([new Uint8Array(bytes)], 'model.onnx')
  const options = { fallback: 'ort', threads: 2 } as const
  const there = await Network.through(localConnection(service), file, options)
  expect(there.threads).toBe(2)
  for (const each of feeds) expect(await there.run(each)).toEqual(await here.run(each))
  expect(there.foreignNodes()).toEqual(here.foreignNodes())
  await Promise.all([here.dispose(), there.dispose()])
})
