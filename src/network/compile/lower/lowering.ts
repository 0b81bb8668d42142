// Lowering: what handlers of operators use to make loops, and the program that comes out.
import type { ByteSource } from '../../../core/base/bytes.ts'
import { HalfbyteError } from '../../../core/base/errors.ts'
import type { PlanBudget } from '../../onnx/graph-budget.ts'
import { type Graph, isStored, type Node, outputsOf, producersOf, type Type } from '../../onnx/ir/graph.ts'
import { intsOf, type Mapping, unclaimed } from '../../onnx/ir/operator.ts'
import { arrayOf, countOf, type DType, isFloat, numbersOf, type Tensor } from '../../onnx/ir/tensor.ts'
import { operatorOf } from '../../onnx/operators.ts'
import { limitedTo32, unheldOf, WHY_UNHELD } from '../loops/held.ts'
import {
  type BlockCodes,
  bytesOf,
  type Codes,
  dimsOf,
  isAll,
  isConstant,
  type Loop,
  neutralOf,
  type Packing,
  type PlaceLoop,
  type Program,
  type Reduction,
  type Ref,
  refTo,
  spreadRef,
  stepsOf,
  type Value,
} from '../loops/program.ts'
import { arg, checked, costOf, type Kind, number, type Tree } from '../loops/tree.ts'
import { inverseOf, orderOf, reshaped, sliced, transposed, type View, whole } from '../loops/view.ts'
import type { LeftOut } from '../stages.ts'
import type { WeightPolicy } from './policy.ts'

/** Whole numbers of other widths would have to wrap. */
export const COMPUTED: readonly DType[] = ['f32', 'f16', 'bf16', 'f64', 'i32', 'i64', 'bool']

/**
 * Dtypes whose numbers i32 holds. Those of i64 that it does not hold are rejected, by whatever makes them.
 */
const WHOLE: readonly DType[] = ['i8', 'u8', 'i16', 'u16', 'i32', 'i64', 'bool']

export function kindOf(node: Node, dtype: DType): Kind {
  if (isFloat(dtype)) return 'f32'
  if (WHOLE.includes(dtype)) return 'i32'
  throw unclaimed(node, `values of ${dtype} are not compiled`)
}

/** Work of planning a node, for each name that it has, for a loop, and for an entry of a table. */
const NODE_UNITS = 512
const NAME_UNITS = 64
const LOOP_UNITS = 1280
const TREE_UNITS = 16
export const TABLE_UNITS = 4

/** How nodes are lowered. */
export interface LowerOptions {
  readonly weights: WeightPolicy
  readonly leftOut: LeftOut
  /** The limits of the plan and its runs. */
  readonly budget: PlanBudget
}

export class Lowering {
  readonly graph: Graph
  readonly weights: WeightPolicy
  readonly #leftOut: LeftOut
  readonly #budget: PlanBudget
  readonly #types: ReadonlyMap<string, Type>
  readonly #refs = new Map<string, Ref>()
  readonly #inputs = new Map<string, Value>()
  readonly #loops: Loop[] = []
  readonly #settled = new Map<string, Tensor>()
  readonly #once = new Map<string, Ref>()
  readonly #made = new Map<string, Tensor>()
  readonly #readers: ReadonlyMap<string, readonly Node[]>
  readonly #bytesRead = new Map<ByteSource, number>()
  #values = 0
  #viewBytes = 0
  #viewNodes = 0

  constructor(
    graph: Graph,
    types: ReadonlyMap<string, Type>,
    readers: ReadonlyMap<string, readonly Node[]>,
    { weights, leftOut, budget }: LowerOptions,
  ) {
    this.graph = graph
    this.weights = weights
    this.#leftOut = leftOut
    this.#budget = budget
    this.#types = types
    this.#readers = readers
  }

  /** Charges for a node before its handler begins: its names, and the elements of what it makes. */
  begin(node: Node): void {
    const names = node.inputs.length + node.outputs.length
    this.#budget.spend(NODE_UNITS + NAME_UNITS * names)
    for (const name of node.outputs) {
      const dims = this.#types.get(name)?.dims
      if (dims?.every((size) => typeof size === 'number'))
        this.#budget.step(node.name, countOf(dims as number[]))
    }
  }

  /**
   * Charges for what a handler works out while it plans, before it does: units of `NetworkLimits.planning`.
   */
  spend(units: number): void {
    this.#budget.spend(units)
  }

  /** The sizes of a value. Throws `unsupported` where they depend on more than the sizes of the inputs. */
  dims(node: Node, name: string): readonly number[] {
    const dims = this.#types.get(name)?.dims
    if (dims?.every((size) => typeof size === 'number')) return dims as number[]
    throw unclaimed(node, `the sizes of ${name} depend on what is computed, or are not known`)
  }

  dtype(node: Node, name: string): DType {
    const dtype = this.#types.get(name)?.dtype
    if (dtype !== undefined) return dtype
    throw unclaimed(node, `the type of ${name} is not known`)
  }

  /** The elements of a constant in memory. */
  known(name: string): Tensor | undefined {
    const settled = this.#settled.get(name)
    if (settled !== undefined) return settled
    const constant = this.graph.constants.get(name)
    return constant === undefined || isStored(constant) ? undefined : constant
  }

  /** The elements of an input as numbers. Throws `unsupported` where they are computed. */
  list(node: Node, index: number): number[] {
    const tensor = this.known(node.inputs[index] ?? '')
    if (tensor === undefined) throw unclaimed(node, `its input ${index} is computed`)
    return numbersOf(tensor)
  }

  /** A constant that the file does not have: `entry` gives the number at each place in row order. */
  table(kind: Kind, dims: readonly number[], entry: (place: number) => number): Ref {
    const count = countOf(dims)
    const name = `(constant ${this.#made.size})`
    this.#budget.spend(TABLE_UNITS * count)
    this.#budget.room(`a table of [${dims.join(', ')}]`, 4 * count)
    const data = arrayOf(kind, count)
    for (let place = 0; place < count; place++) data[place] = entry(place)
    this.#made.set(name, { dtype: kind, dims, data })
    return refTo({ id: this.#values++, name, kind, dims, given: { constant: name } })
  }

  /** A value that is a number whatever the inputs are. */
  settle(name: string, tensor: Tensor): void {
    this.#settled.set(name, tensor)
  }

  /** The location of an input's value. */
  ref(node: Node, name: string): Ref {
    const found = this.#refs.get(name)
    if (found !== undefined) return found
    const kind = kindOf(node, this.dtype(node, name))
    const isInput = this.graph.inputs.some((input) => input.name === name)
    if (!isInput && !this.graph.constants.has(name))
      throw unclaimed(node, `nothing that is compiled makes ${name}`)
    if (!isInput) this.#read(name)
    const given = isInput ? { input: name } : { constant: name }
    if (!isInput) checkHeld(node, name, this.known(name))
    const value: Value = { id: this.#values++, name, kind, dims: this.dims(node, name), given }
    if (isInput) this.#inputs.set(name, value)
    return this.name(name, refTo(value))
  }

  /** Weights of a file are not counted, but a file may say of many tensors that they lie in one place. */
  #read(name: string): void {
    const constant = this.graph.constants.get(name)
    if (constant === undefined || !isStored(constant)) return
    const { source, byteLength } = constant
    const bytes = (this.#bytesRead.get(source) ?? 0) + byteLength
    this.#bytesRead.set(source, bytes)
    this.#budget.room(`what is read of ${source.name} beyond its ${source.size} bytes`, bytes - source.size)
  }

  /**
   * Says where a value of the graph lies. Throws `unsupported` for floats under a name of i64, which would be
   * read as other numbers; codes and their sums may be whole floats.
   */
  name(name: string, ref: Ref): Ref {
    const dtype = this.#types.get(name)?.dtype
    const maker = producersOf(this.graph).get(name)
    if (dtype === 'i64' && maker !== undefined && ref.value.kind === 'f32')
      throw unclaimed(maker, `its output of ${dtype} is compiled as ${ref.value.kind}`)
    this.#refs.set(name, ref)
    return ref
  }

  /**
   * A constant of codes as floats. It must not be read otherwise under the same name. `dims`: of the floats,
   * where those of the constant are other ones.
   */
  decoded(node: Node, name: string, codes: Codes | BlockCodes, dims = this.dims(node, name)): Ref {
    return this.#coded(node, name, { kind: 'f32', dims, given: { constant: name, codes } })
  }

  /** A constant of packed codes, i32 of these dims in row order. */
  packed(node: Node, name: string, packing: Packing, dims: readonly number[]): Ref {
    return this.#coded(node, name, { kind: 'i32', dims, given: { constant: name, packing } })
  }

  #coded(node: Node, name: string, form: Pick<Value, 'kind' | 'dims' | 'given'>): Ref {
    if (!this.graph.constants.has(name)) throw unclaimed(node, `the codes ${name} are computed`)
    this.#read(name)
    return refTo({ id: this.#values++, name, ...form })
  }

  /** The same elements through another view. They do not move. */
  viewed(node: Node, output: string, ref: Ref): void {
    this.#viewNodes++
    // It would read and write each element.
    this.#viewBytes += 8 * countOf(dimsOf(ref))
    const isCopied = this.#leftOut.has('views') && !isConstant(ref.value)
    this.name(output, isCopied ? this.copy(node, ref) : ref)
  }

  /** Throws `out-of-memory` for more bytes than the values of a run may have. */
  value(name: string, kind: Kind, dims: readonly number[]): Value {
    this.#budget.room(`${name} of the shape [${dims.join(', ')}]`, bytesOf({ dims }))
    return { id: this.#values++, name, kind, dims }
  }

  /** What `make` gives, which is made once for each key. */
  once(key: string, make: () => Ref): Ref {
    const made = this.#once.get(key) ?? make()
    this.#once.set(key, made)
    return made
  }

  /** Every loop of a plan passes here, and is charged for. */
  add(loop: Loop): void {
    this.#budget.spend(
      LOOP_UNITS + ('tree' in loop && loop.tree !== undefined ? TREE_UNITS * costOf(loop.tree) : 0),
    )
    this.#budget.step(loop.node, stepsOf(loop))
    this.#loops.push(loop)
  }

  /**
   * A loop over the common shape of some references. `name` is the output for which it is made, whose
   * reader may ask for another order of axes; '' for its own value.
   */
  map(node: Node, args: readonly Ref[], tree: Tree, name = '', sizes: readonly number[] = []): Ref {
    const dims = commonDims(node, args)
    const perm = this.#asked(name, dims.length) ?? this.#ownOrder(args, dims)
    return this.#map(node, args, tree, { name, sizes, dims, perm })
  }

  #ownOrder(args: readonly Ref[], dims: readonly number[]): readonly number[] | undefined {
    return this.#leftOut.has('orders') ? undefined : ownOrder(args, dims)
  }

  #map(
    node: Node,
    args: readonly Ref[],
    tree: Tree,
    {
      name = '',
      sizes = [],
      dims,
      perm,
    }: {
      readonly name?: string
      readonly sizes?: readonly number[]
      readonly dims: readonly number[]
      readonly perm?: readonly number[] | undefined
    },
  ): Ref {
    const all = args.map((each) => spreadRef(each, dims))
    const turned = perm === undefined ? all : all.map((each) => turnedRef(each, perm))
    const out = this.value(name || node.name, tree.kind, perm?.map((axis) => dims[axis]!) ?? dims)
    const isSpread = args.some((each) => countOf(dimsOf(each)) < countOf(dims))
    const mapping: Mapping = isSpread ? 'one-to-many' : 'one-to-one'
    this.add({ loop: 'map', node: node.name, mapping, out, args: turned, tree, sizes })
    return back(refTo(out), perm)
  }

  /** A value that is the same number everywhere. */
  filled(node: Node, tree: Tree, dims: readonly number[]): Ref {
    const out = this.value(node.name, tree.kind, dims)
    this.add({ loop: 'map', node: node.name, mapping: 'one-to-many', out, args: [], tree, sizes: [] })
    return refTo(out)
  }

  /**
   * A value with a border of one number; `around` has its sizes before and after each axis. Its axes lie in
   * the order of the input's.
   */
  padded(node: Node, ref: Ref, around: readonly (readonly [number, number])[], fill: number): Ref {
    const perm = this.#ownOrder([ref], dimsOf(ref))
    if (perm === undefined) return this.#padded(node, ref, around, fill)
    const turned = perm.map((axis) => around[axis]!)
    return back(this.#padded(node, turnedRef(ref, perm), turned, fill), perm)
  }

  #padded(node: Node, ref: Ref, around: readonly (readonly [number, number])[], fill: number): Ref {
    const own = dimsOf(ref)
    const dims = own.map((size, axis) => size + around[axis]![0] + around[axis]![1])
    const { kind } = ref.value
    const out = this.value(node.name, kind, dims)
    const place = (from: Ref, at: View): void =>
      this.add({ loop: 'place', node: node.name, mapping: 'shuffle', out, args: [from], at })
    let rest = whole(dims)
    for (const [axis, [before, after]] of around.entries()) {
      const size = own[axis]!
      // The padding before and after the input along this axis; along the axes before it, only next to the
      // input.
      for (const [start, count] of [
        [0, before],
        [before + size, after],
      ] as const) {
        const at = sliced(rest, axis, start, count)
        if (countOf(at.dims) === 0) continue
        place(this.filled(node, number(fill, kind), at.dims), at)
      }
      rest = sliced(rest, axis, before, size)
    }
    if (countOf(own) > 0) place(ref, rest)
    return refTo(out)
  }

  /** The reduction over some axes, without them. */
  reduce(node: Node, ref: Ref, axes: readonly number[], how: Reduction): Ref {
    const dims = dimsOf(ref)
    const kept = dims.map((_, axis) => axis).filter((axis) => !axes.includes(axis))
    const order = { ...ref, view: transposed(ref.view, [...kept, ...axes]) }
    const outer = kept.map((axis) => dims[axis]!)
    const count = countOf(axes.map((axis) => dims[axis]!))
    if (count === 1) return this.reshape(node, order, outer)
    // A loop over no elements would write nothing.
    if (count === 0) return this.filled(node, number(neutralOf(ref.value.kind, how), ref.value.kind), outer)
    const rows = this.reshape(node, order, [...outer, count])
    const out = this.value(node.name, ref.value.kind, outer)
    this.add({ loop: 'reduce', node: node.name, mapping: 'many-to-many', out, args: [rows], how })
    return refTo(out)
  }

  /** The same elements with other dims; a copy if strides cannot express it. */
  reshape(node: Node, ref: Ref, dims: readonly number[]): Ref {
    const count = countOf(dimsOf(ref))
    if (count !== countOf(dims))
      throw misfit(node, `${count} elements cannot have the shape [${dims.join(', ')}]`)
    const view = reshaped(ref.view, dims)
    return view === undefined ? this.reshape(node, this.copy(node, ref), dims) : { ...ref, view }
  }

  /** The elements in row order. Those of a constant are put in order when it is loaded. */
  copy(node: Node, ref: Ref): Ref {
    const { given } = ref.value
    const dims = dimsOf(ref)
    const isFew = countOf(dims) <= countOf(ref.value.dims)
    if (
      given !== undefined &&
      'constant' in given &&
      isFew &&
      !given.codes &&
      !given.view &&
      !given.packing
    ) {
      const laid = { constant: given.constant, view: ref.view }
      return refTo({ ...ref.value, id: this.#values++, dims, given: laid })
    }
    return this.#moved(node, ref)
  }

  /** The elements in row order, copied by a loop. */
  #moved(node: Node, ref: Ref): Ref {
    return this.#map(node, [ref], arg(0, ref.value.kind), { dims: dimsOf(ref) })
  }

  /** a [..., m, k] times b [..., k, n] under the same batch. */
  product(node: Node, a: Ref, b: Ref): Ref {
    const out = this.value(node.name, 'f32', [...dimsOf(a).slice(0, -1), dimsOf(b).at(-1)!])
    const at = whole(out.dims)
    this.add({ loop: 'product', node: node.name, mapping: 'many-to-many', out, args: [a, b], at })
    return refTo(out)
  }

  /** Parts one after the other along an axis; each is written where it belongs, by what makes it if legal. */
  joined(node: Node, name: string, parts: readonly Ref[], axis: number): Ref {
    const [first] = parts as [Ref]
    const count = parts.reduce((sum, part) => sum + dimsOf(part)[axis]!, 0)
    const out = this.value(name, first.value.kind, dimsOf(first).with(axis, count))
    let from = 0
    for (const part of parts) {
      const size = dimsOf(part)[axis]!
      const at = sliced(whole(out.dims), axis, from, size)
      from += size
      if (size > 0)
        this.add({ loop: 'place', node: node.name, mapping: 'shuffle', out, ...inOwnSpace(part, at) })
    }
    return refTo(out)
  }

  /**
   * The view of a product's output, [..., m, n], in a new value, whose axes lie in the order that the only
   * reader of `name` asks for.
   */
  room(name: string, dims: readonly number[]): { readonly out: Value; readonly ref: Ref } {
    const perm = this.#asked(name, dims.length)
    const out = this.value(name, 'f32', perm?.map((axis) => dims[axis]!) ?? dims)
    return { out, ref: back(refTo(out), perm) }
  }

  /**
   * The order of axes in which the only reader, a transposition, wants a value. Undefined where there is no
   * such reader, or where the last axis would move: rows are written as vectors.
   */
  #asked(name: string, rank: number): readonly number[] | undefined {
    const readers = this.#readers.get(name)
    const [reader] = readers ?? []
    if (this.#leftOut.has('orders')) return undefined
    if (readers?.length !== 1 || reader === undefined || outputsOf(this.graph).has(name)) return undefined
    if (reader.op !== 'Transpose' || reader.domain !== '') return undefined
    const perm = intsOf(reader, 'perm', undefined)
    return perm?.length === rank && perm.at(-1) === rank - 1 ? perm : undefined
  }

  program(): Program {
    const last = this.graph.nodes.at(-1)
    const outputs = this.graph.outputs.map((name) => {
      const node = last ?? {
        name,
        op: 'output',
        domain: '',
        version: 0,
        inputs: [],
        outputs: [],
        attributes: new Map(),
      }
      const ref = this.ref(node, name)
      const isOwn = ref.value.given === undefined && isAll(ref)
      return { name, ref: isOwn ? ref : this.#moved(node, ref), dtype: this.dtype(node, name) }
    })
    return {
      loops: this.#loops,
      inputs: this.#inputs,
      outputs,
      made: this.#made,
      viewBytes: this.#viewBytes,
      viewNodes: this.#viewNodes,
    }
  }

  /**
   * The tree of the node's output, checked where that is i64. A remainder is no larger than what it is of.
   */
  exact(node: Node, tree: Tree): Tree {
    const canLeave = this.dtype(node, node.outputs[0]!) === 'i64' && node.op !== 'Mod'
    return canLeave ? checked(tree) : tree
  }

  /**
   * A tree for an operand: a number where the operand is a constant of one element. `isLimit`: whether a
   * number beyond 32 bits means the same to the node as the last one before it.
   */
  tree(node: Node, name: string, args: Ref[], isLimit = false): Tree {
    const kind = kindOf(node, this.dtype(node, name))
    const tensor = this.known(name)
    const rank = this.dims(node, name).length
    // A number of more axes than the others would lose them, so that it is read as a tensor.
    if (tensor?.data.length === 1 && rank <= 1) {
      const [value = 0] = numbersOf(tensor)
      if (!isLimit) checkHeld(node, name, tensor)
      return number(kind === 'f32' ? value : limitedTo32(value), kind)
    }
    const ref = this.ref(node, name)
    args.push(ref)
    return arg(args.length - 1, ref.value.kind)
  }
}

/** Throws `unsupported` for a constant with a number that memory does not hold. */
function checkHeld(node: Node, name: string, tensor: Tensor | undefined): void {
  const value = tensor && unheldOf(tensor.dtype, tensor.data)
  if (value !== undefined) throw unclaimed(node, `its constant ${name} has ${value}, ${WHY_UNHELD}`)
}

/**
 * The order in which the axes of the largest argument lie, if it has all of its value in another order than
 * the graph's, or a part of it whose neighbours are along another axis than the graph's last, and no argument
 * as large lies in the graph's order.
 */
function ownOrder(args: readonly Ref[], dims: readonly number[]): readonly number[] | undefined {
  const whole = args.filter((each) => countOf(dimsOf(each)) === countOf(dims))
  const [first] = whole
  if (first === undefined || whole.some(isAll) || dimsOf(first).length !== dims.length) return undefined
  const { value, view } = first
  const perm = orderOf(view)
  const last = dims.findLastIndex((size) => size > 1)
  const isAlong = view.strides[last] !== 1 && view.strides[perm.at(-1)!] === 1
  return isAlong || isAll({ value, view: transposed(view, perm) }) ? perm : undefined
}

/** A value that is placed whole is placed under its own dims, those of the loop that makes it. */
function inOwnSpace(part: Ref, at: View): Pick<PlaceLoop, 'args' | 'at'> {
  const own = isAll(part) ? reshaped(at, part.value.dims) : undefined
  return own === undefined ? { args: [part], at } : { args: [refTo(part.value)], at: own }
}

const turnedRef = (ref: Ref, perm: readonly number[]): Ref => ({ ...ref, view: transposed(ref.view, perm) })

/** The reference in the graph's order of axes. */
function back(ref: Ref, perm: readonly number[] | undefined): Ref {
  if (perm === undefined) return ref
  return turnedRef(ref, inverseOf(perm))
}

function commonDims(node: Node, args: readonly Ref[]): readonly number[] {
  const rank = Math.max(0, ...args.map((each) => dimsOf(each).length))
  return Array.from({ length: rank }, (_, axis) => {
    const sizes = args.map((each) => dimsOf(each)[axis - rank + dimsOf(each).length] ?? 1)
    const own = sizes.filter((size) => size !== 1)
    if (new Set(own).size > 1)
      throw misfit(
        node,
        `the shapes ${args.map((each) => `[${dimsOf(each).join(', ')}]`).join(' and ')} differ`,
      )
    return own[0] ?? 1
  })
}

/** Throws where an axis would have to repeat that has more than one element. */
export function checkSpread(node: Node, from: readonly number[], to: readonly number[]): void {
  const isFit = from.every((size, axis) => size === 1 || size === to[axis + to.length - from.length])
  if (!isFit) throw misfit(node, `the shape [${from.join(', ')}] does not extend to [${to.join(', ')}]`)
}

/** A graph leaves sizes open, so that its file may be right and a run's sizes wrong. */
export const misfit = (node: Node, what: string): HalfbyteError =>
  new HalfbyteError(
    'unsupported',
    `node ${node.name} (${node.op}): ${what}; give inputs of other sizes, or export the model again`,
    { node: node.name, op: node.op },
  )

/** The mapping type that an operator's entry states. */
export function mappingOf(node: Node): Mapping {
  const operator = operatorOf(node)
  if (operator === undefined) throw unclaimed(node, `no operator ${node.op} of its opset is known`)
  return operator.mapping
}
