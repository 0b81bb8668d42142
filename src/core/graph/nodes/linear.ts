// The nodes of linear layers: the product of rows and a matrix, and the gated product with a matrix of two
// halves.
import { ACTIVATION } from '../../abi/constants.ts'
import { ENCODINGS, isSparse, ROW_PADDING, roundUp } from '../../abi/encodings.ts'
import { HalfbyteError } from '../../base/errors.ts'
import type { Activation, Shape, Value, WeightRef } from '../ir.ts'
import {
  broken,
  expectForm,
  expectKind,
  expectWidth,
  type KernelKind,
  nameOf,
  opRecord,
  rowsOf,
  sameShape,
  show,
} from '../node.ts'

/** With `residual`, adds the product to it and so overwrites it. */
export interface Linear {
  readonly op: 'linear'
  readonly input: Value
  readonly output: Value
  readonly weight: WeightRef
  readonly bias?: WeightRef | undefined
  readonly residual?: Value | undefined
}

export const linear: KernelKind<Linear> = {
  shape(spec) {
    const shape = productShape(spec)
    if (spec.residual !== undefined && !sameShape(spec.residual.shape, shape)) {
      throw broken(spec.residual, `is added to a product of ${show(shape)}`)
    }
    return shape
  },
  record({ input, output, weight, bias, residual }, { rowsAt, slotOf, slotsOf }) {
    const { encoding } = slotOf(weight)
    const fields = {
      ...slotsOf({ w: weight, bias }),
      ...rowsAt({ x: input, y: output }),
      n: columnsOf(weight),
      k: weight.k,
      accumulate: residual === undefined ? 0 : 1,
    }
    return isSparse(encoding)
      ? opRecord('linear_sparse', { ...fields, encoding: ENCODINGS[encoding].code })
      : opRecord(ENCODINGS[encoding].linear, fields)
  },
}

/**
 * `swiglu` of the two halves of a linear, written only as a8 rows: neither the product nor its gates are
 * stored. `fuseGates` creates this node from linears that read a8 rows.
 */
export interface LinearSwiglu {
  readonly op: 'linearSwiglu'
  readonly input: Value
  readonly weight: WeightRef
  readonly bias?: WeightRef | undefined
  readonly activation: Activation
  readonly output?: undefined
  readonly quantized: Value
}

export const linearSwiglu: KernelKind<LinearSwiglu> = {
  shape(spec) {
    const [rows, columns] = productShape(spec)
    expectForm(spec.input, 'a8')
    return [rows, columns / 2]
  },
  record({ input, quantized, weight, bias, activation }, { rowsAt, slotOf, slotsOf }) {
    const { encoding } = slotOf(weight)
    const fields = {
      ...slotsOf({ w: weight, bias }),
      ...rowsAt({ x: input, q: quantized }),
      n: quantized.shape[1],
      k: weight.k,
      activation: ACTIVATION[activation],
    }
    if (isSparse(encoding)) {
      return opRecord('linear_swiglu_sparse', { ...fields, encoding: ENCODINGS[encoding].code })
    }
    const entry = ENCODINGS[encoding]
    if ('gated' in entry) return opRecord(entry.gated, fields)
    throw new HalfbyteError('internal', `gated linears cannot read ${encoding}`)
  },
}

function productShape({ input, weight, bias }: Pick<Linear, 'input' | 'weight' | 'bias'>): Shape {
  expectWidth(input, weight.k, nameOf(weight))
  expectKind(weight, 'matrix')
  if (bias !== undefined) {
    expectKind(bias, 'vector')
    const fits =
      bias.parts.length === weight.parts.length &&
      bias.parts.every((part, index) => part.n === weight.parts[index]?.n)
    if (!fits) {
      throw new HalfbyteError(
        'internal',
        `the bias ${nameOf(bias)} has the parts [${bias.parts.map(({ n }) => n)}] ` +
          `but its matrix has [${weight.parts.map(({ n }) => n)}]`,
      )
    }
  }
  return [input.shape[0], rowsOf(weight)]
}

/** Columns of the output up to the weight's last row: all parts but the last are padded. */
function columnsOf({ parts }: WeightRef): number {
  return parts.reduce((end, { n }) => roundUp(end, ROW_PADDING) + n, 0)
}
