// Evaluators of sequences and optional values.
import type { Evaluators } from '../../evaluate.ts'
import { axisOf } from '../../ir/broadcast.ts'
import {
  type Evaluate,
  type Evaluation,
  flagOf,
  given,
  graphOf,
  intOf,
  scalarOf,
  unfit,
} from '../../ir/operator.ts'
import { countOf, numbersOf, type Tensor, tensorOf, zeros } from '../../ir/tensor.ts'
import { NONE, sequenceOf } from '../../ir/values.ts'
import { stack } from '../../operators/flow.ts'
import { evaluateConcat } from '../../operators/shapes.ts'
import { areParts, partsOf, placeOf } from '../../operators/values/sequences.ts'

const itemsOf = (context: Evaluation): readonly Tensor[] => given(context, 0).items ?? []

/** The place that an input names. `omitted`: the default; `count`: how many places there are. */
function place({ node, inputs }: Evaluation, input: number, omitted: number, count: number): number {
  const position = scalarOf(inputs[input]) ?? omitted
  const found = placeOf(position, count)
  if (found === undefined) throw unfit(node, `it names place ${position} of ${count}`)
  return found
}

/** Inserting at the end is allowed, so a sequence has one more place than elements. */
function inserted(context: Evaluation): Tensor {
  const items = itemsOf(context)
  context.spend(items.length)
  const position = scalarOf(context.inputs[2]) ?? items.length
  const at = position === items.length ? position : place(context, 2, 0, items.length)
  return sequenceOf(items.toSpliced(at, 0, given(context, 1)))
}

function erased(context: Evaluation): Tensor {
  const items = itemsOf(context)
  context.spend(items.length)
  return sequenceOf(items.toSpliced(place(context, 1, -1, items.length), 1))
}

function split({ node, inputs, spend }: Evaluation): Tensor {
  const data = given({ node, inputs }, 0)
  const axis = axisOf(node, intOf(node, 'axis', 0), data.dims.length)
  const size = data.dims[axis]!
  const asked = inputs[1] && numbersOf(inputs[1])
  if (asked === undefined || inputs[1]?.dims.length === 0) spend(size)
  const parts = partsOf(size, asked, inputs[1]?.dims.length === 0)
  if (!areParts(parts, size)) throw unfit(node, `it splits an axis of ${size} elements into ${asked}`)
  const isKept = inputs[1] !== undefined || flagOf(node, 'keepdims', true)
  spend(data.data.length + parts.length)
  let from = 0
  return sequenceOf(
    parts.map((part) => {
      from += part
      const made = sliced(data, axis, from - part, part)
      return isKept ? made : { ...made, dims: made.dims.toSpliced(axis, 1) }
    }),
  )
}

function sliced({ dtype, dims, data }: Tensor, axis: number, from: number, count: number): Tensor {
  const inner = countOf(dims.slice(axis + 1))
  const made = zeros(dtype, dims.with(axis, count))
  const outer = countOf(dims.slice(0, axis))
  for (let block = 0; block < outer; block++) {
    const start = (block * dims[axis]! + from) * inner
    made.data.set(data.subarray(start, start + count * inner) as never, block * count * inner)
  }
  return made
}

/** Joins along an axis that all have, or stacks along a new one. */
function joined(context: Evaluation): Tensor {
  const { node } = context
  const items = itemsOf(context)
  if (items.length === 0) throw unfit(node, 'its sequence is empty')
  context.spend(items.reduce((sum, { data }) => sum + data.length, 0))
  if (flagOf(node, 'new_axis')) return stack(node, items, intOf(node, 'axis', 0))
  return evaluateConcat({ ...context, inputs: items })
}

/**
 * Runs the body for each element of the first sequence, with the elements of the others at the same place.
 */
function mapped(context: Evaluation): readonly Tensor[] {
  const { node, inputs, run } = context
  const body = graphOf(node, 'body')
  const count = itemsOf(context).length
  if (body === undefined || body.inputs.length !== inputs.length)
    throw unfit(node, `its body has ${body?.inputs.length} inputs instead of ${inputs.length}`)
  const lengths = inputs.flatMap((input) => input?.items?.length ?? [])
  if (lengths.some((length) => length !== count)) throw unfit(node, `its sequences have ${lengths} elements`)
  const steps = Array.from({ length: count }, (_, at) =>
    run(
      body,
      inputs.map((_, input) => {
        const value = given(context, input)
        return value.items?.[at] ?? value
      }),
    ),
  )
  return node.outputs.map((_, output) =>
    sequenceOf(
      steps.map((made) => {
        const item = made[output]
        if (item !== undefined && item.dtype !== 'sequence' && item.dtype !== 'none') return item
        throw unfit(node, `its body makes no tensor for output ${output}`)
      }),
    ),
  )
}

const isPresent = ({ inputs: [value] }: Evaluation): boolean => value !== undefined && value.dtype !== 'none'

function element(context: Evaluation): Tensor {
  if (!isPresent(context)) throw unfit(context.node, 'its value is absent')
  return given(context, 0)
}

export const SEQUENCES: Evaluators = new Map<string, Evaluate>([
  ['SequenceEmpty', () => [sequenceOf([])]],
  ['SequenceConstruct', (context) => [sequenceOf(context.inputs.map((_, at) => given(context, at)))]],
  ['SequenceInsert', (context) => [inserted(context)]],
  ['SequenceErase', (context) => [erased(context)]],
  ['SequenceAt', (context) => [itemsOf(context)[place(context, 1, 0, itemsOf(context).length)]]],
  ['SequenceLength', (context) => [tensorOf('i64', [], [itemsOf(context).length])]],
  ['SplitToSequence', (context) => [split(context)]],
  ['ConcatFromSequence', (context) => [joined(context)]],
  ['SequenceMap', mapped],
  ['Optional', ({ inputs: [value] }) => [value ?? NONE]],
  ['OptionalGetElement', (context) => [element(context)]],
  ['OptionalHasElement', (context) => [tensorOf('bool', [], [Number(isPresent(context))])]],
])
