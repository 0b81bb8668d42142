// The fusion pass: a product and its sum become one Gemm, and a GELU written in primitive operators becomes
// one node.
import { inferTypes, type Types } from '../infer.ts'
import { type Attribute, type Graph, isStored, type Node, producersOf, readOnce } from '../ir/graph.ts'
import { EITHER_ORDER, flagOf, intsOf } from '../ir/operator.ts'
import { type DType, isFloat, numbersOf } from '../ir/tensor.ts'
import type { Pass } from './pass.ts'

/** The opset that introduced the operator. */
const VERSION = 20

export const joinGelus: Pass = {
  name: 'GELU',
  run(graph) {
    if (!graph.nodes.some(({ op }) => op === 'Erf' || op === 'Tanh')) return graph
    const room: Room = {
      graph,
      makers: producersOf(graph),
      once: readOnce(graph),
      types: inferTypes(graph),
      axes: 0,
    }
    const nodes = graph.nodes.map((node) => (node.op === 'Mul' ? (geluOf(room, node) ?? node) : node))
    return nodes.every((node, at) => node === graph.nodes[at]) ? graph : { ...graph, nodes }
  },
}

interface Room {
  readonly graph: Graph
  readonly makers: ReadonlyMap<string, Node>
  /** Values that are read exactly once. */
  readonly once: ReadonlySet<string>
  readonly types: Types
  /** Maximum number of axes of a formula's constants. */
  axes: number
}

const CLOSE = 1e-6
/** Relative tolerances of a formula's constants: exact, and rounded to a short float type. */
const ROUNDED: Partial<Record<DType, number>> = { f16: 2 ** -11, bf16: 2 ** -8 }
const isNear = (room: Room, x: string, found: number, wanted: number): boolean =>
  Math.abs(found - wanted) <= wanted * (ROUNDED[room.types.get(x)?.dtype ?? 'f32'] ?? CLOSE)

/** Maximum nesting of products or sums that is searched; a chain of x * x would have 2^n factors. */
const DEEPEST = 4

/**
 * The names whose product, or sum, makes up a value, and its constants combined into one. A value that is
 * read more than once counts as a name: a GELU's x may itself be a product, such as codes times scales.
 */
function parts(
  room: Room,
  name: string,
  op: 'Mul' | 'Add',
  depth = 0,
): { readonly names: readonly string[]; readonly number: number } {
  const { graph, makers } = room
  const neutral = op === 'Mul' ? 1 : 0
  const constant = graph.constants.get(name)
  if (constant !== undefined && !isStored(constant) && constant.data.length === 1) {
    room.axes = Math.max(room.axes, constant.dims.length)
    return { names: [], number: numbersOf(constant)[0]! }
  }
  const node = makers.get(name)
  const isQuotient = op === 'Mul' && node?.op === 'Div'
  const isPair = node?.domain === '' && (node.op === op || isQuotient) && node.inputs.length === 2
  const isOwn = depth === 0 || room.once.has(name)
  const isOpen = isPair && isOwn && depth < DEEPEST
  if (!isOpen) return { names: [name], number: neutral }
  const [left, right] = node.inputs.map((each) => parts(room, each, op, depth + 1)) as [
    ReturnType<typeof parts>,
    ReturnType<typeof parts>,
  ]
  if (isQuotient && right.names.length > 0) return { names: [name], number: 1 }
  const number = isQuotient
    ? left.number / right.number
    : op === 'Mul'
      ? left.number * right.number
      : left.number + right.number
  return { names: [...left.names, ...right.names], number }
}

function geluOf(room: Room, node: Node): Node | undefined {
  room.axes = 0
  const { names, number } = parts(room, node.outputs[0]!, 'Mul')
  if (names.length !== 2 || Math.abs(number - 0.5) > CLOSE) return undefined
  for (const [x = '', other = ''] of [names, names.toReversed()]) {
    const [from, to] = [x, node.outputs[0]!].map((name) => room.types.get(name)?.dims)
    const sum = parts(room, other, 'Add')
    const inner = room.makers.get(sum.names[0] ?? '')
    if (sum.names.length !== 1 || sum.number !== 1 || inner === undefined) continue
    const isTanh = inner.op === 'Tanh' && isCubic(room, inner.inputs[0]!, x)
    if (!isTanh && !(inner.op === 'Erf' && isScaled(room, inner.inputs[0]!, x, Math.SQRT1_2))) continue
    // A constant [1, 1, 1] would add axes to the result.
    if (from === undefined ? room.axes > 0 : `${from}` !== `${to}`) continue
    const value = isTanh ? 'tanh' : 'none'
    const attributes: Node['attributes'] = new Map([['approximate', { kind: 'string', value }]])
    return { ...node, op: 'Gelu', version: VERSION, inputs: [x], attributes }
  }
  return undefined
}

function isScaled(room: Room, name: string, x: string, by: number): boolean {
  const { names, number } = parts(room, name, 'Mul')
  return names.length === 1 && names[0] === x && isNear(room, x, number, by)
}

/** sqrt(2 / pi) (x + 0.044715 x^3) */
function isCubic(room: Room, name: string, x: string): boolean {
  const outer = parts(room, name, 'Mul')
  if (outer.names.length !== 1 || !isNear(room, x, outer.number, Math.sqrt(2 / Math.PI))) return false
  const sum = parts(room, outer.names[0]!, 'Add')
  const rest = sum.names.filter((each) => each !== x)
  if (sum.names.length !== 2 || sum.number !== 0 || rest.length !== 1) return false
  const cube = parts(room, rest[0]!, 'Mul')
  const power = room.makers.get(cube.names[0] ?? '')
  const isPower =
    power?.op === 'Pow' && power.inputs[0] === x && parts(room, power.inputs[1]!, 'Mul').number === 3
  return isNear(room, x, cube.number, 0.044715) && (isPower || `${cube.names}` === `${[x, x, x]}`)
}

export const joinGemms: Pass = {
  name: 'gemms',
  run(graph) {
    if (!graph.nodes.some(({ op }) => op === 'MatMul' || op === 'Gemm')) return graph
    const types = inferTypes(graph)
    const once = readOnce(graph)
    const makers = new Map<string, Node>()
    const nodes = graph.nodes.map((node) => {
      const before = (index: number) => makers.get(node.inputs[index] ?? '')
      const own = (index: number) => (once.has(node.inputs[index] ?? '') ? before(index) : undefined)
      const made =
        node.domain === ''
          ? (withSum(node, own, types) ??
            turnedWhole(node, own(0), types) ??
            turnedSides(node, before, types))
          : undefined
      for (const name of node.outputs) makers.set(name, made ?? node)
      return made ?? node
    })
    return nodes.every((node, at) => node === graph.nodes[at]) ? graph : { ...graph, nodes }
  },
}

type Maker = (index: number) => Node | undefined

const gemm = (node: Node, inputs: readonly string[], attributes: Node['attributes'] = new Map()): Node => ({
  ...node,
  op: 'Gemm',
  inputs,
  attributes,
})

const isTransposed = (node: Node | undefined): node is Node =>
  node?.domain === '' && node.op === 'Transpose' && `${intsOf(node, 'perm', [1, 0])}` === '1,0'

const isGemmAlone = (node: Node | undefined): node is Node =>
  node?.domain === '' && node.op === 'Gemm' && (node.inputs[2] ?? '') === ''

const isMatrix = (types: Types, name: string | undefined): boolean => {
  const type = types.get(name ?? '')
  return type?.dims?.length === 2 && isFloat(type.dtype)
}

/** A product whose only reader is a sum. */
function withSum(node: Node, own: Maker, types: Types): Node | undefined {
  if ((node.op !== 'Add' && node.op !== 'Sum') || node.inputs.length !== 2) return undefined
  const dims = types.get(node.outputs[0] ?? '')?.dims
  for (const [index, other] of EITHER_ORDER) {
    const before = own(index)
    const isMatMul = before?.op === 'MatMul' && before.inputs.every((name) => isMatrix(types, name))
    if (before === undefined || before.domain !== '' || !(isMatMul || isGemmAlone(before))) continue
    // The addend is broadcast to the product, never the product to the addend.
    const isWhole = `${types.get(node.inputs[index]!)?.dims}` === `${dims}` && dims?.length === 2
    if (!isWhole || types.get(node.inputs[other]!)?.dims === undefined) continue
    const attributes = new Map(before.attributes)
    attributes.delete('beta')
    return gemm(node, [...before.inputs.slice(0, 2), node.inputs[other]!], attributes)
  }
  return undefined
}

const flag = (is: boolean): Attribute => ({ kind: 'int', value: Number(is) })

/** Operands that an earlier node transposes. */
function turnedSides(node: Node, before: Maker, types: Types): Node | undefined {
  if (node.op !== 'Gemm') return undefined
  const sides = [0, 1].map((index) => {
    const maker = before(index)
    return isTransposed(maker) && isMatrix(types, maker.inputs[0]) ? maker : undefined
  })
  if (sides.every((side) => side === undefined)) return undefined
  const attributes = new Map(node.attributes)
  for (const [index, name] of ['transA', 'transB'].entries())
    attributes.set(name, flag(flagOf(node, name) !== (sides[index] !== undefined)))
  const inputs = node.inputs.map((name, index) => sides[index]?.inputs[0] ?? name)
  return gemm(node, inputs, attributes)
}

/** (A B)^T = B^T A^T. */
function turnedWhole(node: Node, before: Node | undefined, types: Types): Node | undefined {
  if (!isTransposed(node) || !isGemmAlone(before) || !isMatrix(types, node.outputs[0])) return undefined
  const attributes = new Map(before.attributes)
  attributes.set('transA', flag(!flagOf(before, 'transB')))
  attributes.set('transB', flag(!flagOf(before, 'transA')))
  return gemm(node, [before.inputs[1]!, before.inputs[0]!], attributes)
}
