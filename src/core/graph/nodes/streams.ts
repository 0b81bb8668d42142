// The nodes for residuals with several streams, and for sparse feed-forward blocks.
import { GROUP_SIZE } from '../../abi/encodings.ts'
import type { Value, WeightRef } from '../ir.ts'
import {
  broken,
  expectKind,
  expectRows,
  expectSame,
  expectWidth,
  type KernelKind,
  opRecord,
} from '../node.ts'

/**
 * Adds to each stream of x a mixture of the streams of z. Each stream has `width` numbers and starts `apart`
 * numbers after the previous one. With coefficients, per row [streams][inputs]: x[i] + sum over j of
 * (offset + c[i][j]) * z[j]; without: `offset` is the coefficient. Streams before `first` are unchanged.
 */
export interface MixStreams {
  readonly op: 'mixStreams'
  readonly x: Value
  readonly z: Value
  readonly coefficients?: Value | undefined
  readonly width: number
  readonly apart: number
  readonly offset: number
  readonly first: number
  readonly output: Value
}

export const mixStreams: KernelKind<MixStreams> = {
  shape({ x, z, coefficients, width, apart }) {
    const { streams, inputs } = countsOf(x, z, apart)
    if (!Number.isInteger(streams) || apart % GROUP_SIZE !== 0 || width > apart)
      throw broken(x, `is read as streams of ${width} numbers, ${apart} apart`)
    if (coefficients !== undefined) expectWidth(coefficients, streams * inputs, 'the streams that it mixes')
    return x.shape
  },
  record({ x, z, coefficients, width: n, apart, offset, first, output }, { rowsAt }) {
    const rows = rowsAt({ x, z, c: coefficients, y: output })
    return opRecord('mix_streams', { ...rows, n, apart, ...countsOf(x, z, apart), first, offset })
  },
}

/** A single stream has no padding up to `apart`. */
export const countsOf = (x: Value, z: Value, apart: number) => ({
  streams: x.shape[1] / apart,
  inputs: Math.max(1, Math.floor(z.shape[1] / apart)),
})

/**
 * Scales the input to the root mean square of `by`. The input's own mean square counts as at least `least`.
 */
export interface MatchRms {
  readonly op: 'matchRms'
  readonly input: Value
  readonly by: Value
  readonly least: number
  readonly output: Value
}

export const matchRms: KernelKind<MatchRms> = {
  shape({ input, by }) {
    expectSame(input, by)
    return input.shape
  },
  record({ input, by, least, output }, { rowsAt }) {
    return opRecord('match_rms', { ...rowsAt({ x: input, by, y: output }), n: input.shape[1], least })
  },
}

/** max(0, x - (mean of the row + deviations * its standard deviation)) */
export interface CutLow {
  readonly op: 'cutLow'
  readonly input: Value
  readonly deviations: number
  readonly output: Value
}

export const cutLow: KernelKind<CutLow> = {
  shape: ({ input }) => input.shape,
  record({ input, deviations, output }, { rowsAt }) {
    return opRecord('cut_low', { ...rowsAt({ x: input, y: output }), n: input.shape[1], scale: deviations })
  },
}

/** The elementwise product of the input and a vector. */
export interface Weigh {
  readonly op: 'weigh'
  readonly input: Value
  readonly weight: WeightRef
  readonly output: Value
}

export const weigh: KernelKind<Weigh> = {
  shape({ input, weight }) {
    expectRows(input, weight)
    expectKind(weight, 'vector')
    return input.shape
  },
  record({ input, weight, output }, { rowsAt, slotsOf }) {
    return opRecord('weigh', {
      ...rowsAt({ x: input, y: output }),
      ...slotsOf({ weight }),
      n: input.shape[1],
    })
  },
}
