// Makes loops over elements: maps, copies and fills, each with the best order of axes.
import { type Node, outputsOf } from '../../../onnx/ir/graph.ts'
import { intsOf } from '../../../onnx/ir/operator.ts'
import { countOf } from '../../../onnx/ir/tensor.ts'
import {
  dimsOf,
  type GivenConstant,
  isAll,
  type Mapping,
  type Ref,
  refTo,
  spreadRef,
  turnedRef,
  unturned,
  type Value,
} from '../../loops/loops.ts'
import { arg, type Tree } from '../../loops/tree.ts'
import { orderOf, transposed } from '../../loops/view.ts'
import type { Lowering } from './lowering.ts'
import { misfit } from './misfit.ts'

/**
 * A loop over the references' common shape. `name`: the output that it computes, whose reader may request
 * another order of axes; '' for an intermediate value.
 */
export function map(
  lowering: Lowering,
  node: Node,
  args: readonly Ref[],
  tree: Tree,
  name = '',
  sizes: readonly number[] = [],
): Ref {
  const dims = commonDims(node, args)
  const perm = asked(lowering, name, dims.length) ?? orderFor(lowering, args, dims)
  return mapped(lowering, node, args, tree, { name, sizes, dims, perm })
}

/** Like `map`, of references with the same dims, whose order the result keeps: much less is to be decided. */
export function mapAlike(
  lowering: Lowering,
  node: Node,
  args: readonly Ref[],
  tree: Tree,
  mapping: Mapping = 'one-to-one',
): Ref {
  const out = lowering.values.make(node.name, tree.kind, dimsOf(args[0]!))
  lowering.add({ loop: 'map', node: node.name, mapping, out, args, tree, sizes: [] })
  return refTo(out)
}

/** Like `map`, of integers from 0 to 255, which are stored as bytes. */
export function mapToBytes(lowering: Lowering, node: Node, args: readonly Ref[], tree: Tree, name = ''): Ref {
  const dims = commonDims(node, args)
  const perm = orderFor(lowering, args, dims)
  return mapped(lowering, node, args, tree, { name, dims, perm, isByte: true })
}

function mapped(
  lowering: Lowering,
  node: Node,
  args: readonly Ref[],
  tree: Tree,
  {
    name = '',
    sizes = [],
    dims,
    perm,
    isByte,
  }: {
    readonly name?: string
    readonly sizes?: readonly number[]
    readonly dims: readonly number[]
    readonly perm?: readonly number[] | undefined
    readonly isByte?: boolean | undefined
  },
): Ref {
  const all = args.map((each) => spreadRef(each, dims))
  const turned = perm === undefined ? all : all.map((each) => turnedRef(each, perm))
  const own = perm?.map((axis) => dims[axis]!) ?? dims
  const out = lowering.values.make(name || node.name, tree.kind, own, isByte)
  const count = countOf(dims)
  const isSpread = args.some((each) => countOf(dimsOf(each)) < count)
  const mapping: Mapping = isSpread ? 'one-to-many' : 'one-to-one'
  lowering.add({ loop: 'map', node: node.name, mapping, out, args: turned, tree, sizes })
  return unturned(refTo(out), perm)
}

/** A value that is the same number everywhere. */
export function filled(lowering: Lowering, node: Node, tree: Tree, dims: readonly number[]): Ref {
  const out = lowering.values.make(node.name, tree.kind, dims)
  lowering.add({ loop: 'map', node: node.name, mapping: 'one-to-many', out, args: [], tree, sizes: [] })
  return refTo(out)
}

/** A value that has the number of a scalar everywhere. */
export function filledWith(lowering: Lowering, node: Node, scalar: Ref, dims: readonly number[]): Ref {
  const { kind } = scalar.value
  const out = lowering.values.make(node.name, kind, dims)
  const args = [spreadRef(scalar, dims)]
  lowering.add({
    loop: 'map',
    node: node.name,
    mapping: 'one-to-many',
    out,
    args,
    tree: arg(0, kind),
    sizes: [],
  })
  return refTo(out)
}

/** The elements in row-major order. A constant is reordered as it is loaded. */
export function copy(lowering: Lowering, node: Node, ref: Ref): Ref {
  const { given } = ref.value
  const dims = dimsOf(ref)
  const isFew = countOf(dims) <= countOf(ref.value.dims)
  if (given !== undefined && 'constant' in given && isFew && mayView(given)) {
    const laid = { constant: given.constant, codes: given.codes, view: ref.view }
    return refTo({ ...ref.value, id: lowering.values.nextId(), dims, given: laid })
  }
  return moved(lowering, node, ref)
}

const mayView = ({ codes, view, packing, summed }: GivenConstant): boolean =>
  view === undefined &&
  packing === undefined &&
  summed === undefined &&
  (codes === undefined || !('block' in codes))

/** The elements in row-major order, copied by a loop. */
export function moved(lowering: Lowering, node: Node, ref: Ref): Ref {
  return mapped(lowering, node, [ref], arg(0, ref.value.kind), {
    dims: dimsOf(ref),
    isByte: ref.value.isByte,
  })
}

/**
 * A new value with a view for a product's output, [..., m, n]; its axes are stored in the order that the only
 * reader of `name` requires.
 */
export function orderedValue(
  lowering: Lowering,
  name: string,
  dims: readonly number[],
): { readonly out: Value; readonly ref: Ref } {
  const perm = asked(lowering, name, dims.length)
  const out = lowering.values.make(name, 'f32', perm?.map((axis) => dims[axis]!) ?? dims)
  return { out, ref: unturned(refTo(out), perm) }
}

export function orderFor(
  lowering: Lowering,
  args: readonly Ref[],
  dims: readonly number[],
): readonly number[] | undefined {
  return lowering.leftOut.has('orders') ? undefined : ownOrder(args, dims)
}

/**
 * The order of axes that the only reader, a transposition, requires for a value. Undefined if there is no
 * such reader or if the last axis would move, because rows are written as vectors.
 */
function asked(lowering: Lowering, name: string, rank: number): readonly number[] | undefined {
  const readers = lowering.readers.get(name)
  const [reader] = readers ?? []
  if (lowering.leftOut.has('orders')) return undefined
  if (readers?.length !== 1 || reader === undefined || outputsOf(lowering.graph).has(name)) return undefined
  if (reader.op !== 'Transpose' || reader.domain !== '') return undefined
  const perm = intsOf(reader, 'perm', undefined)
  return perm?.length === rank && perm.at(-1) === rank - 1 ? perm : undefined
}

/**
 * The stored order of the largest argument's axes, if it differs from the graph's order for a whole value, or
 * if a partial value is contiguous along an axis other than the graph's last. Undefined if an equally large
 * argument is in the graph's order.
 */
function ownOrder(args: readonly Ref[], dims: readonly number[]): readonly number[] | undefined {
  const count = countOf(dims)
  const whole = args.filter((each) => countOf(dimsOf(each)) === count)
  const [first] = whole
  if (first === undefined || whole.some(isAll) || dimsOf(first).length !== dims.length) return undefined
  const { value, view } = first
  const perm = orderOf(view)
  const last = dims.findLastIndex((size) => size > 1)
  const isAlong = view.strides[last] !== 1 && view.strides[perm.at(-1)!] === 1
  return isAlong || isAll({ value, view: transposed(view, perm) }) ? perm : undefined
}

function commonDims(node: Node, args: readonly Ref[]): readonly number[] {
  const rank = args.reduce((most, each) => Math.max(most, dimsOf(each).length), 0)
  const dims = Array<number>(rank).fill(1)
  for (const each of args) {
    const own = dimsOf(each)
    for (let axis = 0; axis < own.length; axis++) {
      const at = axis + rank - own.length
      const size = own[axis]!
      if (size === 1 || size === dims[at]) continue
      if (dims[at] === 1) dims[at] = size
      else
        throw misfit(
          node,
          `the shapes ${args.map((arg) => `[${dimsOf(arg).join(', ')}]`).join(' and ')} do not match`,
        )
    }
  }
  return dims
}
