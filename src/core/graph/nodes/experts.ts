// The nodes of experts: routing rows, sorting them by expert, multiplying them, and summing them again.
import { ENCODINGS, isSparse } from '../../abi/encodings.ts'
import { HalfbyteError } from '../../base/errors.ts'
import type { Value, WeightRef } from '../ir.ts'
import { expectWidth, type KernelKind, nameOf, opRecord } from '../node.ts'

/**
 * Words of a route for each row of a step, with more than enough for what comes before them: see op_route in
 * wasm/core/abi.h.
 */
const routeWidth = (experts: number, used: number): number => experts + 1 + 3 * used

/**
 * Chooses the experts of each row by a router's logits. The output is a route, which only the next three ops
 * read.
 */
export interface Route {
  readonly op: 'route'
  readonly input: Value
  readonly experts: number
  readonly used: number
  readonly normalize: boolean
  readonly output: Value
}

export const route: KernelKind<Route> = {
  shape({ input, experts, used }) {
    expectWidth(input, experts, `${experts} experts`)
    return ['tokens', routeWidth(experts, used)]
  },
  record({ experts, used, normalize, input, output }, { at, rowsAt }) {
    const choice = { experts, used, normalize: normalize ? 1 : 0 }
    return opRecord('route', { ...rowsAt({ x: input }), ...choice, route: at(output) })
  },
}

/** Copies each row once for each of its experts. The rows of an expert lie together. */
export interface Gather {
  readonly op: 'gather'
  readonly input: Value
  readonly route: Value
  readonly experts: number
  readonly used: number
  readonly output: Value
}

export const gather: KernelKind<Gather> = {
  shape({ route, experts, used, input }) {
    expectWidth(route, routeWidth(experts, used), 'a route')
    return [`tokens*${used}`, input.shape[1]]
  },
  record({ experts, input, output, route }, { at, rowsAt }) {
    const rows = { ...rowsAt({ x: input, y: output }), n: input.shape[1] }
    return opRecord('gather', { ...rows, route: at(route), experts })
  },
}

/** Gathered rows times the matrix of their expert. The parts of `weight` are the experts' matrices. */
export interface LinearExperts {
  readonly op: 'linearExperts'
  readonly input: Value
  readonly route: Value
  readonly weight: WeightRef
  readonly output: Value
}

export const linearExperts: KernelKind<LinearExperts> = {
  shape({ input, weight }) {
    const [part] = weight.parts
    expectWidth(input, weight.k, nameOf(weight))
    return [input.shape[0], part?.n ?? 0]
  },
  record({ input, output, weight, route }, { at, rowsAt, slotOf }) {
    const { slot, encoding, bytes } = slotOf(weight)
    const experts = weight.parts.length
    if (isSparse(encoding)) {
      throw new HalfbyteError('unsupported', `no experts are read from ${encoding}; convert them densely`)
    }
    const rows = { ...rowsAt({ x: input, y: output }), route: at(route), experts }
    const size = {
      n: output.shape[1],
      k: weight.k,
      encoding: ENCODINGS[encoding].code,
      expert_bytes: bytes / experts,
    }
    return opRecord('linear_experts', { w: { slot }, ...size, ...rows })
  },
}

/** Goes back to the rows of the step: each is the weighted sum over its experts. */
export interface Combine {
  readonly op: 'combine'
  readonly input: Value
  readonly route: Value
  readonly experts: number
  readonly used: number
  readonly output: Value
}

export const combine: KernelKind<Combine> = {
  shape({ route, experts, used, input }) {
    expectWidth(route, routeWidth(experts, used), 'a route')
    return ['tokens', input.shape[1]]
  },
  record({ experts, used, input, output, route }, { at, rowsAt }) {
    const rows = { ...rowsAt({ x: input, y: output }), n: input.shape[1] }
    return opRecord('combine', { ...rows, route: at(route), experts, used })
  },
}
