// Random graphs of the dialect. In: a seed. Out: a graph of elementwise operators, broadcasts, views,
// reductions, norms, gathers, joins and products with several readers, and tensors for its inputs.
import { Random } from '../../../test/helpers/random.ts'
import type { Attribute, Constant, Graph, Input, Node } from '../../onnx/ir/graph.ts'
import { countOf, type DType, type Tensor, tensorOf } from '../../onnx/ir/tensor.ts'

export interface RandomGraph {
  readonly graph: Graph
  readonly feeds: ReadonlyMap<string, Tensor>
}

interface Value {
  readonly name: string
  readonly dims: readonly number[]
}

export function randomGraph(seed: number, index: number): RandomGraph {
  return new GraphMaker(new Random(seed, index)).make()
}

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
const REDUCE = ['ReduceSum', 'ReduceMean', 'ReduceMax', 'ReduceMin', 'ReduceL2']
const SIZES = [1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 33]

const ints = (value: readonly number[]): Attribute => ({ kind: 'ints', value })
const int = (value: number): Attribute => ({ kind: 'int', value })
const text = (value: string): Attribute => ({ kind: 'string', value })

class GraphMaker {
  readonly #random: Random
  readonly #nodes: Node[] = []
  readonly #constants = new Map<string, Constant>()
  readonly #inputs: Input[] = []
  readonly #feeds = new Map<string, Tensor>()
  readonly #values: Value[] = []

  constructor(random: Random) {
    this.#random = random
  }

  make(): RandomGraph {
    for (let input = this.#random.between(1, 2); input > 0; input--) this.#input()
    for (let node = this.#random.between(3, 14); node > 0; node--) this.#step()
    const unread = this.#values.filter(({ name }) => !this.#nodes.some(({ inputs }) => inputs.includes(name)))
    const made = unread.filter(({ name }) => !this.#feeds.has(name)).map(({ name }) => name)
    const extra = this.#pick(this.#values).name
    const outputs = [...new Set([...made, ...(this.#feeds.has(extra) ? [] : [extra])])]
    return {
      graph: {
        name: 'random',
        inputs: this.#inputs,
        outputs,
        constants: this.#constants,
        nodes: this.#nodes,
      },
      feeds: this.#feeds,
    }
  }

  #pick<T>(list: readonly T[]): T {
    return list[this.#random.below(list.length)]!
  }

  /** Values that were made last are read most. */
  #value(isFit: (value: Value) => boolean = () => true): Value | undefined {
    const fit = this.#values.filter(isFit)
    if (fit.length === 0) return undefined
    return this.#random.unit() < 0.5 ? fit.at(-1)! : this.#pick(fit)
  }

  #floats(dims: readonly number[], scale = 1): Tensor {
    const values = Float32Array.from({ length: countOf(dims) }, () => scale * this.#random.signed())
    return tensorOf('f32', dims, values)
  }

  #constant(tensor: Tensor): string {
    const name = `constant ${this.#constants.size}`
    this.#constants.set(name, tensor)
    return name
  }

  #list = (values: readonly number[]): string => this.#constant(tensorOf('i64', [values.length], values))

  #input(): void {
    const rank = this.#random.between(1, 4)
    const dims = Array.from({ length: rank }, () => this.#pick(SIZES))
    const name = `input ${this.#inputs.length}`
    const dtype: DType = 'f32'
    const shown = dims.map((size, axis) => (this.#random.unit() < 0.4 ? `${name} ${axis}` : size))
    this.#inputs.push({
      name,
      type: { dtype, dims: shown.map((each) => (typeof each === 'number' ? each : `[${each}]`)) },
    })
    this.#feeds.set(name, this.#floats(dims, 2))
    this.#values.push({ name, dims })
  }

  #node(
    op: string,
    inputs: readonly string[],
    dims: readonly number[],
    attributes: Record<string, Attribute> = {},
  ): void {
    const name = `${op} ${this.#nodes.length}`
    const all = new Map(Object.entries(attributes))
    this.#nodes.push({ name, op, domain: '', version: OPSET, inputs, outputs: [name], attributes: all })
    this.#values.push({ name, dims })
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
    const rare = [
      () => this.#pad(),
      () => this.#pool(),
      () => this.#resize(),
      () => this.#spreadConv(),
      () => this.#channelNorm(),
      () => this.#gatherPlaces(),
      () => this.#runningSum(),
      () => this.#einsum(),
      () => this.#tile(),
    ]
    this.#pick(this.#random.chance(0.8) ? common : rare)()
  }

  #unary(): void {
    const { name, dims } = this.#value()!
    // Without a limit, e^e^x has no digits that two orders of sums could share.
    const limited = `${name} limited ${this.#nodes.length}`
    const low = this.#constant(tensorOf('f32', [], [-4]))
    const high = this.#constant(tensorOf('f32', [], [4]))
    const inputs = [name, low, high]
    this.#nodes.push({
      name: limited,
      op: 'Clip',
      domain: '',
      version: OPSET,
      inputs,
      outputs: [limited],
      attributes: new Map(),
    })
    this.#values.push({ name: limited, dims })
    const op = this.#pick(UNARY)
    // Their jumps lie where two orders of sums may differ.
    if ((op === 'Floor' || op === 'Round') && !this.#feeds.has(name)) return
    this.#node(op, [limited], dims)
  }

  #binary(): void {
    const { name, dims } = this.#value()!
    const same = this.#value((other) => `${other.dims}` === `${dims}`)!
    const spread = dims
      .slice(this.#random.below(dims.length + 1))
      .map((size) => (this.#random.unit() < 0.3 ? 1 : size))
    const other = this.#random.unit() < 0.5 ? same.name : this.#constant(this.#floats(spread))
    const inputs = this.#random.unit() < 0.5 ? [name, other] : [other, name]
    this.#node(this.#pick(BINARY), inputs, dims)
  }

  #transpose(): void {
    const { name, dims } = this.#value()!
    const perm = dims.map((_, axis) => axis)
    for (let axis = perm.length - 1; axis > 0; axis--) {
      const other = this.#random.below(axis + 1)
      ;[perm[axis], perm[other]] = [perm[other]!, perm[axis]!]
    }
    this.#node(
      'Transpose',
      [name],
      perm.map((axis) => dims[axis]!),
      { perm: ints(perm) },
    )
  }

  /** Splits an axis, or joins two. */
  #reshape(): void {
    const { name, dims } = this.#value()!
    const axis = this.#random.below(Math.max(1, dims.length))
    const size = dims[axis] ?? 1
    const factor = [2, 3, 4].find((each) => size % each === 0)
    const joined = dims.length > 1 ? [...dims.slice(0, -2), dims.at(-2)! * dims.at(-1)!] : [...dims, 1]
    const to =
      factor !== undefined && dims.length < 5 ? dims.toSpliced(axis, 1, factor, size / factor) : joined
    this.#node('Reshape', [name, this.#list(to)], to)
  }

  #slice(): void {
    const value = this.#value(({ dims }) => dims.length > 0)
    if (value === undefined) return
    const { name, dims } = value
    const axis = this.#random.below(dims.length)
    const size = dims[axis]!
    const from = this.#random.below(size)
    const to = this.#random.between(from + 1, size)
    if (this.#random.unit() < 0.2) {
      const inputs = [name, this.#list([-1]), this.#list([-(2 ** 40)]), this.#list([axis]), this.#list([-1])]
      this.#node('Slice', inputs, dims)
    } else
      this.#node(
        'Slice',
        [name, this.#list([from]), this.#list([to]), this.#list([axis])],
        dims.with(axis, to - from),
      )
  }

  #expand(): void {
    const { name, dims } = this.#value()!
    if (dims.length > 4 || countOf(dims) > 2000) return
    const to = [this.#pick([1, 2, 3]), ...dims.map((size) => (size === 1 ? this.#pick([1, 4]) : size))]
    this.#node('Expand', [name, this.#list(to)], to)
  }

  #concat(): void {
    const value = this.#value(({ dims }) => dims.length > 0)
    if (value === undefined || countOf(value.dims) > 4000) return
    const { name, dims } = value
    const axis = this.#random.below(dims.length)
    const other = this.#value(
      (each) =>
        `${each.dims.toSpliced(axis, 1)}` === `${dims.toSpliced(axis, 1)}` &&
        each.dims.length === dims.length,
    )!
    this.#node('Concat', [name, other.name], dims.with(axis, dims[axis]! + other.dims[axis]!), {
      axis: int(axis),
    })
  }

  #reduce(): void {
    const { name, dims } = this.#value()!
    if (dims.length === 0) return
    const isLast = this.#random.unit() < 0.5
    const chosen = dims
      .map((_, axis) => axis)
      .filter((axis) => (isLast ? axis === dims.length - 1 : this.#random.unit() < 0.5))
    const axes = chosen.length > 0 ? chosen : [0]
    const keeps = this.#random.unit() < 0.7
    const to = dims.flatMap((size, axis) => (axes.includes(axis) ? (keeps ? [1] : []) : [size]))
    this.#node(this.#pick(REDUCE), [name, this.#list(axes)], to, { keepdims: int(Number(keeps)) })
  }

  #softmax(): void {
    const value = this.#value(({ dims }) => dims.length > 0)
    if (value === undefined) return
    const axis = this.#random.unit() < 0.7 ? value.dims.length - 1 : this.#random.below(value.dims.length)
    this.#node(this.#pick(['Softmax', 'LogSoftmax']), [value.name], value.dims, { axis: int(axis) })
  }

  #norm(): void {
    const value = this.#value(({ dims }) => (dims.at(-1) ?? 0) > 2)
    if (value === undefined) return
    const size = value.dims.at(-1)!
    const inputs = [value.name, this.#constant(this.#floats([size]))]
    if (this.#random.unit() < 0.5) this.#node('RMSNormalization', inputs, value.dims)
    else this.#node('LayerNormalization', [...inputs, this.#constant(this.#floats([size]))], value.dims)
  }

  /** Along one or two axes, in groups or not, with borders, strides and dilations. */
  #conv(): void {
    const value = this.#value(({ dims }) => (dims.length === 3 || dims.length === 4) && countOf(dims) < 3000)
    if (value === undefined) return
    const { name, dims } = value
    const channels = dims[1]!
    const sizes = dims.slice(2)
    const group = this.#pick([1, 1, channels, channels % 2 === 0 ? 2 : 1])
    const count = group * this.#pick([1, 2, 5])
    const kernel = sizes.map((size) => Math.min(size, this.#pick([1, 2, 3])))
    const strides = sizes.map(() => this.#pick([1, 1, 2]))
    const pads = [...sizes, ...sizes].map(() => this.#pick([0, 1]))
    const places = sizes.map(
      (size, at) =>
        Math.floor((size + pads[at]! + pads[at + sizes.length]! - kernel[at]!) / strides[at]!) + 1,
    )
    const filters = this.#constant(this.#floats([count, channels / group, ...kernel], 0.5))
    const inputs = [
      name,
      filters,
      ...(this.#random.chance(0.5) ? [this.#constant(this.#floats([count]))] : []),
    ]
    this.#node('Conv', inputs, [dims[0]!, count, ...places], {
      group: int(group),
      strides: ints(strides),
      pads: ints(pads),
    })
  }

  #pad(): void {
    const { name, dims } = this.#value()!
    if (dims.length === 0 || countOf(dims) > 2000) return
    const mode = this.#pick(['constant', 'constant', 'edge', 'reflect'])
    const pads = [...dims, ...dims].map((size) =>
      Math.min(this.#pick([0, 0, 1, 2]), mode === 'reflect' ? size - 1 : 2),
    )
    const to = dims.map((size, axis) => size + pads[axis]! + pads[axis + dims.length]!)
    const inputs = [name, this.#list(pads), this.#constant(this.#floats([]))]
    this.#node('Pad', inputs, to, { mode: text(mode) })
  }

  #planes(most: number): Value | undefined {
    return this.#value(({ dims }) => (dims.length === 3 || dims.length === 4) && countOf(dims) < most)
  }

  #pool(): void {
    const value = this.#planes(3000)
    if (value === undefined) return
    const { name, dims } = value
    const sizes = dims.slice(2)
    const kernel = sizes.map((size) => Math.min(size, this.#pick([1, 2, 3, 9])))
    const strides = sizes.map(() => this.#pick([1, 2, 3]))
    const pads = [...sizes, ...sizes].map((_, at) =>
      Math.min(this.#pick([0, 1]), kernel[at % sizes.length]! - 1),
    )
    const isCeiled = this.#random.chance(0.3)
    const places = sizes.map((size, at) => {
      const before = pads[at]!
      const rest = size + before + pads[at + sizes.length]! - kernel[at]!
      if (!isCeiled) return Math.floor(rest / strides[at]!) + 1
      const most = Math.ceil(rest / strides[at]!) + 1
      return (most - 1) * strides[at]! >= size + before ? most - 1 : most
    })
    const op = this.#pick(['MaxPool', 'AveragePool'])
    this.#node(op, [name], [...dims.slice(0, 2), ...places], {
      kernel_shape: ints(kernel),
      strides: ints(strides),
      pads: ints(pads),
      ceil_mode: int(isCeiled ? 1 : 0),
      ...(op === 'AveragePool' && { count_include_pad: int(this.#random.below(2)) }),
    })
  }

  #resize(): void {
    const value = this.#planes(1000)
    if (value === undefined) return
    const { name, dims } = value
    const to = dims.map((size, axis) => (axis < 2 ? size : this.#pick([1, 2, 5, size, 2 * size, 3 * size])))
    const empty = this.#constant(tensorOf('f32', [0], []))
    this.#node('Resize', [name, '', empty, this.#list(to)], to, {
      mode: text(this.#pick(['linear', 'cubic', 'nearest'])),
      nearest_mode: text('floor'),
      coordinate_transformation_mode: text(this.#pick(['half_pixel', 'align_corners', 'asymmetric'])),
    })
  }

  #spreadConv(): void {
    const value = this.#planes(600)
    if (value === undefined) return
    const { name, dims } = value
    const channels = dims[1]!
    const group = this.#pick([1, 1, channels])
    const each = this.#pick([1, 2, 5])
    const sizes = dims.slice(2)
    const kernel = sizes.map(() => this.#pick([1, 2, 3]))
    const strides = sizes.map((_, at) => this.#pick([1, 2, kernel[at]!]))
    const pads = [...sizes, ...sizes].map((_, at) =>
      Math.min(this.#pick([0, 1]), kernel[at % sizes.length]! - 1),
    )
    const places = sizes.map(
      (size, at) => (size - 1) * strides[at]! + kernel[at]! - pads[at]! - pads[at + sizes.length]!,
    )
    if (places.some((size) => size < 1)) return
    const filters = this.#constant(this.#floats([channels, each, ...kernel], 0.5))
    this.#node('ConvTranspose', [name, filters], [dims[0]!, each * group, ...places], {
      group: int(group),
      strides: ints(strides),
      pads: ints(pads),
    })
  }

  #channelNorm(): void {
    const value = this.#planes(3000)
    if (value === undefined) return
    const { name, dims } = value
    const channels = dims[1]!
    const one = () => this.#constant(this.#floats([channels]))
    const positive = this.#constant(
      tensorOf(
        'f32',
        [channels],
        Float32Array.from({ length: channels }, () => 0.5 + this.#random.unit()),
      ),
    )
    // A variance of almost nothing would make numbers of rounding errors.
    const epsilon: Attribute = { kind: 'float', value: 0.1 }
    const kind = this.#random.below(3)
    if (kind === 0) this.#node('BatchNormalization', [name, one(), one(), one(), positive], dims, { epsilon })
    else if (kind === 1) this.#node('InstanceNormalization', [name, one(), one()], dims, { epsilon })
    else this.#node('GroupNormalization', [name, one(), one()], dims, { epsilon, num_groups: int(1) })
  }

  /** Indices that the graph computes from one of its inputs. */
  #computed(dims: readonly number[], size: number): string {
    const name = `input ${this.#inputs.length}`
    const values = Array.from({ length: countOf(dims) }, () => this.#random.between(-size, size + 2))
    this.#inputs.push({ name, type: { dtype: 'i64', dims } })
    this.#feeds.set(name, tensorOf('i64', dims, values.map(BigInt)))
    const most = this.#constant(tensorOf('i64', [], [BigInt(size - 1)]))
    const made = `Min ${this.#nodes.length}`
    this.#nodes.push({
      name: made,
      op: 'Min',
      domain: '',
      version: OPSET,
      inputs: [name, most],
      outputs: [made],
      attributes: new Map(),
    })
    return made
  }

  #gatherPlaces(): void {
    const value = this.#value(({ dims }) => dims.length > 0 && countOf(dims) > 0 && countOf(dims) < 2000)
    if (value === undefined) return
    const { name, dims } = value
    const axis = this.#random.below(dims.length)
    if (this.#random.chance(0.5)) {
      const to = dims.map((size, at) =>
        at === axis ? this.#random.between(1, 5) : this.#random.between(1, size),
      )
      this.#node('GatherElements', [name, this.#computed(to, dims[axis]!)], to, { axis: int(axis) })
      return
    }
    const depth = axis + 1
    const rows = this.#random.between(1, 6)
    const size = Math.min(...dims.slice(0, depth))
    this.#node('GatherND', [name, this.#computed([rows, depth], size)], [rows, ...dims.slice(depth)])
  }

  #runningSum(): void {
    const value = this.#value(({ dims }) => dims.length > 0 && countOf(dims) < 2000)
    if (value === undefined) return
    const { name, dims } = value
    const axis = this.#constant(tensorOf('i64', [], [BigInt(this.#random.below(dims.length))]))
    const [exclusive, reverse] = [int(this.#random.below(2)), int(this.#random.below(2))]
    this.#node('CumSum', [name, axis], dims, { exclusive, reverse })
  }

  /** A sum over the last axis with a matrix, whose result has its axes in another order. */
  #einsum(): void {
    const value = this.#value(({ dims }) => dims.length >= 2 && dims.length <= 4 && countOf(dims) < 2000)
    if (value === undefined) return
    const { name, dims } = value
    const letters = 'abcd'.slice(0, dims.length)
    const isBatch = this.#random.chance(0.5)
    const n = this.#pick(SIZES)
    const right = isBatch ? [dims[0]!, n, dims.at(-1)!] : [n, dims.at(-1)!]
    const matrix = this.#constant(this.#floats(right, 1 / Math.sqrt(dims.at(-1)!)))
    const last = letters.at(-1)!
    const equation = `${letters},${isBatch ? 'a' : ''}n${last}->n${letters.slice(0, -1)}`
    this.#node('Einsum', [name, matrix], [n, ...dims.slice(0, -1)], { equation: text(equation) })
  }

  #tile(): void {
    const { name, dims } = this.#value()!
    if (dims.length === 0 || countOf(dims) > 500) return
    const times = dims.map(() => this.#pick([1, 1, 2, 3]))
    const to = dims.map((size, axis) => size * times[axis]!)
    this.#node('Tile', [name, this.#list(times)], to)
  }

  /** By a constant matrix, or by another value, perhaps transposed. */
  #product(): void {
    const value = this.#value(({ dims }) => dims.length > 1 && countOf(dims) < 4000)
    if (value === undefined) return
    const { name, dims } = value
    const k = dims.at(-1)!
    if (this.#random.unit() < 0.6) {
      const n = this.#pick(SIZES)
      const matrix = this.#constant(this.#floats([k, n], 1 / Math.sqrt(k)))
      this.#node('MatMul', [name, matrix], [...dims.slice(0, -1), n])
      return
    }
    const perm = dims.map((_, axis) => axis)
    perm.push(...perm.splice(-2).reverse())
    this.#node(
      'Transpose',
      [name],
      perm.map((axis) => dims[axis]!),
      { perm: ints(perm) },
    )
    const turned = this.#values.at(-1)!
    const scale = this.#constant(tensorOf('f32', [], [1 / k]))
    this.#node('Mul', [turned.name, scale], turned.dims)
    this.#node('MatMul', [name, this.#values.at(-1)!.name], [...dims.slice(0, -1), dims.at(-2)!])
  }

  #choose(): void {
    const { name, dims } = this.#value()!
    const bound = this.#constant(this.#floats([]))
    this.#node('Less', [name, bound], dims)
    const { name: condition } = this.#values.pop()!
    const other = this.#value((each) => `${each.dims}` === `${dims}`)!
    this.#node('Where', [condition, other.name, this.#random.unit() < 0.5 ? name : bound], dims)
  }

  #gather(): void {
    const value = this.#value(({ dims }) => dims.length > 0 && countOf(dims) < 2000)
    if (value === undefined) return
    const { name, dims } = value
    const axis = this.#random.below(dims.length)
    const size = dims[axis]!
    const count = this.#random.between(1, 5)
    const indices = Array.from({ length: count }, () => this.#random.between(-size, size - 1))
    this.#node('Gather', [name, this.#list(indices)], dims.with(axis, count), { axis: int(axis) })
  }
}
