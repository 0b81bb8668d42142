// Shapes. In: a node, or a graph. Out: the shape of the node's output; an error for an inconsistent graph.

import { GROUP_SIZE, roundUp } from '../abi/encodings.ts'
import { HalfbyteError } from '../base/errors.ts'
import type { Graph, Node, Shape, Value, WeightRef } from './ir.ts'
import { inputsOf, outputsOf } from './nodes.ts'

/** A node before its outputs are made. */
export type NodeSpec = Node extends infer N
  ? N extends Node
    ? Omit<N, 'output' | 'quantized'>
    : never
  : never

/** Number of outputs of a weight, without padding. */
export const rowsOf = (weight: WeightRef): number => weight.parts.reduce((sum, { n }) => sum + n, 0)

/** The shape of a node's output. Throws `internal` with both shapes when its inputs do not fit together. */
export function inferShape(spec: NodeSpec): Shape {
  switch (spec.op) {
    case 'embed':
      expectKind(spec.table, 'matrix')
      return ['tokens', spec.table.k]
    case 'rmsnorm':
    case 'layernorm':
      checkParts(spec)
      expectWidth(spec.input, rowsOf(spec.weight), nameOf(spec.weight))
      expectKind(spec.weight, 'vector')
      if ('bias' in spec && spec.bias) expectWidth(spec.input, rowsOf(spec.bias), nameOf(spec.bias))
      return spec.input.shape
    case 'linear':
      return linearShape(spec)
    case 'linearSwiglu': {
      const [rows, columns] = linearShape({ ...spec, op: 'linear' })
      expectForm(spec.input, 'a8')
      return [rows, columns / 2]
    }
    case 'quantize':
      expectForm(spec.input, 'f32')
      return spec.input.shape
    case 'slice':
      if (spec.start >= 0 && spec.start + spec.width <= spec.input.shape[1]) {
        return [spec.input.shape[0], spec.width]
      }
      throw broken(spec.input, `is cut at [${spec.start}, ${spec.start + spec.width})`)
    case 'ropeKv': {
      const { heads, kvHeads, headDim } = spec.attention
      expectWidth(spec.q, heads * headDim, `${heads} heads of ${headDim}`)
      expectWidth(spec.k, kvHeads * headDim, `${kvHeads} heads of ${headDim}`)
      expectWidth(spec.v, kvHeads * headDim, `${kvHeads} heads of ${headDim}`)
      checkHeadNorms(spec)
      if (spec.rope.dims > headDim) throw broken(spec.q, `rotates ${spec.rope.dims} of ${headDim} dimensions`)
      return spec.q.shape
    }
    case 'attention': {
      const { heads, headDim } = spec.attention
      expectWidth(spec.input, heads * headDim, `${heads} heads of ${headDim}`)
      return spec.input.shape
    }
    case 'swiglu':
      if (spec.up !== undefined) expectSame(spec.gate, spec.up)
      return spec.gate.shape
    case 'conv1d':
      expectKind(spec.weight, 'matrix')
      expectWidth(spec.input, rowsOf(spec.weight), nameOf(spec.weight))
      if (spec.bias !== undefined) expectWidth(spec.input, rowsOf(spec.bias), nameOf(spec.bias))
      return spec.input.shape
    case 'scan':
      return scanShape(spec)
    case 'ssd':
      return ssdShape(spec)
    case 'rescale':
      return spec.input.shape
    case 'route':
      expectWidth(spec.input, spec.experts, `${spec.experts} experts`)
      return ['tokens', routeWidth(spec.experts, spec.used)]
    case 'gather':
      expectWidth(spec.route, routeWidth(spec.experts, spec.used), 'a route')
      return [`tokens*${spec.used}`, spec.input.shape[1]]
    case 'linearExperts': {
      const [part] = spec.weight.parts
      expectWidth(spec.input, spec.weight.k, nameOf(spec.weight))
      return [spec.input.shape[0], part?.n ?? 0]
    }
    case 'combine':
      expectWidth(spec.route, routeWidth(spec.experts, spec.used), 'a route')
      return ['tokens', spec.input.shape[1]]
    case 'add':
      expectSame(spec.left, spec.right)
      return spec.left.shape
    case 'exchange':
      if (spec.residual !== undefined) expectSame(spec.input, spec.residual)
      return spec.input.shape
    case 'renorm': {
      const summed = roundUp(spec.width, GROUP_SIZE) + 1
      expectWidth(spec.input, spec.x === undefined ? summed : spec.width, 'a norm')
      if (spec.x !== undefined) expectWidth(spec.x, spec.size, 'its own norm')
      return [spec.input.shape[0], spec.x === undefined ? spec.width : summed]
    }
    case 'collect': {
      const [rows] = spec.input.shape
      const own = spec.widths[spec.shard] ?? 0
      expectWidth(spec.input, own, `the columns of shard ${spec.shard}`)
      return [rows, spec.shard === 0 ? spec.widths.reduce((sum, width) => sum + width, 0) : own]
    }
    case 'takeRows':
      if (spec.input.shape[0] !== 'tokens') throw broken(spec.input, 'has no token rows to take')
      return ['logitRows', spec.input.shape[1]]
    default:
      return spec satisfies never
  }
}

const READ_A8: ReadonlySet<Node['op']> = new Set(['linear', 'linearSwiglu', 'linearExperts'])

/**
 * Words of a route for each row of a step, with more than enough for what comes before them: see op_route in
 * wasm/core/abi.h.
 */
const routeWidth = (experts: number, used: number): number => experts + 1 + 3 * used

/**
 * Throws `internal` unless every value is made once, before it is read, with the shape that its node gives
 * it.
 */
export function checkShapes(graph: Graph): void {
  const made = new Map<number, Value>()
  for (const node of graph.nodes) {
    for (const input of inputsOf(node)) {
      if (made.get(input.id) !== input) throw broken(input, `is read by ${node.op} before it is made`)
      if (!READ_A8.has(node.op)) expectForm(input, 'f32')
    }
    const shape = inferShape(node)
    const outputs = outputsOf(node)
    if (outputs.length === 0) {
      throw new HalfbyteError('internal', `a node ${node.op} of the graph makes nothing`)
    }
    for (const output of outputs) {
      if (made.has(output.id)) throw broken(output, 'is made twice')
      if (!sameShape(output.shape, shape)) throw broken(output, `comes out of ${node.op} as ${show(shape)}`)
      made.set(output.id, output)
    }
  }
  if (made.get(graph.output.id) !== graph.output) throw broken(graph.output, 'is the output but is not made')
}

function linearShape(spec: Extract<NodeSpec, { op: 'linear' }>): Shape {
  const { input, weight, bias, residual } = spec
  const n = rowsOf(weight)
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
  const shape: Shape = [input.shape[0], n]
  if (residual !== undefined && !sameShape(residual.shape, shape)) {
    throw broken(residual, `is added to a product of ${show(shape)}`)
  }
  return shape
}

function scanShape(spec: Extract<NodeSpec, { op: 'scan' }>): Shape {
  const { x, dt, z, b, c, decay, skip } = spec
  expectSame(x, dt)
  expectSame(x, z)
  expectSame(b, c)
  expectWidth(x, rowsOf(decay), nameOf(decay))
  expectWidth(x, rowsOf(skip), nameOf(skip))
  expectWidth(b, decay.k, nameOf(decay))
  return x.shape
}

function ssdShape(spec: Extract<NodeSpec, { op: 'ssd' }>): Shape {
  const { x, dt, z, b, c, heads, groups } = spec
  expectSame(x, z)
  expectSame(b, c)
  for (const weight of [spec.decay, spec.skip, spec.dtBias]) expectWidth(dt, rowsOf(weight), nameOf(weight))
  if (dt.shape[1] !== heads || x.shape[1] % heads !== 0) throw broken(x, `is cut into ${heads} heads`)
  if (heads % groups !== 0 || b.shape[1] % groups !== 0) throw broken(b, `is cut into ${groups} groups`)
  return x.shape
}

function checkParts(spec: Extract<NodeSpec, { op: 'rmsnorm' | 'layernorm' }>): void {
  if (spec.op === 'layernorm' || spec.parts === undefined) return
  if (spec.input.shape[1] % (spec.parts * GROUP_SIZE) === 0) return
  throw broken(spec.input, `is normalised in ${spec.parts} parts that are not whole groups`)
}

function checkHeadNorms({ norms, attention }: Extract<NodeSpec, { op: 'ropeKv' }>): void {
  if (norms === undefined) return
  const { heads, kvHeads, headDim } = attention
  for (const [weight, count] of [
    [norms.q, heads],
    [norms.k, kvHeads],
  ] as const) {
    const wanted = norms.over === 'head' ? headDim : count * headDim
    if (weight.kind === 'vector' && rowsOf(weight) === wanted) continue
    throw new HalfbyteError(
      'internal',
      `the norm ${nameOf(weight)} has ${rowsOf(weight)} weights, not ${wanted}`,
    )
  }
}

export const show = ([rows, width]: Shape): string => `[${rows}, ${width}]`

const sameShape = (left: Shape, right: Shape) => left[0] === right[0] && left[1] === right[1]

const nameOf = (weight: WeightRef) => weight.parts.map(({ name }) => name).join(' + ')

function expectWidth(value: Value, width: number, what: string): void {
  if (value.shape[1] !== width) throw broken(value, `meets ${what}: ${width}`)
}

function expectSame(left: Value, right: Value): void {
  if (!sameShape(left.shape, right.shape)) throw broken(left, `meets ${right.label} ${show(right.shape)}`)
}

function expectForm(value: Value, form: Value['form']): void {
  if (value.form !== form) throw broken(value, `has the form ${value.form} where ${form} is read`)
}

function expectKind(weight: WeightRef, kind: WeightRef['kind']): void {
  if (weight.kind === kind) return
  throw new HalfbyteError('internal', `the weight ${nameOf(weight)} is a ${weight.kind}, not a ${kind}`)
}

function broken(value: Value, what: string): HalfbyteError {
  return new HalfbyteError(
    'internal',
    `the graph is inconsistent: ${value.label} ${show(value.shape)} ${what}`,
  )
}
