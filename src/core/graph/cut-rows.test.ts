// Tests sliced rows. In: products with sliced columns, and nodes that read the slices. Out: an error if a
// kernel would treat adjacent columns as part of the slice.
import { describe, expect, test } from 'vitest'
import { graphBuilder, matrix, vector } from './builder.ts'
import { checkCutRows } from './cut-rows.ts'
import type { Value } from './ir.ts'

type Reader = (b: ReturnType<typeof graphBuilder>, cut: Value, other: Value) => Value

const norm: Reader = (b, cut) => b.rmsnorm('norm', cut, vector({ norm: cut.shape[1] }), 1e-5)
const sum: Reader = (b, cut, other) => b.add('sum', cut, other)
const gate: Reader = (b, cut, other) => b.swiglu('gate', [cut, other], 'silu')
const normOfGate: Reader = (b, cut, other) => norm(b, gate(b, cut, other), other)

/** The graph of a product with these columns in each matrix; `reads` is called with the first two slices. */
function graphOf(matrices: readonly (readonly number[])[], reads: Reader) {
  const b = graphBuilder()
  const total = (columns: readonly number[]) => columns.reduce((sum, width) => sum + width, 0)
  const weight = matrix(32, Object.fromEntries(matrices.map((columns, at) => [`m${at}`, total(columns)])))
  const product = b.linear('product', b.embed('embed', matrix(32, { embed: 64 })), weight)
  const [first, second] = b.columns(
    product,
    Object.fromEntries(matrices.flat().map((width, at) => [`c${at}`, width])),
  )
  const made = reads(b, first!, second!)
  return b.finish(b.linear('logits', made, matrix(made.shape[1], { output: 64 })))
}

describe('checkCutRows', () => {
  test.each([
    ['a norm', norm],
    ['a sum', sum],
    ['a norm of a gate', normOfGate],
  ])('rejects %s of 16 columns that share their group with others', (_, reads) => {
    expect(() => checkCutRows(graphOf([[16, 16]], reads))).toThrow(
      expect.objectContaining({ code: 'unsupported', message: expect.stringMatching(/16 columns.*32/) }),
    )
  })
  test.each([
    ['a gate, which reads no other columns', [[16, 16]], gate],
    ['a norm of whole groups', [[32, 32]], norm],
    ['a norm of a whole matrix, which zeros follow', [[16], [16]], norm],
    ['a norm of a gate of whole matrices', [[16], [16]], normOfGate],
    ['a sum of whole matrices', [[48], [48]], sum],
  ] as const)('accepts %s', (_, matrices, reads) => {
    expect(() => checkCutRows(graphOf(matrices, reads))).not.toThrow()
  })
})
