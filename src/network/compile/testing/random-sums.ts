// Random products of 8-bit codes whose zero points are arbitrary, or computed. In: random numbers. Out:
// graphs of ConvInteger, MatMulInteger and QLinearMatMul, and networks with DynamicQuantizeLinear.
import type { Random } from '../../../../test/helpers/random.ts'
import type { Constant, Graph, Node } from '../../onnx/ir/graph.ts'
import { countOf, type Tensor, tensorOf } from '../../onnx/ir/tensor.ts'
import { int } from './graph-maker.ts'
import { attributesOf, codes, node, randomShape, scalar } from './random-codes.ts'

interface RandomSums {
  readonly graph: Graph
  readonly feeds: ReadonlyMap<string, Tensor>
}

const DTYPES = ['u8', 'i8'] as const
const anyCode = (random: Random, dtype: (typeof DTYPES)[number]): number =>
  random.below(256) - (dtype === 'i8' ? 128 : 0)

/**
 * Both sides of a product: the dims of the codes, of the constant, and how many zero points that may have.
 */
interface Sides {
  readonly x: readonly number[]
  readonly w: readonly number[]
  readonly count: number
}

/** The zero point of x is an input, a constant or absent. */
function randomSides(random: Random, { x, w, count }: Sides) {
  const [dtype, wType] = [random.pick(DTYPES), random.pick(DTYPES)]
  const zero = scalar(dtype, anyCode(random, dtype))
  const zeros = random.chance(0.5)
    ? scalar(wType, anyCode(random, wType))
    : tensorOf(
        wType,
        [count],
        Array.from({ length: count }, () => anyCode(random, wType)),
      )
  const from = random.pick(['input', 'constant', 'none'] as const)
  const feeds = new Map([['x', codes(random, dtype, x)]])
  const constants = new Map<string, Constant>([['w', codes(random, wType, w)]])
  if (from === 'input') feeds.set('z', zero)
  if (from === 'constant') constants.set('z', zero)
  const hasZeros = random.chance(0.8)
  if (hasZeros) constants.set('wz', zeros)
  const inputs = ['x', 'w', from === 'none' ? '' : 'z', ...(hasZeros ? ['wz'] : [])]
  while (inputs.at(-1) === '') inputs.pop()
  return { feeds, constants, inputs }
}

function graphOf(
  nodes: readonly Node[],
  { feeds, constants }: { feeds: ReadonlyMap<string, Tensor>; constants: Graph['constants'] },
): RandomSums {
  const inputs = [...feeds].map(([name, { dtype, dims }]) => ({ name, type: { dtype, dims } }))
  return { graph: { name: 'sums', inputs, outputs: ['y'], constants, nodes }, feeds }
}

const matrixDims = (random: Random) => {
  const [k, n] = [random.pick([1, 3, 4, 32, 37, 130]), random.pick([1, 5, 8, 40, 65])]
  const rows = random.pick([[1], [2, 3], [7], [13], []])
  return { x: [...rows, k], w: [k, n], count: n }
}

/** A ConvInteger or a MatMulInteger. */
export function randomSums(random: Random): RandomSums {
  if (random.chance(0.4)) {
    const sides = randomSides(random, matrixDims(random))
    return graphOf([node('MatMulInteger', sides.inputs, 'y')], sides)
  }
  const shape = randomShape(random)
  const count = shape.group * shape.filters
  const sides = randomSides(random, {
    x: [shape.batch, shape.group * shape.channels, ...shape.sizes],
    w: [count, shape.channels, ...shape.kernel],
    count,
  })
  return graphOf([node('ConvInteger', sides.inputs, 'y', attributesOf(shape))], sides)
}

/** A QLinearMatMul, with one scale. */
export function randomQLinearMatMul(random: Random): RandomSums {
  const sides = randomSides(random, matrixDims(random))
  const { dtype } = sides.feeds.get('x')!
  const wType = sides.constants.get('w')!.dtype
  const yType = random.pick(DTYPES)
  const k = sides.constants.get('w')!.dims[0]!
  const zero = sides.feeds.get('z') ?? sides.constants.get('z') ?? scalar(dtype, 0)
  const one = sides.constants.get('wz')
  const constants = new Map<string, Constant>([
    ['w', sides.constants.get('w')!],
    ['z', zero],
    ['wz', one?.dims.length === 0 ? one : scalar(wType, anyCode(random, wType as 'u8'))],
    ['xs', scalar('f32', 0.02)],
    ['ws', scalar('f32', 0.01)],
    ['ys', scalar('f32', 0.02 * Math.sqrt(k))],
    ['yz', scalar(yType, anyCode(random, yType))],
  ])
  const feeds = new Map([['x', sides.feeds.get('x')!]])
  const inputs = ['x', 'xs', 'z', 'w', 'ws', 'wz', 'ys', 'yz']
  return graphOf([node('QLinearMatMul', inputs, 'y')], { feeds, constants })
}

/** A MatMul or Gemm between DequantizeLinear and QuantizeLinear. `size`: the scale of the output. */
export function randomCodeLayer(random: Random): RandomSums & { readonly size: number } {
  const { x: dims, w, count: n } = matrixDims(random)
  const [k = 1] = w
  const [isGemm, isTurned] = [dims.length === 2 && random.chance(0.6), random.chance(0.5)]
  const [xType, wType] = [random.pick(DTYPES), random.pick(DTYPES)]
  const scales = Array.from({ length: random.chance(0.5) ? 1 : n }, () => 0.005 + 0.01 * random.unit())
  const each = scales.length === 1 ? [] : [n]
  const size = 0.02 * 0.01 * 100 * Math.sqrt(k)
  const bias = Array.from({ length: n }, (_, at) => {
    const step = Math.fround(Math.fround(0.02) * Math.fround(scales[scales.length === 1 ? 0 : at]!))
    return step * (random.below(200) - 100 + (isTurned ? 0 : 0.3))
  })
  const constants = new Map<string, Constant>([
    ['xs', scalar('f32', 0.02)],
    ['xz', scalar(xType, anyCode(random, xType))],
    ['w', codes(random, wType, isGemm && isTurned ? w.toReversed() : w)],
    ['ws', tensorOf('f32', each, scales)],
    [
      'wz',
      tensorOf(
        wType,
        each,
        scales.map(() => anyCode(random, wType)),
      ),
    ],
    ['b', tensorOf('f32', [n], bias)],
    ['ys', scalar('f32', size)],
    ['yz', scalar('u8', 100)],
  ])
  const axis = { axis: int(isGemm && isTurned ? 0 : 1) }
  const nodes = [
    node('DequantizeLinear', ['x', 'xs', 'xz'], 'xf'),
    node('DequantizeLinear', ['w', 'ws', 'wz'], 'wf', scales.length === 1 ? {} : axis),
    isGemm
      ? node('Gemm', ['xf', 'wf', ...(random.chance(0.7) ? ['b'] : [])], 'p', {
          transB: int(isTurned ? 1 : 0),
        })
      : node('MatMul', ['xf', 'wf'], 'p'),
    node('Relu', ['p'], 'a'),
    node('QuantizeLinear', [random.pick(['p', 'a']), 'ys', 'yz'], 'q'),
    node('DequantizeLinear', ['q', 'ys', 'yz'], 'y'),
  ]
  const feeds = new Map([['x', codes(random, xType, dims)]])
  return { ...graphOf(nodes, { feeds, constants }), size }
}

/** A product of rows that are rounded to codes on their own, of random sizes. `row`: the graph of one row. */
export function randomRows(random: Random): RandomSums & { readonly row: (at: number) => RandomSums } {
  const { w: dims, count: n } = matrixDims(random)
  const [k = 1] = dims
  const wType = random.pick(DTYPES)
  const constants = new Map<string, Constant>([
    ['w', codes(random, wType, dims)],
    [
      'wz',
      tensorOf(
        wType,
        [n],
        Array.from({ length: n }, () => anyCode(random, wType)),
      ),
    ],
    ['ws', scalar('f32', 0.01)],
  ])
  const nodes = [
    { ...node('DynamicQuantizeLinear', ['x'], 'q'), outputs: ['q', 's', 'z'] },
    node('MatMulInteger', ['q', 'w', 'z', 'wz'], 'sums'),
    node('Cast', ['sums'], 'floats', { to: int(1) }),
    node('Mul', ['s', 'ws'], 'size'),
    node('Mul', ['floats', 'size'], 'y'),
  ]
  const count = random.pick([1, 2, 7, 13])
  const rows = Array.from({ length: count }, () =>
    Float32Array.from({ length: k }, () => (1 + random.below(9)) * random.signed()),
  )
  const of = (some: readonly Float32Array[]): RandomSums => {
    const x = tensorOf(
      'f32',
      [some.length, k],
      some.flatMap((each) => [...each]),
    )
    return graphOf(nodes, { feeds: new Map([['x', x]]), constants })
  }
  return { ...of(rows), row: (at) => of([rows[at]!]) }
}

/** Convolutions of codes whose scales are computed, as ONNX Runtime's quantiser writes them. */
export function randomDynamicNetwork(random: Random): RandomSums {
  const constants = new Map<string, Constant>()
  const nodes: Node[] = []
  const add = (op: string, inputs: readonly string[], attributes = {}, outputs = [`v${nodes.length}`]) => {
    nodes.push({ ...node(op, inputs, outputs[0]!, attributes), outputs })
    return outputs[0]!
  }
  const constant = (tensor: Tensor): string => {
    constants.set(`c${constants.size}`, tensor)
    return `c${constants.size - 1}`
  }
  const product = (op: string, x: string, dims: readonly number[], attributes = {}): string => {
    const at = nodes.length
    const [q = '', s = '', z = ''] = ['q', 's', 'z'].map((letter) => `${letter}${at}`)
    add('DynamicQuantizeLinear', [x], {}, [q, s, z])
    const wType = random.pick(DTYPES)
    const w = constant(codes(random, wType, dims))
    const wz = constant(scalar(wType, anyCode(random, wType)))
    const floats = add('Cast', [add(op, [q, w, z, wz], attributes)], { to: int(1) })
    return add('Mul', [floats, add('Mul', [s, constant(scalar('f32', 0.003))])])
  }
  const channels = random.pick([3, 8, 12])
  const border = { pads: { kind: 'ints', value: [1, 1, 1, 1] } }
  const first = product('ConvInteger', 'x', [channels, 3, 3, 3], border)
  const active = add('Sigmoid', [first])
  const second = product('ConvInteger', active, [channels, 1, 3, 3], { ...border, group: int(channels) })
  const sum = add('Add', [second, active])
  const last = product('ConvInteger', sum, [8, channels, 1, 1])
  nodes.push(node('Neg', [last], 'y'))
  const data = Float32Array.from({ length: countOf([1, 3, 9, 9]) }, () => 2 * random.signed())
  return graphOf(nodes, { feeds: new Map([['x', tensorOf('f32', [1, 3, 9, 9], data)]]), constants })
}
