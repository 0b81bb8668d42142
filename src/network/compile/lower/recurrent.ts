// Handlers of recurrent layers. The products of all steps with the input weights are computed at once. Each
// step is then a product with the state, followed by elementwise loops. If the weights are 8-bit codes,
// inputs and states are rounded to codes, too.
import { hasInput, type Node } from '../../onnx/ir/graph.ts'
import { flagOf, unclaimed, wants } from '../../onnx/ir/operator.ts'
import { checkPlain, isBackward, type Recurrence, recurrenceOf } from '../../onnx/operators/recurrent.ts'
import { dimsOf, type Ref, refTo, type Value } from '../loops/loops.ts'
import { add, apply, arg, div, mul, number, sub, type Tree } from '../loops/tree.ts'
import { sliced, transposed, whole } from '../loops/view.ts'
import { type LayerCodes, layerCodes, multiplyRounded } from './codes/layer-codes.ts'
import type { Handler, SomeHandlers } from './handler.ts'
import { reshape } from './lowering/layouts.ts'
import { filled, map } from './lowering/loops.ts'
import type { Lowering } from './lowering/lowering.ts'
import { multiply } from './lowering/sums.ts'

/** Each step adds two to four loops to a program, or twice as many if it rounds its state. */
const MAX_STEPS = 2000

const sigmoid = (x: Tree): Tree => div(number(1), add(number(1), apply('exp', apply('neg', x))))
const tanh = (x: Tree): Tree => apply('tanh', x)

/** A matrix as floats, or as the codes of which they were made. */
interface Weights {
  readonly floats: Ref
  readonly codes: LayerCodes | undefined
}

/** The inputs of a step in one direction. */
interface Layer {
  readonly hidden: number
  /** [batch, gates x hidden]: the products of the step's inputs, plus biases. */
  readonly inputs: Ref
  /** [hidden, gates x hidden]. */
  readonly weights: Weights
  /** [gates x hidden], for the state. */
  readonly bias: Ref | undefined
  readonly state: Ref
  readonly cell: Ref
}

type Step = (lowering: Lowering, node: Node, layer: Layer) => { readonly state: Ref; readonly cell: Ref }

const product = (lowering: Lowering, node: Node, x: Ref, { floats, codes }: Weights): Ref =>
  codes === undefined ? multiply(lowering, node, x, floats) : multiplyRounded(lowering, node, x, codes)

const part = (ref: Ref, gate: number, hidden: number): Ref => {
  const axis = dimsOf(ref).length - 1
  return { ...ref, view: sliced(ref.view, axis, gate * hidden, hidden) }
}

/** The state's contribution to the gates. */
function fromState(lowering: Lowering, node: Node, state: Ref, weights: Weights, bias: Ref | undefined): Ref {
  const made = product(lowering, node, state, weights)
  return bias === undefined ? made : map(lowering, node, [made, bias], add(arg(0), arg(1)))
}

/** Gates in the order input, output, forget, cell. */
const lstmStep: Step = (lowering, node, { hidden, inputs, weights, bias, state, cell }) => {
  const own = fromState(lowering, node, state, weights, bias)
  const gates = map(lowering, node, [inputs, own], add(arg(0), arg(1)))
  const of = (gate: number) => part(gates, gate, hidden)
  const next = map(
    lowering,
    node,
    [of(2), cell, of(0), of(3)],
    add(mul(sigmoid(arg(0)), arg(1)), mul(sigmoid(arg(2)), tanh(arg(3)))),
  )
  return { state: map(lowering, node, [of(1), next], mul(sigmoid(arg(0)), tanh(arg(1)))), cell: next }
}

/** Gates in the order update, reset, hidden. */
const gruStep: Step = (lowering, node, { hidden, inputs, weights, bias, state, cell }) => {
  const isAfter = flagOf(node, 'linear_before_reset')
  const { floats } = weights
  const some = (from: number, count: number): Weights => ({
    floats: { ...floats, view: sliced(floats.view, 1, from * hidden, count * hidden) },
    codes: undefined,
  })
  const own = fromState(
    lowering,
    node,
    state,
    isAfter ? weights : some(0, 2),
    isAfter ? bias : bias && { ...bias, view: sliced(bias.view, 0, 0, 2 * hidden) },
  )
  const gate = (index: number): [Ref, Ref] => [part(inputs, index, hidden), part(own, index, hidden)]
  const sum = sigmoid(add(arg(0), arg(1)))
  const reset = map(lowering, node, gate(1), sum)
  let candidate: Ref
  if (isAfter) candidate = map(lowering, node, [...gate(2), reset], tanh(add(arg(0), mul(arg(2), arg(1)))))
  else {
    const kept = map(lowering, node, [reset, state], mul(arg(0), arg(1)))
    const made = fromState(lowering, node, kept, some(2, 1), bias && part(bias, 2, hidden))
    candidate = map(lowering, node, [part(inputs, 2, hidden), made], tanh(add(arg(0), arg(1))))
  }
  const update = map(lowering, node, gate(0), sum)
  const next = map(
    lowering,
    node,
    [update, candidate, state],
    add(mul(sub(number(1), arg(0)), arg(1)), mul(arg(0), arg(2))),
  )
  return { state: next, cell }
}

function recurrent(gates: number, step: Step): Handler {
  return (lowering, node) => {
    checkPlain(node)
    const [x, w, r] = node.inputs.slice(0, 3).map((name) => lowering.values.ref(node, name)) as [
      Ref,
      Ref,
      Ref,
    ]
    const sizes = recurrenceOf(node, gates, dimsOf(x), dimsOf(w), dimsOf(r))
    const { steps, batch, hidden, directions } = sizes
    if (steps > MAX_STEPS)
      throw unclaimed(node, `a sequence of ${steps} steps is not compiled; the maximum is ${MAX_STEPS}`)
    const wanted = (index: number, dims: readonly number[]): Value | undefined =>
      wants(node, index) ? lowering.values.make(node.outputs[index]!, 'f32', dims) : undefined
    const y = wanted(0, [steps, directions, batch, hidden])
    const ends = [1, 2].map((index) => wanted(index, [directions, batch, hidden]))
    const place = (out: Value | undefined, from: Ref, at: readonly number[]): void => {
      if (out === undefined) return
      let view = whole(out.dims)
      for (const [axis, index] of at.entries()) view = sliced(view, axis, index, 1)
      const ref = reshape(lowering, node, from, view.dims)
      lowering.add({ loop: 'place', node: node.name, mapping: 'shuffle', out, args: [ref], at: view })
    }
    for (let direction = 0; direction < directions; direction++) {
      const layer = layerOf(lowering, node, direction, sizes, gates)
      let { state, cell } = layer
      for (let done = 0; done < steps; done++) {
        const at = isBackward(node, direction) ? steps - 1 - done : done
        const inputs = reshape(
          lowering,
          node,
          { ...layer.products, view: sliced(layer.products.view, 0, at, 1) },
          [batch, gates * hidden],
        )
        const made = step(lowering, node, { ...layer, hidden, inputs, state, cell })
        state = made.state
        cell = made.cell
        place(y, state, [at, direction])
      }
      for (const [index, end] of [state, cell].entries()) place(ends[index]!, end, [direction])
    }
    for (const value of [y, ...ends]) if (value !== undefined) lowering.values.name(value.name, refTo(value))
  }
}

/** The weights of one direction, and the products of all steps, [steps, batch, gates x hidden]. */
function layerOf(
  lowering: Lowering,
  node: Node,
  direction: number,
  { steps, batch, width, hidden }: Recurrence,
  gates: number,
) {
  const rows = gates * hidden
  const ofDirection = (index: number, dims: readonly number[]): Ref => {
    const ref = lowering.values.ref(node, node.inputs[index]!)
    return reshape(lowering, node, { ...ref, view: sliced(ref.view, 0, direction, 1) }, dims)
  }
  const transposedRef = (ref: Ref): Ref => ({ ...ref, view: transposed(ref.view, [1, 0]) })
  const x = reshape(lowering, node, lowering.values.ref(node, node.inputs[0]!), [steps * batch, width])
  const weights = (index: number, width: number): Weights => ({
    floats: transposedRef(ofDirection(index, [rows, width])),
    codes: layerCodes(lowering, node, node.inputs[index]!, direction),
  })
  const made = product(lowering, node, x, weights(1, width))
  const biases = hasInput(node, 3) ? ofDirection(3, [2 * rows]) : undefined
  const half = (index: number): Ref | undefined =>
    biases && { ...biases, view: sliced(biases.view, 0, index * rows, rows) }
  const first = half(0)
  const products = first === undefined ? made : map(lowering, node, [made, first], add(arg(0), arg(1)))
  const begun = (index: number): Ref =>
    hasInput(node, index)
      ? ofDirection(index, [batch, hidden])
      : filled(lowering, node, number(0), [batch, hidden])
  const state = begun(5)
  return {
    products: reshape(lowering, node, products, [steps, batch, rows]),
    weights: weights(2, hidden),
    bias: half(1),
    state,
    cell: gates === 4 ? begun(6) : state,
  }
}

export const RECURRENT_HANDLERS = {
  LSTM: recurrent(4, lstmStep),
  GRU: recurrent(3, gruStep),
} satisfies SomeHandlers
