// Steps of random graphs that work with positions: computed indices, scatters, triangles, one-hot rows,
// top-k, and codes.
import type { Attribute } from '../../onnx/ir/graph.ts'
import { countOf, tensorOf } from '../../onnx/ir/tensor.ts'
import { type GraphMaker, int, type Step, text, type Value } from './graph-maker.ts'

/** Indices that the graph computes from one of its inputs. */
function computed(graph: GraphMaker, dims: readonly number[], size: number): string {
  const name = `input ${graph.inputs.length}`
  const values = Array.from({ length: countOf(dims) }, () => graph.random.between(-size, size + 2))
  graph.inputs.push({ name, type: { dtype: 'i64', dims } })
  graph.feeds.set(name, tensorOf('i64', dims, values.map(BigInt)))
  const most = graph.constant(tensorOf('i64', [], [BigInt(size - 1)]))
  const made = `Min ${graph.nodes.length}`
  graph.write(made, 'Min', [name, most])
  return made
}

function gatherPlaces(graph: GraphMaker): void {
  const value = graph.value(({ dims }) => dims.length > 0 && countOf(dims) > 0 && countOf(dims) < 2000)
  if (value === undefined) return
  const { name, dims } = value
  const axis = graph.random.below(dims.length)
  if (graph.random.chance(0.5)) {
    const to = dims.map((size, at) =>
      at === axis ? graph.random.between(1, 5) : graph.random.between(1, size),
    )
    graph.node('GatherElements', [name, computed(graph, to, dims[axis]!)], to, { axis: int(axis) })
    return
  }
  const depth = axis + 1
  const rows = graph.random.between(1, 6)
  const size = Math.min(...dims.slice(0, depth))
  graph.node('GatherND', [name, computed(graph, [rows, depth], size)], [rows, ...dims.slice(depth)])
}

/** Writes elements at indexed positions, some of which are equal. */
function scatter(graph: GraphMaker): void {
  const value = graph.value(({ dims }) => dims.length > 0 && countOf(dims) > 0 && countOf(dims) < 2000)
  if (value === undefined) return
  const { name, dims } = value
  const axis = graph.random.below(dims.length)
  const reduction = text(graph.pick(['none', 'none', 'add', 'mul', 'min', 'max']))
  if (graph.random.chance(0.5)) {
    const own = dims.map((size) => graph.random.between(1, size))
    const indices = computed(graph, own, dims[axis]!)
    graph.node('ScatterElements', [name, indices, updates(graph, own)], dims, { axis: int(axis), reduction })
    return
  }
  const depth = axis + 1
  const rows = graph.random.between(1, 6)
  const indices = computed(graph, [rows, depth], Math.min(...dims.slice(0, depth)))
  const due = [rows, ...dims.slice(depth)]
  graph.node('ScatterND', [name, indices, updates(graph, due)], dims, { reduction })
}

/** Updates from a value with the same rank, or from a constant. */
function updates(graph: GraphMaker, dims: readonly number[]): string {
  const same = graph.value((other) => `${other.dims}` === `${dims}`)
  return same?.name ?? graph.constant(graph.floats(dims))
}

function triangle(graph: GraphMaker): void {
  const value = graph.value(({ dims }) => dims.length > 1)
  if (value === undefined) return
  const k = graph.constant(tensorOf('i64', [], [BigInt(graph.random.between(-3, 3))]))
  const inputs = graph.random.chance(0.5) ? [value.name] : [value.name, k]
  graph.node('Trilu', inputs, value.dims, { upper: int(graph.random.below(2)) })
}

function oneHot(graph: GraphMaker): void {
  const own = Array.from({ length: graph.random.below(3) }, () => graph.pick([1, 2, 5]))
  const depth = graph.pick([1, 3, 8])
  const axis = graph.random.below(own.length + 1)
  const count = graph.constant(tensorOf('i64', [], [BigInt(depth)]))
  const values = graph.constant(graph.floats([2]))
  const inputs = [computed(graph, own, depth + 1), count, values]
  graph.node('OneHot', inputs, own.toSpliced(axis, 0, depth), { axis: int(axis) })
}

/**
 * An input of the graph, because discontinuous functions must not read values that depend on the order of a
 * sum.
 */
const exact = (graph: GraphMaker): Value | undefined =>
  graph.value(({ name, dims }) => graph.feeds.has(name) && dims.length > 0)

function greatest(graph: GraphMaker): void {
  const value = exact(graph)
  if (value === undefined) return
  const { name, dims } = value
  const axis = graph.random.below(dims.length)
  const k = graph.random.between(1, dims[axis]!)
  const to = dims.with(axis, k)
  graph.node('TopK', [name, graph.list([k])], to, {
    axis: int(axis),
    largest: int(graph.random.below(2)),
  })
  const places = `${graph.nodes.at(-1)!.name} places`
  graph.addOutput(places)
  graph.node('Cast', [places], to, { to: int(1) })
}

function codes(graph: GraphMaker): void {
  const value = exact(graph)
  if (value === undefined) return
  const { name, dims } = value
  const dtype = graph.pick(['u8', 'i8'] as const)
  const axis = graph.random.below(dims.length)
  const count = graph.random.chance(0.5) ? dims[axis]! : undefined
  const own = count === undefined ? [] : [count]
  const positive = Float32Array.from({ length: count ?? 1 }, () => 0.02 + 0.1 * graph.random.unit())
  const scale = graph.constant(tensorOf('f32', own, positive))
  const zeros = Array.from(positive, () => graph.random.below(100))
  const zero = graph.constant(tensorOf(dtype, own, zeros))
  const attributes: Record<string, Attribute> = { axis: int(axis) }
  const made = `QuantizeLinear ${graph.nodes.length}`
  graph.write(made, 'QuantizeLinear', [name, scale, zero], attributes)
  graph.node('Cast', [made], dims, { to: int(1) })
}

export const PLACE_STEPS: readonly Step[] = [gatherPlaces, scatter, triangle, oneHot, greatest, codes]
