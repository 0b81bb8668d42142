// Evaluators of recurrent layers.
import type { Evaluators } from '../evaluate.ts'
import type { Node } from '../ir/graph.ts'
import { type Evaluation, flagOf, given } from '../ir/operator.ts'
import { reader, type Tensor, tensorOf } from '../ir/tensor.ts'
import { isBackward, recurrenceOf } from '../operators/recurrent.ts'

const sigmoid = (x: number): number => 1 / (1 + Math.exp(-x))

/** One step of a row; replaces the state. `inputs` and `states`: the products, by gate. */
type Step = (of: {
  readonly node: Node
  readonly hidden: number
  readonly inputs: Float64Array
  /** The product of a state and row `row` of the state weights. */
  readonly along: (state: Float64Array, row: number) => number
  /** Biases of the inputs, then biases of the state. */
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

const rnnStep: Step = ({ hidden, inputs, along, bias, state }) => {
  const before = state.slice()
  for (let at = 0; at < hidden; at++)
    state[at] = Math.tanh(inputs[at]! + along(before, at) + bias(at) + bias(hidden + at))
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

export const RECURRENT: Evaluators = new Map([
  ['LSTM', (context) => evaluateRecurrent(context, 4, lstmStep)],
  ['GRU', (context) => evaluateRecurrent(context, 3, gruStep)],
  ['RNN', (context) => evaluateRecurrent(context, 1, rnnStep)],
])
