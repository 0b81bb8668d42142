// What is known about a graph's values during lowering: sizes, types, constants and locations.
import type { ByteSource } from '../../../../core/base/bytes.ts'
import type { ProgramBudget } from '../../../onnx/graph-budget.ts'
import { type Graph, isStored, type Node, producersOf, type Type } from '../../../onnx/ir/graph.ts'
import { unclaimed } from '../../../onnx/ir/operator.ts'
import { arrayOf, countOf, type DType, FLOATS, numbersOf, type Tensor } from '../../../onnx/ir/tensor.ts'
import { unheldOf, WHY_UNHELD } from '../../loops/held.ts'
import {
  type BlockCodes,
  bytesOf,
  type CodedPlace,
  type Codes,
  type Packing,
  type Ref,
  refTo,
  type Value,
} from '../../loops/loops.ts'
import type { Kind } from '../../loops/tree.ts'

/** Integers of other widths would have to wrap. */
export const COMPUTED: readonly DType[] = ['f32', 'f16', 'bf16', 'f64', 'i32', 'i64', 'bool']

/** Dtypes whose numbers fit into i32. Larger i64 numbers are rejected where they occur. */
const WHOLE: readonly DType[] = ['i8', 'u8', 'i16', 'u16', 'i32', 'i64', 'bool']

export function kindOf(node: Node, dtype: DType): Kind {
  if (FLOATS.includes(dtype)) return 'f32'
  if (WHOLE.includes(dtype)) return 'i32'
  throw unclaimed(node, `${dtype} values are not compiled`)
}

/** Planning units per entry of a table. */
const TABLE_UNITS = 4

export class Values {
  readonly #graph: Graph
  readonly #types: ReadonlyMap<string, Type>
  readonly #budget: ProgramBudget
  readonly #refs = new Map<string, Ref>()
  /** Values that do not depend on the inputs. */
  readonly #constants = new Map<string, Tensor>()
  readonly #bytesRead = new Map<ByteSource, number>()
  /** Inputs read so far, by name. */
  readonly inputs = new Map<string, Value>()
  /** Constants that are not in the file, by name. */
  readonly made = new Map<string, Tensor>()
  #count = 0

  constructor(graph: Graph, types: ReadonlyMap<string, Type>, budget: ProgramBudget) {
    this.#graph = graph
    this.#types = types
    this.#budget = budget
  }

  /** A unique number for a value. */
  nextId(): number {
    return this.#count++
  }

  /** The sizes of a value. Throws `unsupported` if they depend on more than the inputs' sizes. */
  dims(node: Node, name: string): readonly number[] {
    const dims = this.#types.get(name)?.dims
    if (dims?.every((size) => typeof size === 'number')) return dims as number[]
    throw unclaimed(node, `the sizes of ${name} depend on computed values, or are unknown`)
  }

  dtype(node: Node, name: string): DType {
    const dtype = this.#types.get(name)?.dtype
    if (dtype !== undefined) return dtype
    throw unclaimed(node, `the type of ${name} is unknown`)
  }

  /** The elements of a constant in memory. */
  known(name: string): Tensor | undefined {
    const own = this.#constants.get(name)
    if (own !== undefined) return own
    const constant = this.#graph.constants.get(name)
    return constant === undefined || isStored(constant) ? undefined : constant
  }

  /** The elements of an input as numbers. Throws `unsupported` if they are computed. */
  list(node: Node, index: number): number[] {
    const tensor = this.known(node.inputs[index] ?? '')
    if (tensor === undefined) throw unclaimed(node, `its input ${index} is not a constant`)
    return numbersOf(tensor)
  }

  /** Defines a value that does not depend on the inputs. */
  setConstant(name: string, tensor: Tensor): void {
    this.#constants.set(name, tensor)
  }

  /** Throws `out-of-memory` if the values would exceed a run's byte limit. */
  make(name: string, kind: Kind, dims: readonly number[], isByte = false): Value {
    this.#budget.room(() => `${name} of the shape [${dims.join(', ')}]`, bytesOf({ dims, isByte }))
    return { id: this.nextId(), name, kind, dims, ...(isByte && { isByte }) }
  }

  /**
   * A constant that is not in the file. `entries`: the numbers in row-major order, or a function that returns
   * the number for each index.
   */
  table(kind: Kind, dims: readonly number[], entries: Int32Array | ((place: number) => number)): Ref {
    const count = countOf(dims)
    const name = `(constant ${this.made.size})`
    this.#budget.spend(TABLE_UNITS * count)
    this.#budget.room(() => `a table of [${dims.join(', ')}]`, 4 * count)
    const data = typeof entries === 'function' ? arrayOf(kind, count) : entries
    if (typeof entries === 'function')
      for (let place = 0; place < count; place++) data[place] = entries(place)
    this.made.set(name, { dtype: kind, dims, data })
    return refTo({ id: this.nextId(), name, kind, dims, given: { constant: name } })
  }

  /** The reference to an input's value. */
  ref(node: Node, name: string): Ref {
    const found = this.#refs.get(name)
    if (found !== undefined) return found
    const kind = kindOf(node, this.dtype(node, name))
    const isInput = this.#graph.inputs.some((input) => input.name === name)
    if (!isInput && !this.#graph.constants.has(name))
      throw unclaimed(node, `no compiled node computes ${name}`)
    if (!isInput) this.#read(name)
    const given = isInput ? { input: name } : { constant: name }
    if (!isInput) checkHeld(node, name, this.known(name))
    const value: Value = { id: this.nextId(), name, kind, dims: this.dims(node, name), given }
    if (isInput) this.inputs.set(name, value)
    return this.name(name, refTo(value))
  }

  /** A file's weights are not counted, but a file may place many tensors at the same location. */
  #read(name: string): void {
    const constant = this.#graph.constants.get(name)
    if (constant === undefined || !isStored(constant)) return
    const { source, byteLength } = constant
    const bytes = (this.#bytesRead.get(source) ?? 0) + byteLength
    this.#bytesRead.set(source, bytes)
    this.#budget.room(
      () => `the bytes read from ${source.name} beyond its ${source.size} bytes`,
      bytes - source.size,
    )
  }

  /**
   * Sets the reference for a value of the graph. Throws `unsupported` for floats under the name of an i64
   * value, which would be misread; codes and their sums may be integral floats.
   */
  name(name: string, ref: Ref): Ref {
    const dtype = this.#types.get(name)?.dtype
    const maker = producersOf(this.#graph).get(name)
    if (dtype === 'i64' && maker !== undefined && ref.value.kind === 'f32')
      throw unclaimed(maker, `its ${dtype} output is compiled as ${ref.value.kind}`)
    this.#refs.set(name, ref)
    return ref
  }

  /**
   * A quantised constant, as floats. It must not be read in another form under the same name. `dims`: the
   * dims of the floats, if they differ from the constant's.
   */
  decoded(node: Node, name: string, codes: Codes | BlockCodes, dims = this.dims(node, name)): Ref {
    return this.#coded(node, name, { kind: 'f32', dims, given: { constant: name, codes } })
  }

  /** A constant of packed codes, as i32 with these dims, in row-major order. */
  packed(node: Node, name: string, packing: Packing, dims: readonly number[]): Ref {
    return this.#coded(node, name, { kind: 'i32', dims, given: { constant: name, packing } })
  }

  /** A constant of 8-bit codes, which only products of codes read. */
  coded(node: Node, name: string): Ref {
    return this.#coded(node, name, { kind: 'i32', dims: this.dims(node, name), given: { constant: name } })
  }

  /** The sums of a constant's codes: one for each filter or column. */
  summed(node: Node, name: string, summed: CodedPlace, count: number): Ref {
    return this.#coded(node, name, { kind: 'i32', dims: [count], given: { constant: name, summed } })
  }

  #coded(node: Node, name: string, form: Pick<Value, 'kind' | 'dims' | 'given'>): Ref {
    if (!this.#graph.constants.has(name)) throw unclaimed(node, `the codes ${name} are not constant`)
    this.#read(name)
    return refTo({ id: this.nextId(), name, ...form })
  }
}

/** Throws `unsupported` for a constant that contains a number which cannot be represented. */
export function checkHeld(node: Node, name: string, tensor: Tensor | undefined): void {
  const value = tensor && unheldOf(tensor.dtype, tensor.data)
  if (value !== undefined) throw unclaimed(node, `its constant ${name} has ${value}, ${WHY_UNHELD}`)
}
