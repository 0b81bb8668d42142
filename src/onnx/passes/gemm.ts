// Gemms. In: a graph. Out: the graph in which a product of two matrices and what is added to it are one Gemm,
// which transposes its sides itself.
import { inferTypes, type Types } from '../infer.ts'
import { flagOf, intsOf } from '../ir/attributes.ts'
import { readOnce } from '../ir/edges.ts'
import type { Attribute, Node } from '../ir/graph.ts'
import { isFloat } from '../ir/tensor.ts'
import type { Pass } from './pass.ts'

export const joinGemms: Pass = {
  name: 'gemms',
  run(graph) {
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

/** A product and a sum that is all that reads it. */
function withSum(node: Node, own: Maker, types: Types): Node | undefined {
  if ((node.op !== 'Add' && node.op !== 'Sum') || node.inputs.length !== 2) return undefined
  const dims = types.get(node.outputs[0] ?? '')?.dims
  for (const [index, other] of [
    [0, 1],
    [1, 0],
  ] as const) {
    const before = own(index)
    const isMatMul = before?.op === 'MatMul' && before.inputs.every((name) => isMatrix(types, name))
    if (before === undefined || before.domain !== '' || !(isMatMul || isGemmAlone(before))) continue
    // What is added is spread over the product, never the product over it.
    const isWhole = `${types.get(node.inputs[index]!)?.dims}` === `${dims}` && dims?.length === 2
    if (!isWhole || types.get(node.inputs[other]!)?.dims === undefined) continue
    const attributes = new Map(before.attributes)
    attributes.delete('beta')
    return gemm(node, [...before.inputs.slice(0, 2), node.inputs[other]!], attributes)
  }
  return undefined
}

const flag = (is: boolean): Attribute => ({ kind: 'int', value: Number(is) })

/** Sides that a node before transposes. */
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
