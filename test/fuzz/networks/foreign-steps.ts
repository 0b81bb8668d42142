// Steps of random graphs that cannot be compiled: elementwise functions, and values with computed sizes.
import type { GraphMaker, Step, Value } from '../../../src/network/compile/testing/graph-maker.ts'
import { int } from '../../../src/network/compile/testing/graph-maker.ts'
import { tensorOf } from '../../../src/network/onnx/ir/tensor.ts'

/** Operators of the dialect that cannot be compiled; all are continuous. */
export const FOREIGN = ['Atan', 'Asinh'] as const
const F32 = 1

function smooth(graph: GraphMaker): void {
  const { name, dims } = graph.value()!
  graph.node(graph.pick(FOREIGN), [name], dims)
}

/**
 * Reads an input of the graph, because a discontinuous operator must not read a sum whose order may differ.
 */
const exact = (graph: GraphMaker): Value | undefined =>
  graph.value(({ name, dims }) => graph.feeds.has(name) && dims.every((size) => size > 1))

/** A sum along an axis with a computed size. */
function summed(graph: GraphMaker, name: string, axis: number, to: readonly number[]): void {
  graph.node('ReduceSum', [name, graph.list([axis])], to, { keepdims: int(1) })
}

/** The number of values above a bound, and their average position. */
function whereAbove(graph: GraphMaker): void {
  const value = exact(graph)
  if (value === undefined) return
  const at = graph.nodes.length
  graph.write(`above ${at}`, 'Relu', [value.name])
  graph.write(`places ${at}`, 'NonZero', [`above ${at}`])
  graph.write(`numbers ${at}`, 'Cast', [`places ${at}`], { to: int(F32) })
  summed(graph, `numbers ${at}`, 1, [value.dims.length, 1])
}

/** An input of one integer, 0 or 1, plus `more`. */
function count(graph: GraphMaker, more: number): string {
  const name = `input ${graph.inputs.length}`
  graph.inputs.push({ name, type: { dtype: 'i64', dims: [1] } })
  graph.feeds.set(name, tensorOf('i64', [1], [1n]))
  const made = `count ${graph.nodes.length}`
  graph.write(made, 'Add', [name, graph.list([more])])
  return made
}

function someGreatest(graph: GraphMaker): void {
  const value = exact(graph)
  if (value === undefined) return
  const { name, dims } = value
  const axis = graph.random.below(dims.length)
  const made = `greatest ${graph.nodes.length}`
  graph.write(made, 'TopK', [name, count(graph, 1)], { axis: int(axis) })
  graph.addOutput(`${made} places`)
  summed(graph, made, axis, dims.with(axis, 1))
}

function someNumbers(graph: GraphMaker): void {
  const at = graph.nodes.length
  const [zero, one] = [0n, 1n].map((each) => graph.constant(tensorOf('i64', [], [each])))
  const last = `last ${at}`
  graph.write(last, 'Squeeze', [count(graph, 2)])
  graph.write(`range ${at}`, 'Range', [zero!, last, one!])
  graph.write(`numbers ${at}`, 'Cast', [`range ${at}`], { to: int(F32) })
  summed(graph, `numbers ${at}`, 0, [1])
}

const STEPS: readonly Step[] = [smooth, whereAbove, someGreatest, someNumbers]

/** As frequent as all other rare steps together, so that most graphs contain one. */
export const FOREIGN_STEPS: readonly Step[] = Array.from({ length: 5 }, () => STEPS).flat()
