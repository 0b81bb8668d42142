// Tests memory across many programs. In: pieces that are allocated and freed, and runs of many sizes. Out:
// whether pieces never overlap, and memory stays below a bound.
import { expect, test } from 'vitest'
import { Random } from '../../../../test/helpers/random.ts'
import { bufferSource } from '../../../core/base/bytes.ts'
import { tensorOf } from '../../onnx/ir/tensor.ts'
import { readModel } from '../../onnx/read-model.ts'
import { NodeWriter, TYPE } from '../../onnx/testing/node-writer.ts'
import { modelBytes } from '../../onnx/testing/write-model.ts'
import { CompiledGraph } from '../compiled-graph.ts'
import { Pieces } from './pieces.ts'

test('pieces never overlap, and freed pieces merge into one again', () => {
  const random = new Random(5)
  const pieces = new Pieces(100)
  const start = pieces.top
  const held = new Map<number, number>()
  for (let round = 0; round < 2000; round++) {
    if (held.size > 0 && random.chance(0.5)) {
      const at = random.pick([...held.keys()])
      pieces.give(at)
      held.delete(at)
      continue
    }
    const bytes = random.below(1000)
    const at = pieces.take(bytes)
    for (const [other, size] of held) expect(at + bytes <= other || other + size <= at).toBe(true)
    expect(at + bytes).toBeLessThanOrEqual(pieces.top)
    held.set(at, bytes)
  }
  for (const at of held.keys()) pieces.give(at)
  expect(pieces.top).toBe(start)
})

test('200 sizes need no more memory than the cached programs', async () => {
  const g = new NodeWriter()
  // A causal mask of the input's size, which is a constant in each program.
  const size = g.op('Gather', [g.op('Shape', ['x']), g.int(0)])
  const columns = g.op('Range', [g.int(0), size, g.int(1)])
  const seen = g.op('LessOrEqual', [columns, g.op('Unsqueeze', [columns, g.ints([1])])])
  const mask = g.op('Cast', [seen], { to: TYPE.f32 })
  g.node('MatMul', [mask, 'x'], ['y'])
  const bytes = modelBytes(
    {
      nodes: g.nodes,
      constants: g.constants,
      inputs: [{ name: 'x', type: TYPE.f32, dims: ['rows', 1] }],
      outputs: [{ name: 'y', type: TYPE.f32 }],
    },
    18,
  )
  const { graph } = await readModel(bufferSource('model.onnx', bytes))
  const compiled = new CompiledGraph(graph, { fuse: true })
  const LEAST = 100
  for (let at = 0; at < 200; at++) {
    const rows = LEAST + ((at * 77) % 200)
    const x = tensorOf('f32', [rows, 1], new Array(rows).fill(1))
    const { data } = (await compiled.run(new Map([['x', x]]))).get('y')!
    expect([data[0], data[rows - 1]]).toEqual([1, rows])
  }
  // 33 masks of the largest size take 11.7 MB; masks of all sizes would take 34.
  expect(compiled.machine.sizes.memoryBytes).toBeLessThan(14e6)
  // An early size runs again.
  const again = tensorOf('f32', [LEAST, 1], new Array(LEAST).fill(2))
  expect((await compiled.run(new Map([['x', again]]))).get('y')!.data[LEAST - 1]).toBe(2 * LEAST)
})
