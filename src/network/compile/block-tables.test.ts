// Tables quantized in blocks. In: rows of 4 and 8 bits with scales and zero points. Out: whether a gather
// returns its rows as floats, leaves the table as it is in the file, and rejects indices out of range.
import { expect, test } from 'vitest'
import { bufferSource } from '../../core/base/bytes.ts'
import { tensorOf } from '../onnx/ir/tensor.ts'
import { readModel } from '../onnx/read-model.ts'
import { CompiledGraph } from './compiled-graph.ts'
import { blockTable } from './testing/block-table.ts'

const SHAPE = { rows: 4096, width: 256 }

test.each([
  [4, false],
  [4, true],
  [8, false],
  [8, true],
] as const)('%i bits, with zero points: %s', async (bits, hasZeros) => {
  const { graph: file, wanted, bytes } = blockTable({ ...SHAPE, bits, hasZeros })
  const { graph } = await readModel(bufferSource('table.onnx', file))
  for (const fuse of [true, false]) {
    const compiled = new CompiledGraph(graph, { fuse })
    const ids = [7, 0, SHAPE.rows - 1, 7, -1, 2000]
    const made = await compiled.run(new Map([['ids', tensorOf('i64', [2, 3], ids)]]))
    expect(made.get('y')!.dims).toEqual([2, 3, SHAPE.width])
    expect([...made.get('y')!.data]).toEqual(ids.flatMap((row) => wanted(row < 0 ? row + SHAPE.rows : row)))
    // A table of i32 or f32 would take four or eight times as many bytes.
    expect(compiled.machine.sizes.memoryBytes).toBeLessThan(bytes + (1 << 20))
    const beyond = compiled.run(new Map([['ids', tensorOf('i64', [1, 1], [SHAPE.rows])]]))
    await expect(beyond).rejects.toThrow(expect.objectContaining({ code: 'format' }))
    compiled.dispose()
  }
})
