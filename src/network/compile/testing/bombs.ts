// Bombs: small graphs that need a lot of time or memory. In: how much. Out: the graph, whose input `x` is
// small.
import type { Attribute, Graph, Node } from '../../onnx/ir/graph.ts'
import { type Tensor, tensorOf } from '../../onnx/ir/tensor.ts'
import { int, text } from './graph-maker.ts'

type Attributes = Readonly<Record<string, Attribute>>

const ints = (...value: readonly number[]): Attribute => ({ kind: 'ints', value })
const list = (...values: readonly number[]): Tensor => tensorOf('i64', [values.length], values)
const number = (value: number): Tensor => tensorOf('i64', [], [value])

function node(op: string, inputs: readonly string[], output: string, attributes: Attributes = {}): Node {
  const parts = { name: output, op, domain: '', version: op === 'Resize' ? 18 : 17 }
  return { ...parts, inputs, outputs: [output], attributes: new Map(Object.entries(attributes)) }
}

/** From `x` to `y`, step by step. */
const chain = (length: number, step: (from: string, to: string, at: number) => readonly Node[]): Node[] =>
  Array.from({ length }, (_, at) =>
    step(at === 0 ? 'x' : `v${at}`, at === length - 1 ? 'y' : `v${at + 1}`, at),
  ).flat()

function graphOf(
  nodes: readonly Node[],
  constants: Readonly<Record<string, Tensor>> = {},
  dims: readonly number[] = [1, 1, 4, 4],
): Graph {
  return {
    name: 'bomb',
    inputs: [{ name: 'x', type: { dtype: 'f32', dims } }],
    outputs: ['y'],
    constants: new Map(Object.entries(constants)),
    nodes,
  }
}

const filters = { filters: tensorOf('f32', [1, 1, 2, 2], [1, 1, 1, 1]) }
const resize = (n: number, attributes: Attributes, dims?: readonly number[]): Graph =>
  graphOf([node('Resize', ['x', '', '', 'sizes'], 'y', attributes)], { sizes: list(1, 1, 4, n) }, dims)

/** A loop of `n` steps whose body is a loop of `n` steps, `depth` times. */
function loops(n: number, depth: number): Graph {
  let inner: readonly Node[] = [node('Add', ['s0', 's0'], 'o0')]
  for (let at = 0; at < depth; at++) {
    const body: Graph = {
      name: `body ${at}`,
      inputs: [`i${at}`, `c${at}`, `s${at}`].map((name) => ({ name })),
      outputs: [`g${at}`, `o${at}`],
      constants: new Map(),
      nodes: [node('Identity', [`c${at}`], `g${at}`), ...inner],
    }
    const from = at === depth - 1 ? 'x' : `s${at + 1}`
    const to = at === depth - 1 ? 'y' : `o${at + 1}`
    inner = [node('Loop', ['count', 'yes', from], to, { body: { kind: 'graph', value: body } })]
  }
  return graphOf(inner, { count: number(n), yes: tensorOf('bool', [], [1]) })
}

/**
 * Keyed by the resource that they exhaust. `n`: the amount, an integer of at least 2; for a chain, at most
 * 2^18.
 */
export const BOMBS = {
  'resized places': (n) => resize(n, { mode: text('linear') }),
  'nearest places': (n) => resize(n, { mode: text('nearest') }),
  'resized empty positions': (n) => resize(n, { mode: text('linear') }, [0, 1, 4, 4]),
  'taps of one position': (n) =>
    resize(1, { mode: text('cubic'), antialias: int(1) }, [1, 1, 1, Math.min(n, 2 ** 18)]),
  'a mean of a long window': (n) =>
    graphOf([node('AveragePool', ['x'], 'y', { kernel_shape: ints(1, n) })], {}, [1, 1, 1, n]),
  'the largest of a long window': (n) =>
    graphOf([node('MaxPool', ['x'], 'y', { kernel_shape: ints(1, n) })], {}, [1, 1, 1, n + 3]),
  'a one-hot row of many': (n) =>
    graphOf([node('Cast', ['x'], 'i', { to: int(7) }), node('OneHot', ['i', 'depth', 'values'], 'y')], {
      depth: list(n),
      values: tensorOf('f32', [2], [0, 1]),
    }),
  'places apart': (n) =>
    graphOf([node('ConvTranspose', ['x', 'filters'], 'y', { strides: ints(n, n) })], filters),
  'a wide border': (n) =>
    graphOf([node('Pad', ['x', 'border'], 'y')], { border: list(0, 0, 0, 0, n, 0, 0, 0) }),
  repeats: (n) =>
    graphOf([node('Tile', ['x', 'times'], 'w'), node('Neg', ['w'], 'y')], { times: list(n, 1, 1, 1) }),
  'a product of repeated rows': (n) =>
    graphOf(
      [
        node('Expand', ['x', 'wide'], 'a'),
        node('Expand', ['x', 'high'], 'b'),
        node('MatMul', ['a', 'b'], 'p'),
        node('ReduceSum', ['p'], 'y'),
      ],
      { wide: list(n, n), high: list(n, n) },
      [1, 1],
    ),
  'a sum of repeated rows': (n) =>
    graphOf(
      [node('Expand', ['x', 'wide'], 'w'), node('ReduceSum', ['w'], 'y')],
      { wide: list(n, n) },
      [1, 1],
    ),
  'a value that doubles': (n) =>
    graphOf(chain(Math.min(n, 60), (from, to) => [node('Concat', [from, from], to, { axis: int(0) })])),
  'a value that is added to itself': (n) => graphOf(chain(n, (from, to) => [node('Add', [from, from], to)])),
  'a chain': (n) => graphOf(chain(n, (from, to) => [node('Relu', [from], to)])),
  'a chain of views': (n) => graphOf(chain(n, (from, to) => [node('Transpose', [from], to)])),
  'a chain of rows': (n) =>
    graphOf(chain(n, (from, to) => [node('Softmax', [from], to, { axis: int(2 + (from.length % 2)) })])),
  'a sum of many inputs': (n) =>
    graphOf([
      node(
        'Sum',
        Array.from({ length: n }, () => 'x'),
        'y',
      ),
    ]),
  'many parts': (n) =>
    graphOf([
      node(
        'Concat',
        Array.from({ length: n }, () => 'x'),
        'y',
        { axis: int(1) },
      ),
    ]),
  'nested loops': (n) => loops(n, 6),
} satisfies Readonly<Record<string, (n: number) => Graph>>

export type BombName = keyof typeof BOMBS

/** The largest `n` of a bomb whose file or input grows with it. */
export const LARGEST: Partial<Record<BombName, number>> = {
  'a mean of a long window': 2 ** 18 - 4,
  'the largest of a long window': 2 ** 18 - 4,
  'a value that is added to itself': 2 ** 16,
  'a chain': 2 ** 16,
  'a chain of views': 2 ** 16,
  'a chain of rows': 2 ** 16,
  'a sum of many inputs': 2 ** 16,
  'many parts': 2 ** 16,
}
