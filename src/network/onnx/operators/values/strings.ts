// Operators that make strings of strings.

import { broadcastDims } from '../../ir/broadcast.ts'
import { define, type Operator } from '../../ir/operator.ts'

const STRING = ['string'] as const

export const STRINGS: readonly Operator[] = [
  define({
    name: 'StringConcat',
    since: 20,
    inputs: [2, 2],
    dtypes: [STRING],
    infer: ({ node, inputs }) => [
      {
        dtype: 'string',
        dims: broadcastDims(
          node,
          inputs.map((input) => input?.dims),
        ),
      },
    ],
  }),
  define({
    name: 'StringSplit',
    since: 20,
    outputs: [1, 2],
    attributes: { delimiter: 'string', maxsplit: 'int' },
    dtypes: [STRING],
    // The second output counts the parts of each string.
    infer: ({ inputs: [input] }) => [{ dtype: 'string' }, { dtype: 'i64', dims: input?.dims }],
  }),
  define({
    name: 'StringNormalizer',
    since: 10,
    attributes: {
      case_change_action: 'string',
      is_case_sensitive: 'int',
      locale: 'string',
      stopwords: 'strings',
    },
    dtypes: [STRING],
    infer: () => [{ dtype: 'string' }],
  }),
]
