// What is known of a graph's values while it is lowered: sizes, types, constants, and where each lies.
import type { ByteSource } from '../../../../core/base/bytes.ts'
import type { ProgramBudget } from '../../../onnx/graph-budget.ts'
import { type Graph, isStored, type Node, producersOf, type Type } from '../../../onnx/ir/graph.ts'
import { unclaimed } from '../../../onnx/ir/operator.ts'
import { arrayOf, countOf, type DType, isFloat, numbersOf, type Tensor } from '../../../onnx/ir/tensor.ts'
import { unheldOf, WHY_UNHELD } from '../../loops/held.ts'
import {
  type BlockCodes,
  bytesOf,
  type Codes,
  type Packing,
  type Ref,
  refTo,
  type Value,
} from '../../loops/loops.ts'
import type { Kind } from '../../loops/tree.ts'

/** Whole numbers of other widths would have to wrap. */
export const COMPUTED: readonly DType[] = ['f32', 'f16', 'bf16', 'f64', 'i32', 'i64', 'bool']

/** Dtypes whose numbers i32 holds. Those of i64 that it does not hold are refused, by whatever makes them. */
const WHOLE: readonly DType[] = ['i8', 'u8', 'i16', 'u16', 'i32', 'i64', 'bool']

export function kindOf(node: Node, dtype: DType): Kind {
  if (isFloat(dtype)) return 'f32'
  if (WHOLE.includes(dtype)) return 'i32'
  throw unclaimed(node, `values of ${dtype} are not compiled`)
}

/** Work of planning an entry of a table. */
const TABLE_UNITS = 4

export class Values {
  readonly #graph: Graph
  readonly #types: ReadonlyMap<string, Type>
  readonly #budget: ProgramBudget
  readonly #refs = new Map<string, Ref>()
  /** Values that are numbers whatever the inputs are. */
  readonly #constants = new Map<string, Tensor>()
  readonly #bytesRead = new Map<ByteSource, number>()
  /** Inputs that are read, by name. */
  readonly inputs = new Map<string, Value>()
  /** Constants that the file does not have, by name. */
  readonly made = new Map<string, Tensor>()
  #count = 0

  constructor(graph: Graph, types: ReadonlyMap<string, Type>, budget: ProgramBudget) {
    this.#graph = graph
    this.#types = types
    this.#budget = budget
  }

  /** A number that no other value has. */
  nextId(): number {
    return this.#count++
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
    const own = this.#constants.get(name)
    if (own !== undefined) return own
    const constant = this.#graph.constants.get(name)
    return constant === undefined || isStored(constant) ? undefined : constant
  }

  /** The elements of an input as numbers. Throws `unsupported` where they are computed. */
  list(node: Node, index: number): number[] {
    const tensor = this.known(node.inputs[index] ?? '')
    if (tensor === undefined) throw unclaimed(node, `its input ${index} is computed`)
    return numbersOf(tensor)
  }

  /** A value that is a number whatever the inputs are. */
  setConstant(name: string, tensor: Tensor): void {
    this.#constants.set(name, tensor)
  }

  /** Throws `out-of-memory` for more bytes than the values of a run may have. */
  make(name: string, kind: Kind, dims: readonly number[]): Value {
    this.#budget.room(`${name} of the shape [${dims.join(', ')}]`, bytesOf({ dims }))
    return { id: this.nextId(), name, kind, dims }
  }

  /** A constant that the file does not have: `entry` gives the number at each place in row order. */
  table(kind: Kind, dims: readonly number[], entry: (place: number) => number): Ref {
    const count = countOf(dims)
    const name = `(constant ${this.made.size})`
    this.#budget.spend(TABLE_UNITS * count)
    this.#budget.room(`a table of [${dims.join(', ')}]`, 4 * count)
    const data = arrayOf(kind, count)
    for (let place = 0; place < count; place++) data[place] = entry(place)
    this.made.set(name, { dtype: kind, dims, data })
    return refTo({ id: this.nextId(), name, kind, dims, given: { constant: name } })
  }

  /** Where the value of an input lies. */
  ref(node: Node, name: string): Ref {
    const found = this.#refs.get(name)
    if (found !== undefined) return found
    const kind = kindOf(node, this.dtype(node, name))
    const isInput = this.#graph.inputs.some((input) => input.name === name)
    if (!isInput && !this.#graph.constants.has(name))
      throw unclaimed(node, `nothing that is compiled makes ${name}`)
    if (!isInput) this.#read(name)
    const given = isInput ? { input: name } : { constant: name }
    if (!isInput) checkHeld(node, name, this.known(name))
    const value: Value = { id: this.nextId(), name, kind, dims: this.dims(node, name), given }
    if (isInput) this.inputs.set(name, value)
    return this.name(name, refTo(value))
  }

  /** Weights of a file are not counted, but a file may say of many tensors that they lie in one place. */
  #read(name: string): void {
    const constant = this.#graph.constants.get(name)
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
    const maker = producersOf(this.#graph).get(name)
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
    if (!this.#graph.constants.has(name)) throw unclaimed(node, `the codes ${name} are computed`)
    this.#read(name)
    return refTo({ id: this.nextId(), name, ...form })
  }
}

/** Throws `unsupported` for a constant with a number that memory does not hold. */
export function checkHeld(node: Node, name: string, tensor: Tensor | undefined): void {
  const value = tensor && unheldOf(tensor.dtype, tensor.data)
  if (value !== undefined) throw unclaimed(node, `its constant ${name} has ${value}, ${WHY_UNHELD}`)
}
