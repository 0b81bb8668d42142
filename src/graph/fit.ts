// Fit. In: values and weights of a node. Out: nothing if they fit together; else an error with both shapes.
import { HalfbyteError } from '../base/errors.ts'
import type { Shape, Value, WeightRef } from './ir.ts'

/** Number of outputs of a weight, without padding. */
export const rowsOf = (weight: WeightRef): number => weight.parts.reduce((sum, { n }) => sum + n, 0)

export const show = ([rows, width]: Shape): string => `[${rows}, ${width}]`

export const sameShape = (left: Shape, right: Shape): boolean => left[0] === right[0] && left[1] === right[1]

export const nameOf = (weight: WeightRef): string => weight.parts.map(({ name }) => name).join(' + ')

export function expectWidth(value: Value, width: number, what: string): void {
  if (value.shape[1] !== width) throw broken(value, `meets ${what}: ${width}`)
}

/** Expects a row of the value to have one element for each output of the weight. */
export function expectRows(value: Value, weight: WeightRef): void {
  expectWidth(value, rowsOf(weight), nameOf(weight))
}

export function expectSame(left: Value, right: Value): void {
  if (!sameShape(left.shape, right.shape)) throw broken(left, `meets ${right.label} ${show(right.shape)}`)
}

export function expectForm(value: Value, form: Value['form']): void {
  if (value.form !== form) throw broken(value, `has the form ${value.form} where ${form} is read`)
}

export function expectKind(weight: WeightRef, kind: WeightRef['kind']): void {
  if (weight.kind === kind) return
  throw new HalfbyteError('internal', `the weight ${nameOf(weight)} is a ${weight.kind}, not a ${kind}`)
}

export function broken(value: Value, what: string): HalfbyteError {
  return new HalfbyteError(
    'internal',
    `the graph is inconsistent: ${value.label} ${show(value.shape)} ${what}`,
  )
}
