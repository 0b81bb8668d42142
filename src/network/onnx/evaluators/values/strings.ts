// Evaluators of operators on strings.
import type { Evaluators } from '../../evaluate.ts'
import { broadcast, broadcastIndices } from '../../ir/broadcast.ts'
import {
  type Evaluate,
  type Evaluation,
  flagOf,
  given,
  intOf,
  stringOf,
  stringsOf,
  unfit,
} from '../../ir/operator.ts'
import { MAX_ELEMENTS, type Tensor, tensorOf } from '../../ir/tensor.ts'
import { stringTensor, textsOf } from '../../ir/values.ts'

function joined(context: Evaluation): Tensor {
  const { node } = context
  const [left, right] = [given(context, 0), given(context, 1)]
  const dims = broadcast(node, [left.dims, right.dims])
  const [from, to] = [broadcastIndices(left.dims, dims), broadcastIndices(right.dims, dims)]
  const [before, after] = [textsOf(left), textsOf(right)]
  return stringTensor(
    dims,
    Array.from({ length: from.length }, (_, at) => {
      const [one, other] = [before[from[at]!]!, after[to[at]!]!]
      const length = one.length + other.length
      // A loop can double a string in each step.
      if (length > MAX_ELEMENTS) throw unfit(node, `it makes a string of ${length} characters`)
      context.spend(length)
      return one + other
    }),
  )
}

/** The parts of a text between runs of white space, of which the last has the rest after `most` splits. */
function words(text: string, most: number): string[] {
  const found: string[] = []
  let rest = text.trimStart()
  while (rest !== '') {
    const end = found.length < most ? rest.search(/\s/) : -1
    if (end < 0) return [...found, rest]
    found.push(rest.slice(0, end))
    rest = rest.slice(end).trimStart()
  }
  return found
}

function split(text: string, delimiter: string, most: number): string[] {
  if (delimiter === '') return words(text, most)
  const parts = text.split(delimiter)
  if (parts.length <= most + 1) return parts
  return [...parts.slice(0, most), parts.slice(most).join(delimiter)]
}

/** The parts of each string, filled up with empty strings, and how many it has. */
function splitAll(context: Evaluation): Tensor[] {
  const { node, spend } = context
  const input = given(context, 0)
  const asked = intOf(node, 'maxsplit', -1)
  const rows = textsOf(input).map((text) => {
    spend(text.length)
    return split(text, stringOf(node, 'delimiter', ''), asked < 0 ? Infinity : asked)
  })
  const width = rows.reduce((most, { length }) => Math.max(most, length), 0)
  const dims = [...input.dims, width]
  spend(rows.length * width)
  const texts = rows.flatMap((row) => [...row, ...new Array<string>(width - row.length).fill('')])
  return [
    stringTensor(dims, texts),
    tensorOf(
      'i64',
      input.dims,
      rows.map(({ length }) => length),
    ),
  ]
}

/**
 * Removes words, and changes the case of the others. A list from which all are removed has one empty word.
 */
function normalised(context: Evaluation): Tensor {
  const { node } = context
  const input = given(context, 0)
  const action = stringOf(node, 'case_change_action', 'NONE')
  const isRow = input.dims.length === 2 && input.dims[0] === 1
  if (input.dims.length !== 1 && !isRow) throw unfit(node, `it reads words of shape [${input.dims}]`)
  if (!['NONE', 'LOWER', 'UPPER'].includes(action)) throw unfit(node, `its case_change_action is ${action}`)
  const cased = (text: string): string =>
    action === 'LOWER' ? text.toLowerCase() : action === 'UPPER' ? text.toUpperCase() : text
  const isSensitive = flagOf(node, 'is_case_sensitive')
  const compared = (text: string): string => (isSensitive ? text : text.toLowerCase())
  const stops = new Set(stringsOf(node, 'stopwords', []).map(compared))
  const kept = textsOf(input).filter((text) => {
    context.spend(text.length)
    return !stops.has(compared(text))
  })
  const texts = kept.length === 0 ? [''] : kept.map(cased)
  return stringTensor(isRow ? [1, texts.length] : [texts.length], texts)
}

export const STRINGS: Evaluators = new Map<string, Evaluate>([
  ['StringConcat', (context) => [joined(context)]],
  ['StringSplit', splitAll],
  ['StringNormalizer', (context) => [normalised(context)]],
])
