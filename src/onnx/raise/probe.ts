// Probing. In: a graph, the name of a value that does not depend on weights or tokens, sizes of a step. Out:
// the value, computed by the evaluator.
import { evaluate } from '../evaluate.ts'
import type { Types } from '../infer.ts'
import { intOf } from '../ir/attributes.ts'
import { type Dim, evaluateDim } from '../ir/dims.ts'
import type { Graph, Input } from '../ir/graph.ts'
import { isFloat, type Tensor, tensorOf, zeros } from '../ir/tensor.ts'
import { removeDead } from '../passes/dead.ts'

/** Tokens of a step, and positions before them. */
export interface StepSizes {
  readonly tokens: number
  readonly past: number
}

/** A graph, and what inference knows of its values. */
export interface Probed {
  readonly graph: Graph
  readonly types: Types
}

/**
 * Ids are 0, masks are 1, positions are those of the step, and states are zeros. Throws what the evaluator
 * throws: `unsupported` for an operator without an entry.
 */
export function probe({ graph, types }: Probed, name: string, sizes: StepSizes): Tensor {
  const constant = graph.constants.get(name)
  if (constant !== undefined && 'data' in constant) return constant
  const symbols = symbolsOf(graph.inputs, sizes)
  const part = removeDead.run({ ...withShapes(graph, types, symbols), outputs: [name] })
  const used = new Set(part.nodes.flatMap(({ inputs }) => inputs))
  const feeds = new Map(
    graph.inputs
      .filter((input) => used.has(input.name) || input.name === name)
      .map((input) => [input.name, feedOf(input, symbols, sizes)]),
  )
  return evaluate(part, feeds).get(name)!
}

/** Shapes that inference knows are constants: their values may be made of weights, which are not read. */
function withShapes(graph: Graph, types: Types, symbols: ReadonlyMap<string, number>): Graph {
  const constants = new Map(graph.constants)
  const nodes = graph.nodes.filter((node) => {
    if (node.op !== 'Shape' || node.domain !== '') return true
    const dims = types.get(node.inputs[0] ?? '')?.dims?.map((dim) => evaluateDim(dim, symbols))
    if (dims === undefined || !dims.every((size) => size !== undefined)) return true
    const part = dims.slice(intOf(node, 'start', 0), intOf(node, 'end', dims.length))
    constants.set(node.outputs[0]!, tensorOf('i64', [part.length], part))
    return false
  })
  return { ...graph, nodes, constants }
}

/** Batch is 1; the symbol of the state's third axis is `past`; another one is all positions. */
function symbolsOf(inputs: readonly Input[], { tokens, past }: StepSizes): ReadonlyMap<string, number> {
  const symbols = new Map<string, number>()
  const set = (dim: Dim | undefined, value: number) => {
    if (typeof dim === 'string' && !symbols.has(dim)) symbols.set(dim, value)
  }
  for (const { type } of inputs) set(type?.dims?.[0], 1)
  for (const { name, type } of inputs) {
    if (isFloat(type?.dtype ?? 'i64') && type?.dims?.length === 4) set(type.dims[2], past)
    else if (!isFloat(type?.dtype ?? 'f32') && !/mask/.test(name)) set(type?.dims?.[1], tokens)
  }
  for (const { type } of inputs)
    for (const dim of type?.dims ?? []) if (!/[ +*(]/.test(`${dim}`)) set(dim, past + tokens)
  return symbols
}

function feedOf(
  { name, type }: Input,
  symbols: ReadonlyMap<string, number>,
  { tokens, past }: StepSizes,
): Tensor {
  const dtype = type?.dtype ?? 'i64'
  const dims = (type?.dims ?? []).map((dim) => evaluateDim(dim, symbols) ?? past + tokens)
  if (isFloat(dtype)) return zeros(dtype, dims)
  const made = zeros(dtype, dims)
  const isPosition = /position/.test(name)
  const value = isPosition ? (at: number) => past + at : /mask/.test(name) ? () => 1 : () => 0
  return tensorOf(
    dtype,
    dims,
    Array.from({ length: made.data.length }, (_, at) => value(at)),
  )
}
