// Tests the memory plan. In: random graphs after the passes. Out: no two values that are needed at the same
// time share a byte.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { ABI } from '../../abi/constants.ts'
import { a8Stride, type Encoding, floatStride } from '../../abi/encodings.ts'
import { graphBuilder, matrix, vector } from '../builder.ts'
import { optimize } from '../compile-graph.ts'
import type { Value } from '../ir.ts'
import { basesOf, type Graph, inputsOf, type Node, outputsOf } from '../nodes.ts'
import { randomGraph, VOCAB } from '../testing/models.ts'
import { type MemoryPlan, planMemory } from './plan-memory.ts'

const CAPACITY = { tokens: 5, logitRows: 2 }

/** Inputs that a node overwrites on purpose. */
function overwritable(node: Node): readonly (Value | undefined)[] {
  switch (node.op) {
    case 'linear':
      return [node.residual]
    case 'ropeKv':
      return [node.q]
    case 'add':
      return [node.left, node.right]
    case 'swiglu':
      return [node.gate]
    case 'clamp':
      return [node.input]
    default:
      return []
  }
}

/** The bytes [from, to) of all rows of a value, padding included. */
function stretches(value: Value, { arenaSlots }: MemoryPlan): [number, number][] {
  const { offset, stride } = arenaSlots.get(value.id) ?? { offset: Number.NaN, stride: 0 }
  const rows = value.shape[0] === 'logitRows' ? CAPACITY.logitRows : CAPACITY.tokens
  const bytes = value.form === 'a8' ? a8Stride(value.shape[1]) : floatStride(value.shape[1])
  return Array.from({ length: rows }, (_, row) => [offset + row * stride, offset + row * stride + bytes])
}

function overlap(left: Value, right: Value, plan: MemoryPlan): boolean {
  const others = stretches(right, plan)
  return stretches(left, plan).some(([from, to]) => others.some(([start, end]) => from < end && start < to))
}

/** The scratch memory [from, to) that attention needs. Other nodes need none. */
function roomOf(node: Node, { scratch }: MemoryPlan): [number, number] {
  const offset = scratch.get(node) ?? Number.NaN
  if (node.op !== 'attention') return [Number.NaN, Number.NaN]
  const { heads, headDim } = node.attention
  const { SPLIT_ROWS, MAX_SEGMENTS, PART_SUMS } = ABI
  return [offset, offset + SPLIT_ROWS * heads * MAX_SEGMENTS * (PART_SUMS + headDim) * 4]
}

/** Pairs of labels that share bytes although both values are needed. */
function conflicts(graph: Graph, plan: MemoryPlan): string[] {
  const bases = basesOf(graph)
  const lastRead = new Map([[graph.output.id, graph.nodes.length]])
  for (const [index, node] of graph.nodes.entries()) {
    for (const { id } of inputsOf(node)) lastRead.set(id, Math.max(index, lastRead.get(id) ?? 0))
  }
  const found: string[] = []
  let live: Value[] = []
  for (const [index, node] of graph.nodes.entries()) {
    const outputs = outputsOf(node)
    for (const other of [...live, ...outputs]) {
      const [from, to] = roomOf(node, plan)
      const touches = stretches(other, plan).some(([start, end]) => from < end && start < to)
      if (touches) found.push(`${index} ${node.op}: its room over ${other.label}`)
    }
    const allowed = new Set(overwritable(node).map((value) => value?.id))
    for (const output of outputs) {
      for (const other of [...live, ...outputs.filter((each) => each.id < output.id)]) {
        const isView = bases.get(other.id) === bases.get(output.id)
        // An overwritten value must not be read again, nor any view of it.
        const diesHere = (lastRead.get(other.id) ?? -1) <= index
        const shares =
          diesHere && [...allowed].some((id) => id !== undefined && sameRows(id, other.id, bases))
        if (!isView && !(shares && output.form === 'f32') && overlap(output, other, plan)) {
          found.push(`${index} ${node.op}: ${output.label} over ${other.label}`)
        }
      }
    }
    live = [...live, ...outputs].filter(({ id }) => (lastRead.get(id) ?? -1) > index)
  }
  return found
}

const sameRows = (left: number, right: number, bases: ReadonlyMap<number, number>) =>
  left === right || bases.get(left) === right || bases.get(right) === left

const ENCODINGS: readonly Encoding[] = ['f32', 'w4_g32']
const choices = fc.array(fc.nat(1000), { maxLength: 25 })

describe('planMemory', () => {
  test('never lets two values that are needed at the same time overlap', () => {
    fc.assert(
      fc.property(choices, fc.nat(), fc.boolean(), (list, salt, isOptimized) => {
        const encodingOf = (name: string) => ENCODINGS[(name.length + salt) % 2] as Encoding
        const graph = isOptimized ? optimize(randomGraph(list), encodingOf) : randomGraph(list)
        const plan = planMemory(graph, CAPACITY)
        expect(conflicts(graph, plan)).toEqual([])
        for (const node of graph.nodes.filter(({ op }) => op === 'attention')) {
          expect(roomOf(node, plan)[1]).toBeLessThanOrEqual(plan.bytes)
        }
        for (const value of graph.nodes.flatMap(outputsOf)) {
          const ends = stretches(value, plan).map(([, end]) => end)
          expect(Math.max(...ends)).toBeLessThanOrEqual(plan.bytes)
        }
      }),
      { numRuns: 150 },
    )
  })

  test('fails if two regions are moved onto each other', () => {
    const graph = randomGraph([0, 1, 2, 3])
    const plan = planMemory(graph, CAPACITY)
    const arenaSlots = new Map([...plan.arenaSlots].map(([id, slot]) => [id, { ...slot, offset: 0 }]))
    expect(conflicts(graph, { ...plan, arenaSlots })).not.toEqual([])
  })

  test('begins regions at cache lines and pads rows', () => {
    const plan = planMemory(randomGraph([0, 0, 1]), CAPACITY)
    for (const { offset, stride } of plan.arenaSlots.values()) {
      expect(offset % 64).toBe(0)
      expect(stride % 128).toBe(0)
    }
    expect([floatStride(33), a8Stride(33), a8Stride(32), a8Stride(4864)]).toEqual([256, 80, 48, 6080])
  })

  test('reuses one region along a chain', () => {
    const b = graphBuilder()
    const chain = (length: number) => {
      let x = b.embed('embed', matrix(32, { embed: VOCAB }))
      for (let i = 0; i < length; i++) x = b.rmsnorm(`n${i}`, x, vector({ norm: 32 }), 1e-5)
      return b.finish(x)
    }
    expect(planMemory(chain(20), CAPACITY).bytes).toBe(2 * 640)
  })

  test('lets the output of a gate overwrite the gate', () => {
    const b = graphBuilder()
    const weight = matrix(32, { gate: 32, up: 32 })
    const inner = b.linear('inner', b.embed('embed', matrix(32, { embed: VOCAB })), weight)
    const graph = b.finish(b.swiglu('act', b.parts(inner, weight)))
    const { arenaSlots } = planMemory(graph, CAPACITY)
    expect(arenaSlots.get(graph.output.id)).toEqual(arenaSlots.get(inner.id))
  })

  test('gives the output of a gate within a product its own region', () => {
    const b = graphBuilder()
    const inner = b.linear('inner', b.embed('embed', matrix(32, { embed: VOCAB })), matrix(32, { both: 32 }))
    const [up, gate] = b.columns(inner, { up: 16, gate: 16 }) as [Value, Value]
    const act = b.swiglu('act', [gate, up])
    // A tile writes 32 columns starting at the gate's first one. They include up values of the next row,
    // which another tile reads.
    expect(overlap(act, inner, planMemory(b.finish(act), CAPACITY))).toBe(false)
  })

  test('keeps gates that are read again', () => {
    const b = graphBuilder()
    const weight = matrix(32, { gate: 32, up: 32 })
    const parts = b.parts(b.linear('inner', b.embed('embed', matrix(32, { embed: VOCAB })), weight), weight)
    const graph = b.finish(b.add('sum', b.swiglu('act', parts), parts[0] as Value))
    expect(conflicts(graph, planMemory(graph, CAPACITY))).toEqual([])
  })

  test('fills the gap that a short-lived region leaves', () => {
    const b = graphBuilder()
    const linear = (label: string, from: Value, n: number) =>
      b.linear(label, from, matrix(from.shape[1], { [label]: n }))
    const x = b.embed('embed', matrix(32, { embed: VOCAB }))
    const kept = linear('kept', linear('wide', x, 128), 64)
    const graph = b.finish(b.add('sum', linear('last', linear('middle', kept, 64), 64), kept))
    const plan = planMemory(graph, CAPACITY)
    expect(conflicts(graph, plan)).toEqual([])
    expect(plan.bytes).toBe(CAPACITY.tokens * 4 * (128 + 64))
  })

  test('begins parts of a merged product at multiples of 32 columns', () => {
    const b = graphBuilder()
    const weight = matrix(32, { gate: 40, up: 40 })
    const inner = b.linear('inner', b.embed('embed', matrix(32, { embed: VOCAB })), weight)
    const [gate, up] = b.parts(inner, weight)
    const graph = b.finish(b.swiglu('act', [gate as Value, up as Value]))
    const { arenaSlots } = planMemory(graph, CAPACITY)
    expect(arenaSlots.get(inner.id)?.stride).toBe(128 * 4)
    expect((arenaSlots.get(up?.id ?? -1)?.offset ?? 0) - (arenaSlots.get(gate?.id ?? -1)?.offset ?? 0)).toBe(
      64 * 4,
    )
  })

  test('refuses to overwrite a value that is read again', () => {
    const b = graphBuilder()
    const x = b.embed('embed', matrix(32, { embed: VOCAB }))
    const y = b.rmsnorm('y', x, vector({ norm: 32 }), 1e-5)
    const sum = b.add('sum', b.add('both', x, y), b.add('again', x, y))
    expect(() => planMemory(b.finish(sum), CAPACITY)).toThrow(/y is added to in place but is still read/)
  })

  test('refuses to overwrite a value that the same node also reads', () => {
    const b = graphBuilder()
    const x = b.embed('embed', matrix(32, { embed: VOCAB }))
    const graph = b.finish(b.linear('product', x, matrix(32, { product: 32 })))
    const nodes = graph.nodes.map((node) => (node.op === 'linear' ? { ...node, residual: node.input } : node))
    expect(() => planMemory({ ...graph, nodes }, CAPACITY)).toThrow(
      /is added to in place but is read by the same node too/,
    )
  })

  test('rejects a slice that is not a part of a merged product', () => {
    const graph = randomGraph([2])
    const nodes = graph.nodes.map((node) => (node.op === 'slice' ? { ...node, start: node.start + 1 } : node))
    expect(() => planMemory({ ...graph, nodes }, CAPACITY)).toThrow(
      /is not inside one part of a merged linear/,
    )
  })
})
