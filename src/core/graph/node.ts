// What each node file defines: a shape rule and, if the node has a kernel, its record. Also checks that
// values and weights match.

import type { PackedEncoding } from '../abi/encodings.ts'
import type { OpFields, OpName } from '../abi/ops.ts'
import { HalfbyteError } from '../base/errors.ts'
import type { AttentionShape, Shape, Value, WeightRef } from './ir.ts'
import type { PlanOp, PlanPointer } from './plan/plan.ts'

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
  if (value.form !== form) throw broken(value, `has the form ${value.form} where ${form} is expected`)
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

/** A node before its outputs are created. */
export type SpecOf<N> = N extends unknown ? Omit<N, 'output' | 'quantized'> : never

/** A kind of node that lower.ts turns into several records or none. */
export interface NodeKind<N> {
  /** The shape of the output. Throws `internal` with both shapes if the inputs do not match. */
  shape(spec: SpecOf<N>): Shape
}

/** A kind of node that has a kernel. */
export interface KernelKind<N> extends NodeKind<N> {
  /** The node's op and the fields of its record, except `rows`. */
  record(node: N, at: Addresses): OpRecord
}

export type Word = number | PlanPointer
/** The words of some fields. */
export type Fields<Names extends string> = Readonly<Record<Names, Word>>
/** An op and its fields, except `rows`. */
export type OpRecord = readonly [OpName, PlanOp['fields']]

/** Fails to compile if a field of the op is missing. */
export const opRecord = <N extends OpName>(name: N, fields: OpFields<N, Word>): OpRecord => [name, fields]

/** Where a node finds its rows, weights and state. */
export interface Addresses {
  /** Two fields for each value's rows. Both are zero if the kernel need not write them. */
  rowsAt<Name extends string>(
    values: Readonly<Record<Name, Value | undefined>>,
  ): Fields<Name | `${Name}_stride`>
  /** The first row of a value. */
  at(value: Value): PlanPointer & { readonly arena: number }
  /** One field per weight. 0 for a weight that the node lacks. */
  slotsOf<Name extends string>(weights: Readonly<Record<Name, WeightRef | undefined>>): Fields<Name>
  slotOf(weight: WeightRef): {
    readonly slot: number
    readonly encoding: PackedEncoding
    readonly bytes: number
  }
  /** Where the keys and values of a layer are, and how they are stored. */
  stateOf(attention: AttentionShape): Fields<'group' | 'k_offset' | 'v_offset' | 'k_format' | 'v_format'>
  /** The offset of the node's recurrent state in a sequence's slab. */
  slab(): Fields<'group' | 'state_offset'>
  /** The node's scratch memory. */
  room(): PlanPointer
}
