// Recurrent layers: a state that passes from step to step of a sequence, forwards, backwards or both ways.

import type { Dim } from '../ir/dims.ts'
import { hasInput, type Node, type Type } from '../ir/graph.ts'
import {
  define,
  flagOf,
  type Inference,
  intOf,
  type Operator,
  stringOf,
  unclaimed,
  unfit,
} from '../ir/operator.ts'
import { FLOATS } from '../ir/tensor.ts'

/** Sizes of a layer: steps, batch rows, input width, hidden size, and its directions. */
export interface Recurrence {
  readonly steps: number
  readonly batch: number
  readonly width: number
  readonly hidden: number
  readonly directions: number
}

const DIRECTIONS = ['forward', 'reverse', 'bidirectional']

function directionsOf(node: Node): number {
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
 * hidden]. Throws `format` for mismatched sizes, `unsupported` for sequences of different lengths and for
 * peepholes.
 */
export function recurrenceOf(
  node: Node,
  gates: number,
  x: readonly number[],
  weights: readonly number[],
  states: readonly number[],
): Recurrence {
  if (hasInput(node, 4)) throw unclaimed(node, 'its sequences have different lengths')
  if (hasInput(node, 7)) throw unclaimed(node, 'it has peepholes')
  if (flagOf(node, 'layout') || flagOf(node, 'input_forget'))
    throw unclaimed(node, 'it has the batch axis before steps, or coupled input and forget gates')
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
})

const gru: Operator = define({
  ...LAYER,
  name: 'GRU',
  inputs: [3, 6],
  outputs: [1, 2],
  attributes: { ...ATTRIBUTES, linear_before_reset: 'int' },
})

const rnn: Operator = define({
  ...LAYER,
  name: 'RNN',
  inputs: [3, 6],
  outputs: [0, 2],
  attributes: ATTRIBUTES,
})

export const RECURRENT: readonly Operator[] = [lstm, gru, rnn]
