// Grids. In: the name of an IQ type. Out: exactly ggml's table.
import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { type GridName, iqGrid } from './iq-quants.ts'

/**
 * Number of grid points, and the first half of the SHA-256 of what ggml's `dequantize_row_*` returns
 * (llama.cpp, September 2026) for every index in order, with a scale of 1.
 */
const GGML: readonly (readonly [name: GridName, points: number, hash: string])[] = [
  ['IQ2_XXS', 256, '05826b5d3e472a3a78f196be62ac78ac'],
  ['IQ2_XS', 512, '06e47aaca60b4dc1d9b5a3f345404370'],
  ['IQ2_S', 1024, 'e1aa1473412b0552c2174c30ef22ab40'],
  ['IQ3_XXS', 256, '46e35f5a997efdee6c99ce57854c8a0d'],
  ['IQ3_S', 512, 'bd1af4945a1717c65610b0284e4628b9'],
  ['IQ1_S', 2048, '07540ffc1aeaf6ad4d97e96b0fcc765a'],
]

test.each(GGML)('%s has %i points, the same as in ggml', (name, points, hash) => {
  const grid = iqGrid(name)
  expect(grid.length).toBe(points * (name.startsWith('IQ3') ? 4 : 8))
  expect(createHash('sha256').update(grid).digest('hex').slice(0, 32)).toBe(hash)
  // The second call returns the same table.
  expect(iqGrid(name)).toBe(grid)
})
