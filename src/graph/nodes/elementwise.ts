// Elementwise nodes. In: rows. Out: gated, added or scaled rows of the same shape.
import { ACTIVATION } from '../../abi/constants.ts'
import { expectSame } from '../fit.ts'
import type { Activation, Quantizable, Value } from '../ir.ts'
import { type KernelKind, opRecord } from '../node.ts'

/** activation(gate) * up. Without `up`: activation(gate). */
export interface Swiglu extends Quantizable {
  readonly op: 'swiglu'
  readonly gate: Value
  readonly up?: Value | undefined
  readonly activation: Activation
}

export const swiglu: KernelKind<Swiglu> = {
  shape({ gate, up }) {
    if (up !== undefined) expectSame(gate, up)
    return gate.shape
  },
  record({ gate, up, output, quantized, activation }, { rowsAt }) {
    const rows = rowsAt({ gate, up, y: output, q: quantized })
    return opRecord('swiglu', { ...rows, n: gate.shape[1], activation: ACTIVATION[activation] })
  },
}

/** left + scale * right */
export interface Add {
  readonly op: 'add'
  readonly left: Value
  readonly right: Value
  readonly scale: number
  readonly output: Value
}

export const add: KernelKind<Add> = {
  shape({ left, right }) {
    expectSame(left, right)
    return left.shape
  },
  record({ left, right, output, scale }, { at, rowsAt }) {
    const other = at(output).arena === at(left).arena ? right : left
    return opRecord('add', { ...rowsAt({ x: other, y: output }), n: output.shape[1], scale })
  },
}

/** input * scale, then soft-capped as attention scores are. */
export interface Rescale {
  readonly op: 'rescale'
  readonly input: Value
  readonly scale: number
  readonly cap: number
  readonly output: Value
}

export const rescale: KernelKind<Rescale> = {
  shape: ({ input }) => input.shape,
  record({ scale, cap, output }, { rowsAt }) {
    return opRecord('rescale', { ...rowsAt({ y: output }), n: output.shape[1], scale, cap })
  },
}
