// A generator of random graphs. In: random numbers, and extra steps that it uses less often than its own.
// Out: a graph of elementwise operators, broadcasts, views, reductions, norms, gathers, concatenations and
// products with several readers, and tensors for its inputs.
import type { Random } from '../../../../test/helpers/random.ts'
import type { Attribute, Constant, Graph, Input, Node } from '../../onnx/ir/graph.ts'
import { countOf, type DType, type Tensor, tensorOf } from '../../onnx/ir/tensor.ts'

export interface RandomGraph {
  readonly graph: Graph
  readonly feeds: ReadonlyMap<string, Tensor>
}

export interface Value {
  readonly name: string
  readonly dims: readonly number[]
}

/** Adds a node to the graph, or none if no value fits. */
export type Step = (graph: GraphMaker) => void

const OPSET = 23
const UNARY = [
  'Neg',
  'Abs',
  'Tanh',
  'Sigmoid',
  'Erf',
  'Relu',
  'Exp',
  'Floor',
  'Gelu',
  'Sin',
  'Softplus',
  'Round',
]
const BINARY = ['Add', 'Sub', 'Mul', 'Min', 'Max']
const REDUCE = ['ReduceSum', 'ReduceMean', 'ReduceMax', 'ReduceMin', 'ReduceL2', 'ReduceLogSumExp']
export const SIZES = [1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 33]

/** Values in [-1, 1] that repeat for the same seed. */
export const waves = (dims: readonly number[], seed = 1): Tensor =>
  tensorOf(
    'f32',
    dims,
    Float32Array.from({ length: countOf(dims) }, (_, at) => Math.sin(seed + at * at)),
  )

/** A node of the newest standard operators that is named after its only output. */
export const namedNode = (
  op: string,
  inputs: readonly string[],
  output: string,
  attributes: Node['attributes'] = new Map(),
): Node => ({
  ...{ name: output, op, domain: '', version: OPSET, inputs, outputs: [output], attributes },
})

export const ints = (value: readonly number[]): Attribute => ({ kind: 'ints', value })
export const int = (value: number): Attribute => ({ kind: 'int', value })
export const text = (value: string): Attribute => ({ kind: 'string', value })

export class GraphMaker {
  readonly random: Random
  readonly #rare: readonly Step[]
  readonly nodes: Node[] = []
  readonly #constants = new Map<string, Constant>()
  readonly inputs: Input[] = []
  readonly feeds = new Map<string, Tensor>()
  readonly #values: Value[] = []

  constructor(random: Random, rare: readonly Step[]) {
    this.random = random
    this.#rare = rare
  }

  make(): RandomGraph {
    for (let input = this.random.between(1, 2); input > 0; input--) this.#input()
    for (let node = this.random.between(3, 14); node > 0; node--) this.#step()
    const unread = this.#values.filter(({ name }) => !this.nodes.some(({ inputs }) => inputs.includes(name)))
    const made = unread.filter(({ name }) => !this.feeds.has(name)).map(({ name }) => name)
    const extra = this.pick(this.#values).name
    const outputs = [...new Set([...made, ...(this.feeds.has(extra) ? [] : [extra])])]
    return {
      graph: {
        name: 'random',
        inputs: this.inputs,
        outputs,
        constants: this.#constants,
        nodes: this.nodes,
      },
      feeds: this.feeds,
    }
  }

  pick<T>(list: readonly T[]): T {
    return list[this.random.below(list.length)]!
  }

  /** Recent values are read most often. */
  value(isFit: (value: Value) => boolean = () => true): Value | undefined {
    const fit = this.#values.filter(isFit)
    if (fit.length === 0) return undefined
    return this.random.unit() < 0.5 ? fit.at(-1)! : this.pick(fit)
  }

  floats(dims: readonly number[], scale = 1): Tensor {
    const values = Float32Array.from({ length: countOf(dims) }, () => scale * this.random.signed())
    return tensorOf('f32', dims, values)
  }

  constant(tensor: Tensor): string {
    const name = `constant ${this.#constants.size}`
    this.#constants.set(name, tensor)
    return name
  }

  list = (values: readonly number[]): string => this.constant(tensorOf('i64', [values.length], values))

  #input(): void {
    const rank = this.random.between(1, 4)
    const dims = Array.from({ length: rank }, () => this.pick(SIZES))
    const name = `input ${this.inputs.length}`
    const dtype: DType = 'f32'
    const shown = dims.map((size, axis) => (this.random.unit() < 0.4 ? `${name} ${axis}` : size))
    this.inputs.push({
      name,
      type: { dtype, dims: shown.map((each) => (typeof each === 'number' ? each : `[${each}]`)) },
    })
    this.feeds.set(name, this.floats(dims, 2))
    this.#values.push({ name, dims })
  }

  node(
    op: string,
    inputs: readonly string[],
    dims: readonly number[],
    attributes: Record<string, Attribute> = {},
  ): void {
    const name = `${op} ${this.nodes.length}`
    this.write(name, op, inputs, attributes)
    this.#values.push({ name, dims })
  }

  /** Adds a node whose output only the caller reads. */
  write(
    name: string,
    op: string,
    inputs: readonly string[],
    attributes: Record<string, Attribute> = {},
  ): void {
    const all = new Map(Object.entries(attributes))
    this.nodes.push({ name, op, domain: '', version: OPSET, inputs, outputs: [name], attributes: all })
  }

  /** Gives the last node one more output, which only the caller reads. */
  addOutput(name: string): void {
    const node = this.nodes.pop()!
    this.nodes.push({ ...node, outputs: [...node.outputs, name] })
  }

  #step(): void {
    const common = [
      () => this.#unary(),
      () => this.#binary(),
      () => this.#binary(),
      () => this.#transpose(),
      () => this.#reshape(),
      () => this.#slice(),
      () => this.#expand(),
      () => this.#concat(),
      () => this.#reduce(),
      () => this.#softmax(),
      () => this.#norm(),
      () => this.#product(),
      () => this.#product(),
      () => this.#choose(),
      () => this.#gather(),
      () => this.#conv(),
    ]
    if (this.random.chance(0.6)) this.pick(common)()
    else this.pick(this.#rare)(this)
  }

  #unary(): void {
    const { name, dims } = this.value()!
    // Without a limit, e^e^x would leave no digits on which two summation orders agree.
    const limited = `${name} limited ${this.nodes.length}`
    const low = this.constant(tensorOf('f32', [], [-4]))
    const high = this.constant(tensorOf('f32', [], [4]))
    this.write(limited, 'Clip', [name, low, high])
    this.#values.push({ name: limited, dims })
    const op = this.pick(UNARY)
    // Floor and Round are discontinuous, so two summation orders could give different integers.
    if ((op === 'Floor' || op === 'Round') && !this.feeds.has(name)) return
    this.node(op, [limited], dims)
  }

  #binary(): void {
    const { name, dims } = this.value()!
    const same = this.value((other) => `${other.dims}` === `${dims}`)!
    const spread = dims
      .slice(this.random.below(dims.length + 1))
      .map((size) => (this.random.unit() < 0.3 ? 1 : size))
    const other = this.random.unit() < 0.5 ? same.name : this.constant(this.floats(spread))
    const inputs = this.random.unit() < 0.5 ? [name, other] : [other, name]
    this.node(this.pick(BINARY), inputs, dims)
  }

  #transpose(): void {
    const { name, dims } = this.value()!
    const perm = dims.map((_, axis) => axis)
    for (let axis = perm.length - 1; axis > 0; axis--) {
      const other = this.random.below(axis + 1)
      ;[perm[axis], perm[other]] = [perm[other]!, perm[axis]!]
    }
    this.node(
      'Transpose',
      [name],
      perm.map((axis) => dims[axis]!),
      { perm: ints(perm) },
    )
  }

  /** Splits an axis, or joins two. */
  #reshape(): void {
    const { name, dims } = this.value()!
    const axis = this.random.below(Math.max(1, dims.length))
    const size = dims[axis] ?? 1
    const factor = [2, 3, 4].find((each) => size % each === 0)
    const joined = dims.length > 1 ? [...dims.slice(0, -2), dims.at(-2)! * dims.at(-1)!] : [...dims, 1]
    const to =
      factor !== undefined && dims.length < 5 ? dims.toSpliced(axis, 1, factor, size / factor) : joined
    this.node('Reshape', [name, this.list(to)], to)
  }

  #slice(): void {
    const value = this.value(({ dims }) => dims.length > 0)
    if (value === undefined) return
    const { name, dims } = value
    const axis = this.random.below(dims.length)
    const size = dims[axis]!
    const from = this.random.below(size)
    const to = this.random.between(from + 1, size)
    if (this.random.unit() < 0.2) {
      const inputs = [name, this.list([-1]), this.list([-(2 ** 40)]), this.list([axis]), this.list([-1])]
      this.node('Slice', inputs, dims)
    } else
      this.node(
        'Slice',
        [name, this.list([from]), this.list([to]), this.list([axis])],
        dims.with(axis, to - from),
      )
  }

  #expand(): void {
    const { name, dims } = this.value()!
    if (dims.length > 4 || countOf(dims) > 2000) return
    const to = [this.pick([1, 2, 3]), ...dims.map((size) => (size === 1 ? this.pick([1, 4]) : size))]
    this.node('Expand', [name, this.list(to)], to)
  }

  #concat(): void {
    const value = this.value(({ dims }) => dims.length > 0)
    if (value === undefined || countOf(value.dims) > 4000) return
    const { name, dims } = value
    const axis = this.random.below(dims.length)
    const other = this.value(
      (each) =>
        `${each.dims.toSpliced(axis, 1)}` === `${dims.toSpliced(axis, 1)}` &&
        each.dims.length === dims.length,
    )!
    this.node('Concat', [name, other.name], dims.with(axis, dims[axis]! + other.dims[axis]!), {
      axis: int(axis),
    })
  }

  #reduce(): void {
    const { name, dims } = this.value()!
    if (dims.length === 0) return
    const isLast = this.random.unit() < 0.5
    const chosen = dims
      .map((_, axis) => axis)
      .filter((axis) => (isLast ? axis === dims.length - 1 : this.random.unit() < 0.5))
    const axes = chosen.length > 0 ? chosen : [0]
    const keeps = this.random.unit() < 0.7
    const to = dims.flatMap((size, axis) => (axes.includes(axis) ? (keeps ? [1] : []) : [size]))
    this.node(this.pick(REDUCE), [name, this.list(axes)], to, { keepdims: int(Number(keeps)) })
  }

  #softmax(): void {
    const value = this.value(({ dims }) => dims.length > 0)
    if (value === undefined) return
    const axis = this.random.unit() < 0.7 ? value.dims.length - 1 : this.random.below(value.dims.length)
    this.node(this.pick(['Softmax', 'LogSoftmax']), [value.name], value.dims, { axis: int(axis) })
  }

  #norm(): void {
    const value = this.value(({ dims }) => (dims.at(-1) ?? 0) > 2)
    if (value === undefined) return
    const size = value.dims.at(-1)!
    const inputs = [value.name, this.constant(this.floats([size]))]
    if (this.random.unit() < 0.5) this.node('RMSNormalization', inputs, value.dims)
    else this.node('LayerNormalization', [...inputs, this.constant(this.floats([size]))], value.dims)
  }

  /** A convolution along one or two axes, with or without groups, with padding, strides and dilations. */
  #conv(): void {
    const value = this.value(({ dims }) => (dims.length === 3 || dims.length === 4) && countOf(dims) < 3000)
    if (value === undefined) return
    const { name, dims } = value
    const channels = dims[1]!
    const sizes = dims.slice(2)
    const group = this.pick([1, 1, channels, channels % 2 === 0 ? 2 : 1])
    const count = group * this.pick([1, 2, 5])
    const kernel = sizes.map((size) => Math.min(size, this.pick([1, 2, 3])))
    const strides = sizes.map(() => this.pick([1, 1, 2]))
    const pads = [...sizes, ...sizes].map(() => this.pick([0, 1]))
    const places = sizes.map(
      (size, at) =>
        Math.floor((size + pads[at]! + pads[at + sizes.length]! - kernel[at]!) / strides[at]!) + 1,
    )
    const filters = this.constant(this.floats([count, channels / group, ...kernel], 0.5))
    const inputs = [name, filters, ...(this.random.chance(0.5) ? [this.constant(this.floats([count]))] : [])]
    this.node('Conv', inputs, [dims[0]!, count, ...places], {
      group: int(group),
      strides: ints(strides),
      pads: ints(pads),
    })
  }

  /** A product with a constant matrix or another value, possibly transposed. */
  #product(): void {
    const value = this.value(({ dims }) => dims.length > 1 && countOf(dims) < 4000)
    if (value === undefined) return
    const { name, dims } = value
    const k = dims.at(-1)!
    if (this.random.unit() < 0.6) {
      const n = this.pick(SIZES)
      const matrix = this.constant(this.floats([k, n], 1 / Math.sqrt(k)))
      this.node('MatMul', [name, matrix], [...dims.slice(0, -1), n])
      return
    }
    const perm = dims.map((_, axis) => axis)
    perm.push(...perm.splice(-2).reverse())
    this.node(
      'Transpose',
      [name],
      perm.map((axis) => dims[axis]!),
      { perm: ints(perm) },
    )
    const turned = this.#values.at(-1)!
    const scale = this.constant(tensorOf('f32', [], [1 / k]))
    this.node('Mul', [turned.name, scale], turned.dims)
    this.node('MatMul', [name, this.#values.at(-1)!.name], [...dims.slice(0, -1), dims.at(-2)!])
  }

  #choose(): void {
    const { name, dims } = this.value()!
    const bound = this.constant(this.floats([]))
    this.node('Less', [name, bound], dims)
    const { name: condition } = this.#values.pop()!
    const other = this.value((each) => `${each.dims}` === `${dims}`)!
    this.node('Where', [condition, other.name, this.random.unit() < 0.5 ? name : bound], dims)
  }

  #gather(): void {
    const value = this.value(({ dims }) => dims.length > 0 && countOf(dims) < 2000)
    if (value === undefined) return
    const { name, dims } = value
    const axis = this.random.below(dims.length)
    const size = dims[axis]!
    const count = this.random.between(1, 5)
    const indices = Array.from({ length: count }, () => this.random.between(-size, size - 1))
    this.node('Gather', [name, this.list(indices)], dims.with(axis, count), { axis: int(axis) })
  }
}
