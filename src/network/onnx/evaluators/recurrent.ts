// Evaluators of recurrent layers.
import type { Evaluators } from '../evaluate.ts'
import type { Node } from '../ir/graph.ts'
import {
  type Evaluation,
  flagOf,
  floatOf,
  floatsOf,
  given,
  stringsOf,
  unclaimed,
  unfit,
} from '../ir/operator.ts'
import { countOf, reader, type Tensor, tensorOf } from '../ir/tensor.ts'
import { isBackward, isBatchFirst, type Recurrence, recurrenceOf } from '../operators/recurrent.ts'
import { elu, limited, sigmoid, softplus } from './activations.ts'

type Read = (index: number) => number
type Activation = (x: number) => number

/** An activation with the defaults of its alpha and beta, if it has any. */
type Named = readonly [of: (x: number, alpha: number, beta: number) => number, alpha?: number, beta?: number]

/** Activations that a node may name. */
const ACTIVATIONS: ReadonlyMap<string, Named> = new Map<string, Named>([
  ['Affine', [(x, a, b) => a * x + b, 1, 0]],
  ['Elu', [elu, 1]],
  ['HardSigmoid', [(x, a, b) => limited(a * x + b), 0.2, 0.5]],
  ['LeakyRelu', [(x, a) => (x < 0 ? a * x : x), 0.01]],
  ['Relu', [(x) => Math.max(0, x)]],
  ['ScaledTanh', [(x, a, b) => a * Math.tanh(b * x), 1, 1]],
  ['Sigmoid', [sigmoid]],
  ['Softplus', [softplus]],
  ['Softsign', [(x) => x / (1 + Math.abs(x))]],
  ['Tanh', [Math.tanh]],
  ['ThresholdedRelu', [(x, a) => (x > a ? x : 0), 1]],
])

/** The index of an LSTM's activation of the cell, whose input ONNX Runtime does not clip. */
const OF_CELL = 2

/** The activations of each direction: those that the node names, or the defaults, with clipped inputs. */
function activationsOf(node: Node, directions: number, usual: readonly string[]): Activation[][] {
  const names = stringsOf(node, 'activations', undefined)
  // Only activations that take an alpha or a beta consume a number of its list.
  const alphas = [...floatsOf(node, 'activation_alpha', [])]
  const betas = [...floatsOf(node, 'activation_beta', [])]
  const clip = floatOf(node, 'clip', 0) || Infinity
  return Array.from({ length: directions }, (_, direction) =>
    usual.map((each, at) => {
      const name = names?.[direction * usual.length + at] ?? each
      const entry = ACTIVATIONS.get(name)
      if (entry === undefined) throw unclaimed(node, `its activation is ${name}`)
      const [of, alpha, beta] = entry
      const a = alpha === undefined ? 0 : (alphas.shift() ?? alpha)
      const b = beta === undefined ? 0 : (betas.shift() ?? beta)
      const most = at === OF_CELL ? Infinity : clip
      return (x: number) => of(Math.min(most, Math.max(-most, x)), a, b)
    }),
  )
}

/** Replaces the state of a row. */
type Step = (of: {
  readonly node: Node
  readonly hidden: number
  readonly activations: readonly Activation[]
  /** The products of the inputs, by row of the weights. */
  readonly inputs: Float64Array
  /** The product of a state and row `row` of the state weights. */
  readonly along: (state: Float64Array, row: number) => number
  /** Biases of the inputs, then biases of the state. */
  readonly bias: Read
  /** Weights of the cell: input, output, forget. */
  readonly peephole: Read
  readonly state: Float64Array
  readonly cell: Float64Array
}) => void

/** Gates in the order input, output, forget, cell. */
const lstmStep: Step = ({ node, hidden, activations, inputs, along, bias, peephole, state, cell }) => {
  const [f, g, h] = activations as [Activation, Activation, Activation]
  const before = state.slice()
  const sum = (gate: number, at: number): number => {
    const row = gate * hidden + at
    return inputs[row]! + along(before, row) + bias(row) + bias(4 * hidden + row)
  }
  const isCoupled = flagOf(node, 'input_forget')
  for (let at = 0; at < hidden; at++) {
    const held = cell[at]!
    const input = f(sum(0, at) + peephole(at) * held)
    const forget = isCoupled ? 1 - input : f(sum(2, at) + peephole(2 * hidden + at) * held)
    const next = forget * held + input * g(sum(3, at))
    cell[at] = next
    state[at] = f(sum(1, at) + peephole(hidden + at) * next) * h(next)
  }
}

/** Gates in the order update, reset, hidden. */
const gruStep: Step = ({ node, hidden, activations, inputs, along, bias, state }) => {
  const [f, g] = activations as [Activation, Activation]
  const isAfter = flagOf(node, 'linear_before_reset')
  const before = state.slice()
  const gate = (row: number): number =>
    f(inputs[row]! + along(before, row) + bias(row) + bias(3 * hidden + row))
  const reset = Float64Array.from({ length: hidden }, (_, at) => gate(hidden + at))
  const kept = before.map((value, at) => value * reset[at]!)
  for (let at = 0; at < hidden; at++) {
    const row = 2 * hidden + at
    const own = isAfter
      ? reset[at]! * (along(before, row) + bias(3 * hidden + row))
      : along(kept, row) + bias(3 * hidden + row)
    const made = g(inputs[row]! + own + bias(row))
    const update = gate(at)
    state[at] = (1 - update) * made + update * before[at]!
  }
}

const rnnStep: Step = ({ hidden, activations, inputs, along, bias, state }) => {
  const [f] = activations as [Activation]
  const before = state.slice()
  for (let at = 0; at < hidden; at++)
    state[at] = f(inputs[at]! + along(before, at) + bias(at) + bias(hidden + at))
}

/** Where rows begin in the node's layout: `input` counts rows, `output` and `state` count elements. */
function placesOf(node: Node, { steps, batch, hidden, directions }: Recurrence) {
  return isBatchFirst(node)
    ? {
        input: (step: number, row: number) => row * steps + step,
        output: (step: number, direction: number, row: number) =>
          ((row * steps + step) * directions + direction) * hidden,
        state: (direction: number, row: number) => (row * directions + direction) * hidden,
        outputDims: [batch, steps, directions, hidden],
        stateDims: [batch, directions, hidden],
      }
    : {
        input: (step: number, row: number) => step * batch + row,
        output: (step: number, direction: number, row: number) =>
          ((step * directions + direction) * batch + row) * hidden,
        state: (direction: number, row: number) => (direction * batch + row) * hidden,
        outputDims: [steps, directions, batch, hidden],
        stateDims: [directions, batch, hidden],
      }
}

/** How many steps each row has. The outputs of later steps are 0. */
function lengthsOf(node: Node, lengths: Tensor | undefined, { steps, batch }: Recurrence): number[] {
  if (lengths === undefined) return Array<number>(batch).fill(steps)
  const read = reader(lengths)
  const made = Array.from({ length: batch }, (_, row) => read(row))
  if (lengths.data.length !== batch || made.some((each) => !(each >= 0 && each <= steps)))
    throw unfit(node, `its lengths [${made}] do not fit ${batch} sequences of ${steps} steps`)
  return made
}

/** An optional input, whose elements are 0 if it is omitted. */
function optional({ node, inputs }: Evaluation, index: number, dims: readonly number[]): Read {
  const tensor = inputs[index]
  if (tensor === undefined) return () => 0
  if (tensor.data.length !== countOf(dims))
    throw unfit(node, `its input ${index} has the shape [${tensor.dims}] instead of [${dims}]`)
  return reader(tensor)
}

function evaluateRecurrent(
  context: Evaluation,
  { gates, usual, step }: { gates: number; usual: readonly string[]; step: Step },
): Tensor[] {
  const { node, inputs } = context
  const [x, weights, states] = [0, 1, 2].map((index) => given(context, index)) as [Tensor, Tensor, Tensor]
  const sizes = recurrenceOf(node, gates, x.dims, weights.dims, states.dims)
  const { steps, batch, width, hidden, directions } = sizes
  const rows = gates * hidden
  context.spend(directions * steps * batch * rows * (width + hidden))
  const places = placesOf(node, sizes)
  const activations = activationsOf(node, directions, usual)
  const lengths = lengthsOf(node, inputs[4], sizes)
  const [readX, readW, readR] = [x, weights, states].map(reader) as [Read, Read, Read]
  const readB = optional(context, 3, [directions, 2 * rows])
  const begun = [5, 6].map((index) => optional(context, index, places.stateDims))
  const readP = optional(context, 7, [directions, 3 * hidden])
  const y = new Float64Array(countOf(places.outputDims))
  const last = [0, 1].map(() => new Float64Array(countOf(places.stateDims)))
  for (let direction = 0; direction < directions; direction++) {
    const layer = {
      ...{ node, hidden, activations: activations[direction]! },
      along: (own: Float64Array, row: number) =>
        own.reduce((sum, value, at) => sum + value * readR((direction * rows + row) * hidden + at), 0),
      bias: (row: number) => readB(direction * 2 * rows + row),
      peephole: (at: number) => readP(direction * 3 * hidden + at),
    }
    const productsAt = (from: number) =>
      Float64Array.from({ length: rows }, (_, row) => {
        let total = 0
        for (let at = 0; at < width; at++)
          total += readX(from * width + at) * readW((direction * rows + row) * width + at)
        return total
      })
    for (let row = 0; row < batch; row++) {
      const from = places.state(direction, row)
      const [state, cell] = begun.map((read) =>
        Float64Array.from({ length: hidden }, (_, at) => read(from + at)),
      ) as [Float64Array, Float64Array]
      for (let done = 0; done < lengths[row]!; done++) {
        const at = isBackward(node, direction) ? lengths[row]! - 1 - done : done
        step({ ...layer, inputs: productsAt(places.input(at, row)), state, cell })
        y.set(state, places.output(at, direction, row))
      }
      for (const [index, end] of [state, cell].entries()) last[index]!.set(end, from)
    }
  }
  const made = [
    tensorOf(x.dtype, places.outputDims, y),
    ...last.map((each) => tensorOf(x.dtype, places.stateDims, each)),
  ]
  return node.outputs.map((_, index) => made[index]!)
}

const LSTM = { gates: 4, usual: ['Sigmoid', 'Tanh', 'Tanh'], step: lstmStep }
const GRU = { gates: 3, usual: ['Sigmoid', 'Tanh'], step: gruStep }
const RNN = { gates: 1, usual: ['Tanh'], step: rnnStep }

export const RECURRENT: Evaluators = new Map([
  ['LSTM', (context) => evaluateRecurrent(context, LSTM)],
  ['GRU', (context) => evaluateRecurrent(context, GRU)],
  ['RNN', (context) => evaluateRecurrent(context, RNN)],
])
