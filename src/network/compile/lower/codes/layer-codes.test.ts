// Recurrent layers whose weights are 8-bit codes. In: a layer of both directions, its codes, scales and zero
// points. Out: the states of a plain loop that rounds each row of inputs and states to codes, or that rounds
// nothing.
import { expect, test } from 'vitest'
import { Random } from '../../../../../test/helpers/random.ts'
import type { Graph } from '../../../onnx/ir/graph.ts'
import { countOf, type DType, type Tensor, tensorOf } from '../../../onnx/ir/tensor.ts'
import { CompiledGraph, type CompileOptions } from '../../compiled-graph.ts'

const [STEPS, WIDTH, HIDDEN, DIRECTIONS] = [4, 7, 11, 2]
const COLUMNS = 4 * HIDDEN

const tensor = (dtype: DType, dims: readonly number[], of: () => number): Tensor =>
  tensorOf(dtype, dims, Array.from({ length: countOf(dims) }, of))

interface Layer {
  readonly x: Tensor
  readonly constants: Readonly<Record<'w' | 'r' | 'b' | 'ws' | 'wz' | 'rs' | 'rz', Tensor>>
}

/** `perColumn`: whether each column has a scale and a zero point, not each direction. */
function randomLayer(random: Random, dtype: 'i8' | 'u8', batch: number, perColumn = false): Layer {
  const code = () => random.below(256) - (dtype === 'i8' ? 128 : 0)
  const own = perColumn ? [DIRECTIONS, COLUMNS] : [DIRECTIONS]
  const scale = () => 0.003 + random.unit() / 500
  return {
    x: tensor('f32', [STEPS, batch, WIDTH], () => 2 * random.signed()),
    constants: {
      w: tensor(dtype, [DIRECTIONS, WIDTH, COLUMNS], code),
      r: tensor(dtype, [DIRECTIONS, HIDDEN, COLUMNS], code),
      b: tensor('f32', [DIRECTIONS, 2 * COLUMNS], () => random.signed() / 4),
      ws: tensor('f32', own, scale),
      wz: tensor(dtype, own, code),
      rs: tensor('f32', own, scale),
      rz: tensor(dtype, own, code),
    },
  }
}

const graphOf = ({ x, constants }: Layer): Graph => ({
  name: 'layer',
  inputs: [{ name: 'x', type: { dtype: 'f32', dims: ['steps', ...x.dims.slice(1)] } }],
  outputs: ['y'],
  constants: new Map(Object.entries(constants)),
  nodes: [
    {
      name: 'layer',
      op: 'DynamicQuantizeLSTM',
      domain: 'com.microsoft',
      version: 1,
      inputs: ['x', 'w', 'r', 'b', '', '', '', '', 'ws', 'wz', 'rs', 'rz'],
      outputs: ['y'],
      attributes: new Map([['direction', { kind: 'string', value: 'bidirectional' }]]),
    },
  ],
})

/** The nearest values that 255 steps between the smallest and the largest number, or 0, give. */
function rounded(row: readonly number[]): number[] {
  const [least, most] = [Math.min(0, ...row), Math.max(0, ...row)]
  const scale = Math.fround(Math.fround(most - least) / 255) || 1
  const zero = Math.round(-least / scale)
  return row.map((value) => {
    const code = Math.round(Math.fround(value / scale)) + zero
    return (Math.max(0, Math.min(255, code)) - zero) * scale
  })
}

/** The states [steps, directions, batch, hidden]. `round`: what happens to each row of inputs and states. */
function statesOf({ x, constants }: Layer, round: (row: readonly number[]) => number[]): number[] {
  const { w, r, b, ws, wz, rs, rz } = constants
  const batch = x.dims[1]!
  const states = Array.from({ length: STEPS * DIRECTIONS * batch * HIDDEN }, () => 0)
  const own = ws.data.length / DIRECTIONS
  const times = (
    row: readonly number[],
    m: Tensor,
    s: Tensor,
    z: Tensor,
    direction: number,
    column: number,
  ) => {
    const place = direction * own + (own === 1 ? 0 : column)
    const sum = row.reduce((total, value, at) => {
      const code = Number(m.data[(direction * row.length + at) * COLUMNS + column])
      return total + value * (code - Number(z.data[place]))
    }, 0)
    return sum * Number(s.data[place])
  }
  const sigmoid = (value: number) => 1 / (1 + Math.exp(-value))
  for (let direction = 0; direction < DIRECTIONS; direction++)
    for (let item = 0; item < batch; item++) {
      let state = Array.from({ length: HIDDEN }, () => 0)
      let cell = state
      for (let done = 0; done < STEPS; done++) {
        const step = direction === 1 ? STEPS - 1 - done : done
        const begin = (step * batch + item) * WIDTH
        const input = round(Array.from(x.data.slice(begin, begin + WIDTH), Number))
        const last = round(state)
        const gates = Array.from({ length: COLUMNS }, (_, column) => {
          const bias = [0, COLUMNS].map((half) => Number(b.data[2 * direction * COLUMNS + half + column]))
          return (
            times(input, w, ws, wz, direction, column) +
            times(last, r, rs, rz, direction, column) +
            bias[0]! +
            bias[1]!
          )
        })
        const gate = (index: number, at: number) => gates[index * HIDDEN + at]!
        cell = cell.map(
          (value, at) => sigmoid(gate(2, at)) * value + sigmoid(gate(0, at)) * Math.tanh(gate(3, at)),
        )
        state = cell.map((value, at) => sigmoid(gate(1, at)) * Math.tanh(value))
        for (const [at, value] of state.entries())
          states[((step * DIRECTIONS + direction) * batch + item) * HIDDEN + at] = value
      }
    }
  return states
}

async function found(layer: Layer, options: Partial<CompileOptions> = {}): Promise<readonly number[]> {
  const compiled = new CompiledGraph(graphOf(layer), { fuse: true, ...options })
  const { data } = (await compiled.run(new Map([['x', layer.x]]))).get('y')!
  return Array.from(data, Number)
}

const farthest = (a: readonly number[], b: readonly number[]): number =>
  a.reduce((most, value, at) => Math.max(most, Math.abs(value - b[at]!)), 0)

test.each(['i8', 'u8'] as const)(
  'rows are rounded for weights in codes of %s, on every machine',
  async (dtype) => {
    for (let seed = 0; seed < 10; seed++) {
      const layer = randomLayer(new Random(51, seed), dtype, 1 + (seed % 2))
      const due = statesOf(layer, rounded)
      const plain = await found(layer)
      expect(farthest(plain, due)).toBeLessThan(2e-6)
      expect(
        farthest(
          plain,
          statesOf(layer, (row) => [...row]),
        ),
      ).toBeGreaterThan(1e-4)
      expect(farthest(await found(layer, { fuse: false, dot: 'pairs' }), due)).toBeLessThan(2e-6)
    }
  },
)

test('nothing is rounded with weights in f32, or with a scale for each column', async () => {
  for (const perColumn of [false, true]) {
    const layer = randomLayer(new Random(52), 'i8', 2, perColumn)
    const due = statesOf(layer, (row) => [...row])
    expect(farthest(await found(layer, { weights: perColumn ? 'auto' : 'f32' }), due)).toBeLessThan(2e-6)
  }
})

test('scales for another number of directions are rejected', async () => {
  const layer = randomLayer(new Random(54), 'i8', 1)
  const ws = tensorOf('f32', [3], [0.01, 0.02, 0.03])
  const wz = tensorOf('i8', [3], [0, 0, 0])
  for (const weights of ['auto', 'f32'] as const) {
    const wrong = found({ ...layer, constants: { ...layer.constants, ws, wz } }, { weights })
    await expect(wrong).rejects.toMatchObject({ code: 'format' })
  }
})

test('all steps share the codes of the weights', async () => {
  const layer = randomLayer(new Random(53), 'u8', 1)
  const { steps } = await new CompiledGraph(graphOf(layer), { fuse: true }).prepare(
    new Map([['x', [40, 1, WIDTH]]]),
  )
  const products = steps.flatMap((step) => ('call' in step && step.call.product ? [step.call.product] : []))
  expect(products).toHaveLength(DIRECTIONS * (1 + 40))
  expect(new Set(products.map(({ matrix }) => matrix.value)).size).toBe(2)
})
