// Recurrent layers: a state that goes from step to step of a sequence, forwards, backwards or both.

import type { Dim } from '../ir/dims.ts'
import { hasInput, type Node, type Type } from '../ir/graph.ts'
import {
  define,
  type Evaluation,
  flagOf,
  given,
  type Inference,
  intOf,
  type Operator,
  stringOf,
  unclaimed,
  unfit,
} from '../ir/operator.ts'
import { FLOATS, reader, type Tensor, tensorOf } from '../ir/tensor.ts'

/** Sizes of a layer: steps, rows of a batch, numbers of an input and of a state, and its directions. */
export interface Recurrence {
  readonly steps: number
  readonly batch: number
  readonly width: number
  readonly hidden: number
  readonly directions: number
}

const DIRECTIONS = ['forward', 'reverse', 'bidirectional']

export function directionsOf(node: Node): number {
  const direction = stringOf(node, 'direction', 'forward')
  if (!DIRECTIONS.includes(direction))
    throw unfit(node, `its direction is ${direction}, which does not exist`)
  return direction === 'bidirectional' ? 2 : 1
}

/** Whether a direction begins at the last step. */
export const isBackward = (node: Node, direction: number): boolean =>
  direction === 1 || stringOf(node, 'direction', 'forward') === 'reverse'

/**
 * `x` [steps, batch, width], weights [directions, gates x hidden, width] and [directions, gates x hidden,
 * hidden]. Throws `format` where they do not fit, `unsupported` for sequences of different lengths and
 * peepholes.
 */
export function recurrenceOf(
  node: Node,
  gates: number,
  x: readonly number[],
  weights: readonly number[],
  states: readonly number[],
): Recurrence {
  if (hasInput(node, 4)) throw unclaimed(node, 'its sequences have lengths of their own')
  if (hasInput(node, 7)) throw unclaimed(node, 'it has peepholes')
  if (flagOf(node, 'layout') || flagOf(node, 'input_forget'))
    throw unclaimed(node, 'it has batches before steps, or input and forget gates that are one')
  const [steps = 0, batch = 0, width = 0] = x
  const hidden = states[2] ?? 0
  const directions = directionsOf(node)
  const rows = gates * hidden
  const isFit =
    x.length === 3 &&
    `${weights}` === `${[directions, rows, width]}` &&
    `${states}` === `${[directions, rows, hidden]}` &&
    intOf(node, 'hidden_size', hidden) === hidden
  if (!isFit) throw unfit(node, `its weights [${weights}] and [${states}] do not fit its input [${x}]`)
  return { steps, batch, width, hidden, directions }
}

const sigmoid = (x: number): number => 1 / (1 + Math.exp(-x))

/** A step of one row: the state becomes another. `inputs` and `states`: the products by each gate. */
type Step = (of: {
  readonly node: Node
  readonly hidden: number
  readonly inputs: Float64Array
  /** The product of a state by row `row` of the weights of states. */
  readonly along: (state: Float64Array, row: number) => number
  /** Biases of inputs, then of states. */
  readonly bias: (row: number) => number
  readonly state: Float64Array
  readonly cell: Float64Array
}) => void

/** Gates in the order input, output, forget, cell. */
const lstmStep: Step = ({ hidden, inputs, along, bias, state, cell }) => {
  const gate = (index: number, at: number): number => {
    const row = index * hidden + at
    return inputs[row]! + along(before, row) + bias(row) + bias(4 * hidden + row)
  }
  const before = state.slice()
  for (let at = 0; at < hidden; at++) {
    cell[at] = sigmoid(gate(2, at)) * cell[at]! + sigmoid(gate(0, at)) * Math.tanh(gate(3, at))
    state[at] = sigmoid(gate(1, at)) * Math.tanh(cell[at]!)
  }
}

/** Gates in the order update, reset, hidden. */
const gruStep: Step = ({ node, hidden, inputs, along, bias, state }) => {
  const isAfter = flagOf(node, 'linear_before_reset')
  const before = state.slice()
  const gate = (row: number): number =>
    sigmoid(inputs[row]! + along(before, row) + bias(row) + bias(3 * hidden + row))
  const reset = Float64Array.from({ length: hidden }, (_, at) => gate(hidden + at))
  const kept = before.map((value, at) => value * reset[at]!)
  for (let at = 0; at < hidden; at++) {
    const row = 2 * hidden + at
    const own = isAfter
      ? reset[at]! * (along(before, row) + bias(3 * hidden + row))
      : along(kept, row) + bias(3 * hidden + row)
    const made = Math.tanh(inputs[row]! + own + bias(row))
    const update = gate(at)
    state[at] = (1 - update) * made + update * before[at]!
  }
}

function evaluateRecurrent(context: Evaluation, gates: number, step: Step): Tensor[] {
  const { node, inputs } = context
  const [x, weights, states] = [0, 1, 2].map((index) => given(context, index)) as [Tensor, Tensor, Tensor]
  const { steps, batch, width, hidden, directions } = recurrenceOf(
    node,
    gates,
    x.dims,
    weights.dims,
    states.dims,
  )
  const rows = gates * hidden
  context.spend(directions * steps * batch * rows * (width + hidden))
  const [readX, readW, readR] = [x, weights, states].map(reader) as [Read, Read, Read]
  const readB = inputs[3] === undefined ? () => 0 : reader(inputs[3])
  const begun = [5, 6].map((index) => (inputs[index] === undefined ? () => 0 : reader(inputs[index])))
  const y = new Float64Array(steps * directions * batch * hidden)
  const last = [0, 1].map(() => new Float64Array(directions * batch * hidden)) as [Float64Array, Float64Array]
  for (let direction = 0; direction < directions; direction++) {
    for (let row = 0; row < batch; row++) {
      const from = (direction * batch + row) * hidden
      const [state, cell] = begun.map((read) =>
        Float64Array.from({ length: hidden }, (_, at) => read(from + at)),
      ) as [Float64Array, Float64Array]
      for (let done = 0; done < steps; done++) {
        const at = isBackward(node, direction) ? steps - 1 - done : done
        const products = Float64Array.from({ length: rows }, (_, gate) => {
          let total = 0
          for (let each = 0; each < width; each++)
            total +=
              readX((at * batch + row) * width + each) * readW((direction * rows + gate) * width + each)
          return total
        })
        step({
          node,
          hidden,
          inputs: products,
          along: (own, gate) =>
            own.reduce(
              (sum, value, each) => sum + value * readR((direction * rows + gate) * hidden + each),
              0,
            ),
          bias: (gate) => readB(direction * 2 * rows + gate),
          state,
          cell,
        })
        y.set(state, ((at * directions + direction) * batch + row) * hidden)
      }
      last[0].set(state, from)
      last[1].set(cell, from)
    }
  }
  const made = [
    tensorOf(x.dtype, [steps, directions, batch, hidden], y),
    ...last.map((each) => tensorOf(x.dtype, [directions, batch, hidden], each)),
  ]
  return node.outputs.map((_, index) => made[index]!)
}

type Read = (index: number) => number

function inferRecurrent({ node, inputs: [x, , states] }: Inference): (Type | undefined)[] {
  const dtype = x?.dtype
  if (dtype === undefined) return []
  const [steps, batch] = x?.dims ?? []
  const hidden = states?.dims?.[2]
  const isKnown = steps !== undefined && batch !== undefined && hidden !== undefined
  const directions = directionsOf(node)
  const dims = (...sizes: Dim[]) => (isKnown ? sizes : undefined)
  const last = { dtype, dims: dims(directions, batch!, hidden!) }
  return [{ dtype, dims: dims(steps!, directions, batch!, hidden!) }, last, last].slice(
    0,
    node.outputs.length,
  )
}

const LAYER = {
  since: 7,
  dtypes: [FLOATS, FLOATS, FLOATS, FLOATS, ['i32'], FLOATS],
  infer: inferRecurrent,
} as const

const ATTRIBUTES = { direction: 'string', hidden_size: 'int', layout: 'int' } as const

const lstm: Operator = define({
  ...LAYER,
  name: 'LSTM',
  inputs: [3, 8],
  outputs: [1, 3],
  attributes: { ...ATTRIBUTES, input_forget: 'int' },
  evaluate: (context) => evaluateRecurrent(context, 4, lstmStep),
})

const gru: Operator = define({
  ...LAYER,
  name: 'GRU',
  inputs: [3, 6],
  outputs: [1, 2],
  attributes: { ...ATTRIBUTES, linear_before_reset: 'int' },
  evaluate: (context) => evaluateRecurrent(context, 3, gruStep),
})

export const RECURRENT: readonly Operator[] = [lstm, gru]
