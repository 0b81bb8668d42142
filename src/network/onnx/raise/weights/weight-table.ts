// The table of weights: maps each constant that nodes read as a matrix or vector to a name in the plan and to
// the tensor from which it is streamed.
import { joinedSource } from '../../../../core/base/bytes.ts'
import { rowBytes } from '../../../../core/formats/dtypes.ts'
import type { TensorIndex, TensorInfo, ValueChange } from '../../../../core/formats/tensors.ts'
import { matrix, vector } from '../../../../core/graph/builder.ts'
import type { WeightPart, WeightRef } from '../../../../core/graph/ir.ts'
import type { NodeOf, Graph as StepGraph } from '../../../../core/graph/nodes.ts'
import type { Dim } from '../../ir/dims.ts'
import { type Constant, type Graph, isStored, type Node } from '../../ir/graph.ts'
import { intOf, intsOf, unclaimed, unfit } from '../../ir/operator.ts'
import { countOf, DTYPES, type DType, isFloat, numbersOf, type Tensor } from '../../ir/tensor.ts'
import type { Matrix, StoredMatrix } from '../meaning.ts'
import { type BlockWeight, blockTensor } from './block-weights.ts'
import { type CodeMatrix, codeTensor, sizesOf } from './code-matrix.ts'
import { type LevelWeight, levelTensor } from './level-weights.ts'
import { floatTensor, matrixTensor, transposed, unread } from './matrices.ts'

/** Names from which `roleOf` of src/core/arch/tensors/names.ts recognises the role of a weight. */
const VECTOR_NAME = /(norm|router)\.weight$|\.bias$|ssm_(decay|skip)$|conv\.weight$/
const TABLE_NAME = /^(embed|positions|output)\.weight$/

/** Runs of rows, as start and count. */
export type StoredRuns = readonly (readonly [number, number])[]

const weightNames = ({ weight, bias }: NodeOf<'linear'>): string[] =>
  [...weight.parts, ...(bias?.parts ?? [])].map(({ name }) => name)

/** A constant as some nodes read it; its bytes stay in the file, in order. */
interface View {
  /** The name of the constant whose bytes the view has. */
  readonly name: string
  readonly constant: Constant
  /** Whether it is transposed. */
  readonly isTransposed: boolean
}

export class WeightTable {
  readonly #file: string
  readonly #graph: Graph
  readonly #tensors = new Map<string, TensorInfo>()
  /** Constants as later nodes read them, by output name. */
  readonly #views = new Map<string, View>()
  /** Assigned names, by constant and form. */
  readonly #names = new Map<string, string>()
  /** Ids of the files and arrays that hold constants. */
  readonly #places = new Map<object, number>()
  /** Weights that were split into others. */
  readonly #cut = new Set<string>()

  constructor(file: string, graph: Graph) {
    this.#file = file
    this.#graph = graph
  }

  get tensors(): TensorIndex {
    return this.#tensors
  }

  /**
   * The constant of an input. Throws `unsupported` if the input is computed, or transposed and thus stored
   * in a different order.
   */
  constant(node: Node, index: number): Constant {
    const { constant, isTransposed } = this.viewed(node, index)
    if (!isTransposed) return constant
    throw unclaimed(
      node,
      `its input ${index} is a transposed matrix, which only products and embeddings read`,
    )
  }

  /** Type and shape of a constant input, as the node reads it. */
  typeOf(node: Node, index: number): Pick<Constant, 'dtype' | 'dims'> {
    const { constant, isTransposed } = this.viewed(node, index)
    const { dtype, dims } = constant
    return { dtype, dims: isTransposed ? dims.toReversed() : dims }
  }

  has(name: string | undefined): boolean {
    return name !== undefined && (this.#graph.constants.has(name) || this.#views.has(name))
  }

  /**
   * Records that a node's output is its constant input, transposed, cast to another float type, or reshaped
   * to `dims`. Returns false for anything else. The bytes are still streamed from the file.
   */
  view(node: Node, dims: readonly Dim[] | undefined): boolean {
    const made = viewOf(node, this.viewed(node, 0), dims)
    const output = node.outputs[0] ?? ''
    if (made === undefined || output === '') return false
    this.#views.set(output, made)
    return true
  }

  /** The constant of an input, transposed or not. Throws `unsupported` if the input is computed. */
  viewed(node: Node, index: number): View {
    const name = node.inputs[index] ?? ''
    const known = this.#views.get(name)
    if (known !== undefined) return known
    const constant = this.#graph.constants.get(name)
    if (constant !== undefined) return { name, constant, isTransposed: false }
    throw unclaimed(node, `its input ${index} is not a constant`)
  }

  /** A constant in memory. Throws `unsupported` if it is computed or too large. */
  small(node: Node, index: number): Tensor {
    const constant = this.constant(node, index)
    if (!isStored(constant)) return constant
    throw unclaimed(node, `its input ${index} has ${constant.byteLength} bytes instead of a few numbers`)
  }

  numbers(node: Node, index: number): number[] {
    return numbersOf(this.small(node, index))
  }

  /** A float matrix by which rows are multiplied. `stored` is [k, n], or [n, k] if `isTransposed`. */
  float(node: Node, index: number, isTransposed: boolean, as?: string): Matrix {
    const { name, constant, isTransposed: isView } = this.viewed(node, index)
    const { dims } = constant
    if (dims.length !== 2) throw unclaimed(node, `it multiplies by ${name} of shape [${dims}]`)
    const isRows = isTransposed !== isView
    const [n, k] = isRows ? [dims[0]!, dims[1]!] : [dims[1]!, dims[0]!]
    const made = this.#weight(
      `${this.#bytesOf(constant)} [${dims}] ${isRows}`,
      as ?? plain(name),
      (weight) => {
        const tensor = matrixTensor(this.#file, weight, constant)
        return isRows ? tensor : transposed(tensor)
      },
    )
    return { weight: matrix(k, { [made]: n }), n }
  }

  /** A block-quantised matrix. */
  blocks(parts: Omit<BlockWeight, 'file' | 'name'>, name: string, as?: string): Matrix {
    const { n, k, bits, zeros } = parts
    const zero = zeros === undefined ? (parts.zero ?? 2 ** (bits - 1)) : undefined
    const made = this.#weight(this.#keyOf({ ...parts, zero }), as ?? plain(name), (weight) =>
      blockTensor({ ...parts, file: this.#file, name: weight }),
    )
    return { weight: matrix(k, { [made]: n }), n }
  }

  /** A matrix of 4-bit level indices. */
  levels(parts: Omit<LevelWeight, 'file' | 'name'>, name: string, as?: string): Matrix {
    const { n, k } = parts
    const made = this.#weight(this.#keyOf(parts), as ?? plain(name), (weight) =>
      levelTensor({ ...parts, file: this.#file, name: weight }),
    )
    return { weight: matrix(k, { [made]: n }), n }
  }

  /** A matrix of codes. */
  codes(parts: CodeMatrix, as?: string): Matrix {
    const [n, k] = sizesOf(parts)
    const made = this.#weight(
      this.#keyOf({ ...parts, name: undefined, n, k }),
      as ?? plain(parts.name),
      (weight) => codeTensor(this.#file, weight, parts),
    )
    return { weight: matrix(k, { [made]: n }), n }
  }

  /** A quantised matrix that is read as [k, n], or [n, k] if `readsTransposed`. */
  stored(
    node: Node,
    { parts, isTransposed, outputs }: StoredMatrix,
    readsTransposed: boolean,
    as?: string,
  ): Matrix {
    const isRows = isTransposed !== readsTransposed
    if (outputs !== undefined && outputs !== (isRows ? 0 : 1))
      throw unclaimed(node, `the scales of ${parts.name} are per input instead of per output`)
    return this.codes({ ...parts, isTransposed: isRows }, as)
  }

  /** A vector of `n` floats. */
  vector(node: Node, index: number, n: number, kind: 'norm' | 'bias'): WeightRef {
    const constant = this.constant(node, index)
    const name = node.inputs[index]!
    const count = constant.dims.reduce((product, size) => product * size, 1)
    if (count !== n) throw unfit(node, `its ${kind} ${name} has ${count} numbers instead of ${n}`)
    if (constant.dims.at(-1) !== n)
      throw unclaimed(node, `its ${kind} ${name} of shape [${constant.dims}] has one number per token`)
    const ending = kind === 'norm' ? '_norm.weight' : '.bias'
    const as = VECTOR_NAME.test(name) ? name : `${name.replace(/\.(weight|bias)$/, '')}${ending}`
    const made = this.#weight(`${name} ${kind}`, as, (weight) =>
      floatTensor(this.#file, weight, constant, [n]),
    )
    return vector({ [made]: n })
  }

  /**
   * A float constant [channels], or [channels, k], that only recurrent kernels read. Axes of size one are
   * ignored.
   */
  named(constantName: string, as: string, channels: number, change?: ValueChange): WeightRef {
    const constant = this.#graph.constants.get(constantName)!
    const shape = constant.dims.filter((size) => size > 1)
    if ((shape[0] ?? 1) !== channels)
      throw unread(
        this.#file,
        constantName,
        `has the shape [${constant.dims}] instead of ${channels} channels`,
      )
    const made = this.#weight(`${constantName} ${as}`, as, (weight) => ({
      ...floatTensor(this.#file, weight, constant, shape),
      change,
    }))
    const [, k] = shape
    return k === undefined ? vector({ [made]: channels }) : matrix(k, { [made]: channels })
  }

  /** A weight made of some rows of another one, listed in `runs`, in order. */
  rowsOf({ parts: [whole], k, kind }: WeightRef, runs: StoredRuns, as?: string): WeightRef {
    const { name = '' } = whole ?? {}
    const tensor = this.#tensors.get(name)!
    const n = runs.reduce((sum, [, count]) => sum + count, 0)
    const bytes = rowBytes(tensor.dtype, tensor.shape[1] ?? 1)
    const ranges = runs.map(([first, count]) => ({
      source: tensor.source,
      offset: tensor.offset + first * bytes,
      bytes: count * bytes,
    }))
    const source = joinedSource(tensor.source.name, ranges)
    const shape = [n, ...tensor.shape.slice(1)]
    const piece = { ...tensor, shape, source, offset: 0, byteLength: n * bytes }
    const wanted = as ?? `rows of ${name} from ${runs[0]?.[0]} on`
    const made = this.#weight(`${name} ${runs}`, wanted, (own) => ({ ...piece, name: own }))
    this.#cut.add(name)
    return kind === 'vector' ? vector({ [made]: n }) : matrix(k, { [made]: n })
  }

  /** Weights that were split into others are kept only if a node reads them as a whole. */
  removeUnread({ nodes }: StepGraph): void {
    const read = new Set(nodes.flatMap((node) => (node.op === 'linear' ? weightNames(node) : [])))
    for (const name of this.#cut) if (!read.has(name)) this.#tensors.delete(name)
  }

  /** Makes weights from rows of other weights, by name. */
  divide(parts: ReadonlyMap<string, readonly WeightPart[]>): void {
    for (const [name, tensor] of [...this.#tensors]) {
      const divided = parts.get(name)
      if (divided === undefined) continue
      this.#tensors.delete(name)
      let { offset } = tensor
      for (const part of divided) {
        const byteLength = (tensor.byteLength / tensor.shape[0]!) * part.n
        const shape = [part.n, ...tensor.shape.slice(1)]
        this.#tensors.set(part.name, { ...tensor, name: part.name, shape, offset, byteLength })
        offset += byteLength
      }
    }
  }

  /** A key that is equal for equal sizes and the same bytes of codes, scales and zero points. */
  #keyOf(parts: object): string {
    const texts = Object.entries(parts)
      .filter(([, part]) => part !== undefined)
      .map(
        ([key, part]: [string, Constant | number]) =>
          `${key} ${typeof part === 'object' ? this.#bytesOf(part) : part}`,
      )
    return texts.sort().join()
  }

  /** A key that is equal for constants with the same bytes, whatever their names and shapes. */
  #bytesOf(constant: Constant): string {
    const isFile = isStored(constant)
    const place = isFile ? constant.source : constant.data
    const number = this.#places.get(place) ?? this.#places.size
    this.#places.set(place, number)
    return `${constant.dtype} ${number} ${isFile ? constant.offset : ''}+${isFile ? constant.byteLength : ''}`
  }

  #weight(key: string, wanted: string, make: (name: string) => TensorInfo): string {
    const known = this.#names.get(key)
    if (known !== undefined) return known
    let name = wanted
    for (let again = 2; this.#tensors.has(name); again++) name = `${wanted} ${again}`
    this.#tensors.set(name, make(name))
    this.#names.set(key, name)
    return name
  }
}

/** Undefined for a node that changes values. */
function viewOf(node: Node, view: View, dims: readonly Dim[] | undefined): View | undefined {
  const { constant, isTransposed } = view
  switch (node.op) {
    case 'Identity':
      return view
    case 'Cast':
      return isFloat(constant.dtype) && CAST_TYPES.includes(DTYPES.get(intOf(node, 'to', 0)))
        ? view
        : undefined
    case 'Transpose': {
      const perm = intsOf(node, 'perm', undefined) ?? [1, 0]
      return constant.dims.length === 2 && `${perm}` === '1,0'
        ? { ...view, isTransposed: !isTransposed }
        : undefined
    }
    case 'Reshape': {
      const isKnown = dims?.every((size): size is number => typeof size === 'number')
      const shape = dims as readonly number[]
      if (isTransposed || isKnown !== true || countOf(shape) !== countOf(constant.dims)) return undefined
      return { ...view, constant: { ...constant, dims: shape } }
    }
    default:
      return undefined
  }
}

/** Types that a weight may be cast to. */
const CAST_TYPES: readonly (DType | undefined)[] = ['f32', 'f16', 'bf16']

/** Marks a name as a matrix. */
const plain = (name: string): string =>
  VECTOR_NAME.test(name) || TABLE_NAME.test(name) ? `${name.replace(/\.weight$/, '')}.matrix` : name
