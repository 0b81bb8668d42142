// Einsum: sums of products over the letters that the result lacks.

import { walk } from '../ir/broadcast.ts'
import type { Dim } from '../ir/dims.ts'
import type { Node } from '../ir/graph.ts'
import { define, type Evaluation, given, type Operator, stringOf, unclaimed, unfit } from '../ir/operator.ts'
import { countOf, FLOATS, reader, stridesOf, type Tensor, writer, zeros } from '../ir/tensor.ts'

interface Equation {
  /**
   * The letters of each input. An ellipsis is represented by upper-case Greek letters, assigned from the
   * last axis backwards.
   */
  readonly inputs: readonly string[]
  readonly output: string
}

const DOTS = 'ΑΒΓΔΕΖΗΘ'
const DOTS_USED = new RegExp(`[${DOTS}]`)

/** The equation with a letter for every axis, given the inputs' ranks. */
export function equationOf(node: Node, ranks: readonly number[]): Equation {
  const [left = '', right] = stringOf(node, 'equation', '').replaceAll(' ', '').split('->')
  const terms = left.split(',')
  if (terms.length !== ranks.length)
    throw unfit(node, `its equation has ${terms.length} terms for ${ranks.length} inputs`)
  let most = 0
  const inputs = terms.map((term, at) => {
    const missing = ranks[at]! - term.replace('...', '').length
    const isFit = term.includes('...') ? missing >= 0 : missing === 0
    if (!isFit || !/^[a-zA-Z]*(\.\.\.)?[a-zA-Z]*$/.test(term))
      throw unfit(node, `its term ${term} does not fit an input of ${ranks[at]} dimensions`)
    if (missing > DOTS.length) throw unclaimed(node, `its ellipsis stands for ${missing} axes`)
    most = Math.max(most, missing)
    return term.replace('...', DOTS.slice(DOTS.length - missing))
  })
  const dots = DOTS.slice(DOTS.length - most)
  const output = right?.replace('...', dots) ?? dots + lone(inputs)
  const isKnown = [...output].every(
    (letter, at) => output.indexOf(letter) === at && inputs.some((term) => term.includes(letter)),
  )
  if (!isKnown) throw unfit(node, `its equation's result ${right} names unknown axes or one axis twice`)
  return { inputs, output }
}

/** Without an arrow, the result has the letters that occur once, in alphabetical order. */
const lone = (inputs: readonly string[]): string =>
  [...inputs.join('')]
    .filter((letter, _, all) => !DOTS.includes(letter) && all.filter((each) => each === letter).length === 1)
    .sort()
    .join('')

/** The size of each letter. Axes of an ellipsis broadcast. */
export function sizesOf<D extends Dim>(
  node: Node,
  inputs: readonly string[],
  shapes: readonly (readonly D[])[],
): Map<string, D> {
  const sizes = new Map<string, D>()
  for (const [index, term] of inputs.entries()) {
    for (const [axis, letter] of [...term].entries()) {
      const own = shapes[index]![axis]!
      const known = sizes.get(letter)
      if (known === undefined || known === 1) sizes.set(letter, own)
      else if (own !== known && own !== 1 && typeof own === 'number' && typeof known === 'number')
        throw unfit(node, `sizes ${known} and ${own} of ${letter} in its equation differ`)
    }
  }
  return sizes
}

const einsum: Operator = define({
  name: 'Einsum',
  since: 12,
  inputs: [1, 8],
  attributes: { equation: 'string' },
  dtypes: [[...FLOATS, 'i32']],
  infer({ node, inputs }) {
    const dtype = inputs[0]?.dtype
    const shapes = inputs.map((input) => input?.dims)
    if (dtype === undefined) return [undefined]
    if (!shapes.every((dims) => dims !== undefined)) return [{ dtype }]
    const equation = equationOf(
      node,
      shapes.map(({ length }) => length),
    )
    // Which of two symbols is the size of an ellipsis axis depends on which one is 1.
    const isSure = shapes.flat().every((size) => typeof size === 'number')
    if (!isSure && DOTS_USED.test(equation.inputs.join(''))) return [{ dtype }]
    const sizes = sizesOf(node, equation.inputs, shapes)
    return [{ dtype, dims: [...equation.output].map((letter) => sizes.get(letter)!) }]
  },
  evaluate: (context) => [evaluateEinsum(context)],
})

function evaluateEinsum(context: Evaluation): Tensor {
  const { node } = context
  const inputs = context.inputs.map((_, index) => given(context, index))
  const equation = equationOf(
    node,
    inputs.map(({ dims }) => dims.length),
  )
  const sizes = sizesOf(
    node,
    equation.inputs,
    inputs.map(({ dims }) => dims),
  )
  const summed = [...sizes.keys()].filter((letter) => !equation.output.includes(letter))
  const dims = [...equation.output].map((letter) => sizes.get(letter)!)
  const inner = summed.map((letter) => sizes.get(letter)!)
  const made = zeros(inputs[0]!.dtype, dims)
  context.spend(made.data.length * countOf(inner) * inputs.length)
  const steps = (term: string, own: Tensor, letters: Iterable<string>): number[] => {
    const strides = stridesOf(own.dims)
    return [...letters].map((letter) =>
      [...term].reduce(
        (sum, each, axis) => sum + (each === letter && own.dims[axis] !== 1 ? strides[axis]! : 0),
        0,
      ),
    )
  }
  const sides = inputs.map((own, index) => ({
    read: reader(own),
    starts: walk(dims, steps(equation.inputs[index]!, own, equation.output)),
    along: walk(inner, steps(equation.inputs[index]!, own, summed)),
  }))
  const write = writer(made)
  for (let at = 0; at < made.data.length; at++) {
    let total = 0
    for (let next = 0; next < countOf(inner); next++)
      total += sides.reduce((each, { read, starts, along }) => each * read(starts[at]! + along[next]!), 1)
    write(at, total)
  }
  return made
}

export const EINSUM: readonly Operator[] = [einsum]
