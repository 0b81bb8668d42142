// Sequences and optional values. Passes replace them by tensors as soon as lengths and positions are known.
import type { Type } from '../../ir/graph.ts'
import { define, graphOf, type Inference, intOf, type Operator, unclaimed, unfit } from '../../ir/operator.ts'
import { dtypeNumbered, MOVED_DTYPES, VALUE_DTYPES } from '../../ir/tensor.ts'

const POSITION = ['i32', 'i64'] as const
const SEQUENCE = ['sequence'] as const

const sequence = (item: Type | undefined): Type => ({
  dtype: 'sequence',
  item: item && { dtype: item.dtype },
})

/** What is known of the tensors in the first input. */
const itemOf = ({ inputs: [input] }: Inference): Type | undefined => input?.item

const ofSequence = (definition: Omit<Parameters<typeof define>[0], 'since'>): Operator =>
  define({ ...definition, since: 11 })

/** The element that a position from the end or the start means; undefined if it is none of `count`. */
export function placeOf(position: number, count: number): number | undefined {
  const place = position < 0 ? position + count : position
  return Number.isInteger(place) && place >= 0 && place < count ? place : undefined
}

/** Whether parts of these sizes make up an axis. */
export const areParts = (parts: readonly number[], size: number): boolean =>
  parts.reduce((sum, part) => sum + part, 0) === size && parts.every((part) => part >= 0)

/** The sizes of the parts of an axis: `asked` is the input `split`, or undefined for parts of one element. */
export function partsOf(size: number, asked: readonly number[] | undefined, isScalar: boolean): number[] {
  if (asked !== undefined && !isScalar) return [...asked]
  const part = asked?.[0] ?? 1
  if (!(part >= 1)) return []
  return Array.from({ length: Math.ceil(size / part) }, (_, at) => Math.min(part, size - at * part))
}

const MAPPED = { name: 'SequenceMap', inputs: [1, Infinity], outputs: [1, Infinity] } as const

const sequenceMap: Operator = define({
  ...MAPPED,
  since: 17,
  attributes: { body: 'graph' },
  dtypes: [SEQUENCE, VALUE_DTYPES],
  infer({ node, inputs, subgraph }) {
    const body = graphOf(node, 'body')
    if (body === undefined) throw unfit(node, 'its graph body is missing')
    return subgraph(
      body,
      inputs.map((type) => (type?.dtype === 'sequence' ? type.item : type)),
    ).map(sequence)
  },
})

export const SEQUENCES: readonly Operator[] = [
  ofSequence({
    name: 'SequenceEmpty',
    inputs: [0, 0],
    attributes: { dtype: 'int' },
    dtypes: [],
    infer({ node }) {
      const number = intOf(node, 'dtype', 1)
      const dtype = dtypeNumbered(number)
      if (dtype === undefined) throw unclaimed(node, `its dtype is the ONNX data type ${number}`)
      return [sequence({ dtype })]
    },
  }),
  ofSequence({
    name: 'SequenceConstruct',
    inputs: [1, Infinity],
    dtypes: [MOVED_DTYPES],
    infer: ({ inputs: [first] }) => [sequence(first)],
  }),
  ofSequence({
    name: 'SequenceInsert',
    inputs: [2, 3],
    dtypes: [SEQUENCE, MOVED_DTYPES, POSITION],
    infer: ({ inputs: [list, item] }) => [sequence(list?.item ?? item)],
  }),
  ofSequence({
    name: 'SequenceErase',
    inputs: [1, 2],
    dtypes: [SEQUENCE, POSITION],
    infer: (context) => [sequence(itemOf(context))],
  }),
  ofSequence({
    name: 'SequenceAt',
    inputs: [2, 2],
    dtypes: [SEQUENCE, POSITION],
    infer: (context) => [itemOf(context)],
  }),
  ofSequence({
    name: 'SequenceLength',
    dtypes: [SEQUENCE],
    infer: () => [{ dtype: 'i64', dims: [] }],
  }),
  ofSequence({
    name: 'SplitToSequence',
    inputs: [1, 2],
    attributes: { axis: 'int', keepdims: 'int' },
    dtypes: [MOVED_DTYPES, POSITION],
    infer: ({ inputs: [input] }) => [sequence(input)],
  }),
  ofSequence({
    name: 'ConcatFromSequence',
    attributes: { axis: 'int', new_axis: 'int' },
    dtypes: [SEQUENCE],
    infer: (context) => [itemOf(context)],
  }),
  sequenceMap,
  define({
    name: 'Optional',
    since: 15,
    inputs: [0, 1],
    dtypes: [VALUE_DTYPES],
    infer: ({ inputs: [input] }) => [input],
  }),
  define({
    name: 'OptionalGetElement',
    since: 15,
    dtypes: [VALUE_DTYPES],
    infer: ({ inputs: [input] }) => [input],
  }),
  define({
    name: 'OptionalHasElement',
    since: 15,
    inputs: [0, 1],
    dtypes: [VALUE_DTYPES],
    infer: () => [{ dtype: 'bool', dims: [] }],
  }),
]
