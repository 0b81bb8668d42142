// The nodes of experts: routing rows, sorting them by expert, multiplying them, and summing them again.
import { SCORING } from '../../abi/constants.ts'
import { a8Stride, ENCODINGS, floatStride, isSparse } from '../../abi/encodings.ts'
import { HalfbyteError } from '../../base/errors.ts'
import type { RouteRule, Value, WeightRef } from '../ir.ts'
import { expectWidth, type KernelKind, nameOf, opRecord, rowsOf } from '../node.ts'

/**
 * Words of a route for each row of a step, with ample space for the leading words: see op_route in
 * wasm/core/abi.h.
 */
const routeWidth = (experts: number, used: number): number => 2 * (experts + 1) + 3 * used

/**
 * Chooses each row's experts according to a router's logits. The output is a route, which only the next four
 * ops read.
 */
export interface Route extends RouteRule {
  readonly op: 'route'
  readonly input: Value
  /** Added to scores when experts are chosen, but not to their weights. */
  readonly bias?: WeightRef | undefined
  readonly output: Value
}

export const route: KernelKind<Route> = {
  shape({ input, experts, used, bias }) {
    expectWidth(input, experts, `${experts} experts`)
    if (bias !== undefined) expectWidth(input, rowsOf(bias), nameOf(bias))
    return ['tokens', routeWidth(experts, used)]
  },
  record(node, { at, rowsAt, slotsOf }) {
    const { experts, used, normalize, scoring = 'softmax', groups, scale = 1, epsilon = 0 } = node
    const choice = {
      experts,
      used,
      normalize: normalize ? 1 : 0,
      scoring: SCORING[scoring],
      scale,
      eps: epsilon,
    }
    const { count = 1, used: groups_used = 1, best: group_best = 1 } = groups ?? {}
    const rows = { ...rowsAt({ x: node.input }), route: at(node.output), ...slotsOf({ bias: node.bias }) }
    return opRecord('route', { ...rows, ...choice, groups: count, groups_used, group_best })
  },
}

/** Copies each row, f32 or a8, once for each of its experts. The rows of an expert are adjacent. */
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
    const [, width] = input.shape
    const bytes = input.form === 'a8' ? a8Stride(width) : floatStride(width)
    return opRecord('gather', { ...rowsAt({ x: input, y: output }), n: bytes / 4, route: at(route), experts })
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
      throw new HalfbyteError(
        'unsupported',
        `experts cannot be read from ${encoding}; convert them to a dense encoding`,
      )
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

/**
 * Adds the bias of its expert to each row. The parts of `bias` are the experts' biases. Overwrites the input.
 */
export interface BiasExperts {
  readonly op: 'biasExperts'
  readonly input: Value
  readonly route: Value
  readonly bias: WeightRef
  readonly output: Value
}

export const biasExperts: KernelKind<BiasExperts> = {
  shape({ input, bias }) {
    for (const { n } of bias.parts) expectWidth(input, n, nameOf(bias))
    return input.shape
  },
  record({ output, bias, route }, { at, rowsAt, slotsOf }) {
    const rows = { ...rowsAt({ y: output }), n: output.shape[1], route: at(route) }
    return opRecord('bias_experts', { ...rows, ...slotsOf({ bias }), experts: bias.parts.length })
  },
}

/** Restores the rows of the step: each becomes the weighted sum over its experts. */
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
