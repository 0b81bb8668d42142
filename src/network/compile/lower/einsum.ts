// The handler of Einsum. With one input, an equation is a sum over a view; with two, a batch of products.
import type { Node } from '../../onnx/ir/graph.ts'
import { unclaimed } from '../../onnx/ir/operator.ts'
import { countOf } from '../../onnx/ir/tensor.ts'
import { equationOf, sizesOf } from '../../onnx/operators/einsum.ts'
import { dimsOf, type Ref } from '../loops/loops.ts'
import { arg, mul } from '../loops/tree.ts'
import { spread, transposed } from '../loops/view.ts'
import type { Handler, SomeHandlers } from './handler.ts'
import { reshape } from './lowering/layouts.ts'
import { map } from './lowering/loops.ts'
import type { Lowering } from './lowering/lowering.ts'
import { multiply, reduce } from './lowering/sums.ts'

/** A reference with one letter per axis. */
interface Lettered {
  readonly ref: Ref
  readonly letters: readonly string[]
}

const einsum: Handler = (lowering, node) => {
  const [name = ''] = node.outputs
  const refs = node.inputs.map((input) => lowering.values.ref(node, input))
  if (refs.length > 2) throw unclaimed(node, `an equation with ${refs.length} inputs is not compiled`)
  if (refs.some(({ value }) => value.kind !== 'f32')) throw unclaimed(node, 'its input does not hold floats')
  const equation = equationOf(
    node,
    refs.map(({ view }) => view.dims.length),
  )
  const sizes = sizesOf(node, equation.inputs, refs.map(dimsOf))
  const output = [...equation.output]
  const sides = refs.map((ref, at): Lettered => {
    const letters = [...equation.inputs[at]!]
    if (new Set(letters).size < letters.length) throw unclaimed(node, 'it takes a diagonal')
    const dims = letters.map((letter) => sizes.get(letter)!)
    const other = equation.inputs[1 - at] ?? ''
    const full = { ref: { ...ref, view: spread(ref.view, dims) }, letters }
    return summed(lowering, node, full, (letter) => !output.includes(letter) && !other.includes(letter))
  })
  const [left, right] = sides as [Lettered, Lettered | undefined]
  const made = right === undefined ? left : product(lowering, node, left, right, output)
  lowering.values.name(name, ordered(made, output))
}

/** The sum over the remaining letters. */
function summed(
  lowering: Lowering,
  node: Node,
  side: Lettered,
  isLeft: (letter: string) => boolean,
): Lettered {
  const axes = [...side.letters.keys()].filter((axis) => isLeft(side.letters[axis]!))
  if (axes.length === 0) return side
  const letters = side.letters.filter((letter) => !isLeft(letter))
  return { ref: reduce(lowering, node, side.ref, axes, 'sum'), letters }
}

/** Its axes in the order of `letters`. */
const ordered = ({ ref, letters: own }: Lettered, letters: readonly string[]): Ref => ({
  ...ref,
  view: transposed(
    ref.view,
    letters.map((letter) => own.indexOf(letter)),
  ),
})

/** Letters that both inputs have are batch axes if the output has them too; otherwise they are summed. */
function product(
  lowering: Lowering,
  node: Node,
  left: Lettered,
  right: Lettered,
  output: readonly string[],
): Lettered {
  const both = left.letters.filter((letter) => right.letters.includes(letter))
  const batch = both.filter((letter) => output.includes(letter))
  const inner = both.filter((letter) => !output.includes(letter))
  const rows = left.letters.filter((letter) => !both.includes(letter))
  const columns = right.letters.filter((letter) => !both.includes(letter))
  const letters = [...batch, ...rows, ...columns]
  const sizeOf = (letter: string): number => {
    const side = left.letters.includes(letter) ? left : right
    return dimsOf(side.ref)[side.letters.indexOf(letter)]!
  }
  const dims = (some: readonly string[]): number[] => some.map(sizeOf)
  const [m, k, n] = [rows, inner, columns].map((some) => countOf(dims(some))) as [number, number, number]
  if (inner.length === 0) {
    const a = reshape(lowering, node, ordered(left, [...batch, ...rows]), [...dims(batch), m, 1])
    const b = reshape(lowering, node, ordered(right, [...batch, ...columns]), [...dims(batch), 1, n])
    const made = map(lowering, node, [a, b], mul(arg(0), arg(1)))
    return { ref: reshape(lowering, node, made, dims(letters)), letters }
  }
  if (k === 0) throw unclaimed(node, 'it sums over no elements')
  const a = reshape(lowering, node, ordered(left, [...batch, ...rows, ...inner]), [...dims(batch), m, k])
  const b = reshape(lowering, node, ordered(right, [...batch, ...inner, ...columns]), [...dims(batch), k, n])
  return { ref: reshape(lowering, node, multiply(lowering, node, a, b), dims(letters)), letters }
}

export const EINSUM_HANDLERS = { Einsum: einsum } satisfies SomeHandlers
