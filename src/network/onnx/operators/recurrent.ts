// Recurrent layers: a state that passes from step to step of a sequence, forwards, backwards or both ways.

import type { Dim } from '../ir/dims.ts'
import { hasInput, type Node, type Type } from '../ir/graph.ts'
import {
  define,
  flagOf,
  floatOf,
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

/** Whether the batch axis comes first in the input, the outputs and the states. */
export const isBatchFirst = (node: Node): boolean => flagOf(node, 'layout')

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
 * `x` [steps, batch, width], or [batch, steps, width] with `layout`; weights [directions, gates x hidden,
 * width] and [directions, gates x hidden, hidden]. Throws `format` for mismatched sizes.
 */
export function recurrenceOf(
  node: Node,
  gates: number,
  x: readonly number[],
  weights: readonly number[],
  states: readonly number[],
): Recurrence {
  const [steps = 0, batch = 0] = isBatchFirst(node) ? [x[1], x[0]] : x
  const width = x[2] ?? 0
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

/** Throws `unsupported` for forms of a layer that are evaluated but not compiled. */
export function checkPlain(node: Node): void {
  const forms = [
    [hasInput(node, 4), 'its sequences have different lengths'],
    [hasInput(node, 7), 'it has peepholes'],
    [isBatchFirst(node), 'it has the batch axis before steps'],
    [flagOf(node, 'input_forget'), 'it has coupled input and forget gates'],
    [floatOf(node, 'clip', 0) !== 0, 'it clips its gates'],
    [node.attributes.has('activations'), 'it names its activations'],
  ] as const
  for (const [isMeant, what] of forms) if (isMeant) throw unclaimed(node, what)
}

function inferRecurrent({ node, inputs: [x, , states] }: Inference): (Type | undefined)[] {
  const dtype = x?.dtype
  if (dtype === undefined) return []
  const isFirst = isBatchFirst(node)
  const [steps, batch] = isFirst ? [x?.dims?.[1], x?.dims?.[0]] : (x?.dims ?? [])
  const hidden = states?.dims?.[2]
  const isKnown = steps !== undefined && batch !== undefined && hidden !== undefined
  const directions = directionsOf(node)
  const dims = (inTurn: readonly Dim[], batchFirst: readonly Dim[]) =>
    isKnown ? (isFirst ? batchFirst : inTurn) : undefined
  const last = {
    dtype,
    dims: dims([directions, batch!, hidden!], [batch!, directions, hidden!]),
  }
  const all = dims([steps!, directions, batch!, hidden!], [batch!, steps!, directions, hidden!])
  return [{ dtype, dims: all }, last, last].slice(0, node.outputs.length)
}

const LAYER = {
  since: 7,
  dtypes: [FLOATS, FLOATS, FLOATS, FLOATS, ['i32'], FLOATS],
  infer: inferRecurrent,
} as const

const ATTRIBUTES = {
  activation_alpha: 'floats',
  activation_beta: 'floats',
  activations: 'strings',
  clip: 'float',
  direction: 'string',
  hidden_size: 'int',
  layout: 'int',
} as const

const lstm: Operator = define({
  ...LAYER,
  name: 'LSTM',
  inputs: [3, 8],
  outputs: [0, 3],
  attributes: { ...ATTRIBUTES, input_forget: 'int' },
})

const gru: Operator = define({
  ...LAYER,
  name: 'GRU',
  inputs: [3, 6],
  outputs: [0, 2],
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
