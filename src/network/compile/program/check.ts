// Checks, before a program runs, that no step reads or writes outside its values.
import { roundUp } from '../../../core/abi/encodings.ts'
import { HalfbyteError } from '../../../core/base/errors.ts'
import { countOf } from '../../onnx/ir/tensor.ts'
import type { KernelCall, StreamPlace, Walk } from '../emit/kernel.ts'
import { codedRowBytes, dimsOf, type KernelLoop } from '../loops/loops.ts'

/** A step's rows and a row's elements are counted in 32 bits. */
const MAX_ROWS = 2 ** 31 - 1
const MAX_INNER = 2 ** 29 - 1

/**
 * Throws `out-of-memory` if a step has more rows or elements than it can count, and `internal` for an access
 * outside a value; the error names the node and both numbers.
 */
export function checkCall(call: KernelCall, nodes: readonly string[]): void {
  const { outer, inner, streams, product, selected } = call
  checkCount('rows', countOf([...outer, product?.m ?? 1]), MAX_ROWS, nodes)
  checkCount('elements in a row', Math.max(inner, product?.k ?? 0, product?.n ?? 0), MAX_INNER, nodes)
  const rows: readonly number[] = product === undefined ? outer : [...outer, product.m]
  // A selection writes rows of a different length.
  const alike = selected === undefined ? streams : streams.slice(0, 1)
  for (const stream of alike) {
    const walks: Walk[] = [[inner, stream.inner]]
    for (let axis = 0; axis < rows.length; axis++) walks.push([rows[axis]!, stream.steps[axis]!])
    if (stream.index !== undefined) walks.push([stream.index.size, stream.index.step])
    check(stream, walks, nodes)
  }
  if (selected !== undefined) checkSelected(call, selected, nodes)
  if (product === undefined) return
  const { a, b, m, n, k } = product
  const batch = (steps: readonly number[]) => outer.map((size, axis): Walk => [size, steps[axis]!])
  // Without rows or columns, nothing is read.
  check(a, [...batch(a.steps), ...a.walks, [n, call.kernel.product?.isByColumn ? 1 : 0]], nodes)
  check(b, [...batch(b.steps), [k, b.k], [n, b.column], [m, 0]], nodes)
}

function checkCount(what: string, count: number, most: number, nodes: readonly string[]): void {
  if (count <= most) return
  throw new HalfbyteError(
    'out-of-memory',
    `the step of ${nodes.join(', ')} covers ${count} ${what}, but at most ${most} are supported; give smaller inputs`,
    { count, most },
  )
}

/** A selection writes as many positions per row as it finds, and cannot find more than the row has. */
function checkSelected(
  { outer, inner, streams }: KernelCall,
  selected: number,
  nodes: readonly string[],
): void {
  const [, out] = streams as [StreamPlace, StreamPlace]
  const rows = outer.map((size, axis): Walk => [size, out.steps[axis]!])
  check(out, [...rows, [selected, 1]], nodes)
  if (selected > inner)
    throw new HalfbyteError(
      'internal',
      `the compiled step of ${nodes.join(', ')} finds ${selected} positions in rows of ${inner}; report the model`,
      { selected, inner },
    )
}

/** Like `checkCall`, for an engine kernel, which reads and writes whole groups of 32. */
export function checkKernel(loop: KernelLoop): void {
  const [{ value, view }] = loop.args
  const at = (of: StreamPlace['at']) => ({ at: of })
  const nodes = [loop.node]
  const write = (...walks: Walk[]) => check(at({ value: loop.out, offset: 0 }), walks, nodes)
  if (loop.loop === 'quantize') {
    const [m, k] = dimsOf(loop.args[0]) as [number, number]
    check(
      at({ value, offset: view.offset }),
      [
        [m, view.strides[0]!],
        [roundUp(k, 32), view.strides[1]!],
      ],
      nodes,
    )
    const words = codedRowBytes(k) / 4
    write([m, words], [words, 1])
    return
  }
  const [k, n] = dimsOf(loop.matrix) as [number, number]
  const words = codedRowBytes(k) / 4
  check(
    at({ value, offset: 0 }),
    [
      [loop.m, words],
      [words, 1],
    ],
    nodes,
  )
  write([loop.m, roundUp(n, 32)], [roundUp(n, 32), 1])
}

function check({ at }: Pick<StreamPlace, 'at'>, walks: readonly Walk[], nodes: readonly string[]): void {
  if (!('value' in at)) return
  let low = at.offset
  let high = at.offset
  for (const walk of walks) {
    const size = walk[0]
    const step = walk[1]
    if (size === 0) return
    if (step < 0) low += (size - 1) * step
    else high += (size - 1) * step
  }
  const count = countOf(at.value.dims)
  if (low >= 0 && high < count && Number.isSafeInteger(high)) return
  throw new HalfbyteError(
    'internal',
    `the compiled step of ${nodes.join(', ')} reaches elements ${low} to ${high} of ${at.value.name}, which has ${count}; report the model`,
    { low, high, count },
  )
}
