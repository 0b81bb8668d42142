// Graph matching. In: families' graphs, written differently or with one change. Out: whether each is
// recognised and its weights are located, and whether each change is detected.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { ModelConfig } from '../../../core/arch/config/config.ts'
import { buildGraph } from '../../../core/arch/families.ts'
import { graphBuilder, matrix, vector } from '../../../core/graph/builder.ts'
import type { Value, WeightRef } from '../../../core/graph/ir.ts'
import { type Graph, mapInputs, type Node } from '../../../core/graph/nodes.ts'
import { sameGraph } from './same-graph.ts'

const LLAMA: ModelConfig = {
  family: 'llama',
  name: 'test',
  hiddenSize: 64,
  layers: 2,
  heads: 4,
  kvHeads: 2,
  headDim: 16,
  intermediateSize: 96,
  vocabSize: 40,
  normEpsilon: 1e-5,
  contextLength: 32,
  tiedEmbeddings: true,
  rope: { theta: 10_000, dims: 16, pairing: 'halves' },
}
const MAMBA: ModelConfig = {
  ...LLAMA,
  family: 'mamba',
  heads: 0,
  kvHeads: 0,
  headDim: 0,
  intermediateSize: 0,
  ssm: { kind: 'mamba', innerSize: 128, stateSize: 16, convKernel: 4, convBias: true, timeStepRank: 8 },
}
const CONFIGS: readonly ModelConfig[] = [
  LLAMA,
  ...['qwen2', 'qwen3', 'olmo2', 'gpt2'].map((family) => ({ ...LLAMA, family, kvHeads: 4 })),
  { ...LLAMA, family: 'gemma2', window: { positions: 8, layers: [0] }, logitCap: 30, embeddingScale: 8 },
  { ...LLAMA, family: 'gpt_neox', kvHeads: 4, parallelResidual: true },
  MAMBA,
]

const isWeight = (field: unknown): field is WeightRef =>
  typeof field === 'object' && field !== null && 'parts' in field

/** A node's fields and nested fields, except its values. */
function changed(node: object, change: (key: string, field: unknown) => unknown): object {
  return Object.fromEntries(
    Object.entries(node).map(([key, field]) => {
      const isInside = typeof field === 'object' && field !== null && !isWeight(field) && !('form' in field)
      return [key, isInside ? changed(field, change) : change(key, field)]
    }),
  )
}

const named = (weight: WeightRef): WeightRef => ({
  ...weight,
  parts: weight.parts.map(({ name, n }) => ({ name: `file ${name}`, n })),
})

/** The same graph as it may appear in a file: other names and ids, sums with swapped operands. */
function rewritten(graph: Graph): Graph {
  const other = (value: Value): Value => ({ ...value, id: value.id + 1000, label: `file ${value.label}` })
  const nodes = graph.nodes.map((node) => {
    const renamed = changed(node, (_, field) => (isWeight(field) ? named(field) : field)) as Node
    const moved = mapInputs({ ...renamed, output: other(node.output!) } as Node, other)
    return moved.op === 'add' ? { ...moved, left: moved.right, right: moved.left } : moved
  })
  return { ...graph, nodes, output: other(graph.output), hidden: other(graph.hidden) }
}

describe.each(CONFIGS.map((config) => [config.family, buildGraph(config)] as const))('%s', (_, graph) => {
  test('is recognised under other names, with every weight located', () => {
    const { places, difference } = sameGraph(graph, rewritten(graph))
    expect(difference).toBeUndefined()
    const weights = graph.nodes.flatMap((node) => Object.values(node).filter(isWeight))
    for (const { name, n } of weights.flatMap(({ parts }) => parts))
      expect(places?.get(name)).toEqual({ name: `file ${name}`, first: 0, n })
  })

  test('is a different graph if any number or word of a node changes', () => {
    for (const [index, node] of graph.nodes.entries()) {
      changed(node, (key, field) => {
        // Changing a slice's width also changes its value's width.
        const isFixed = key === 'op' || key === 'width'
        if (isFixed || (typeof field !== 'number' && typeof field !== 'string')) return field
        let isSeen = false
        const nodes = graph.nodes.with(
          index,
          changed(node, (other, value) => {
            if (other !== key || value !== field || isSeen) return value
            isSeen = true
            return typeof value === 'number' ? value + (key === 'start' ? 1 : 0.001) : `${value}?`
          }) as Node,
        )
        expect([key, sameGraph(graph, { ...graph, nodes }).places]).toEqual([key, undefined])
        return field
      })
    }
  })
})

test('no two families are the same', () => {
  for (const one of CONFIGS)
    for (const other of CONFIGS.filter((each) => each !== one))
      expect(sameGraph(buildGraph(one), buildGraph(other)).difference).toBeDefined()
})

/** Two products with one input, in one matrix or two, in either order. */
function products(weights: readonly (readonly [Record<string, number>, readonly number[]])[]): Graph {
  const b = graphBuilder()
  const x = b.embed('embed', matrix(32, { embed: 8 }))
  const made = weights.flatMap(([parts, starts]) => {
    const product = b.linear('product', x, matrix(32, parts), vector(biases(parts)))
    return starts.map((start) => b.node('part', { op: 'slice', input: product, start, width: 32 }))
  })
  return b.finish(b.swiglu('gated', made))
}
const biases = (parts: Record<string, number>) =>
  Object.fromEntries(Object.entries(parts).map(([name, n]) => [`${name}.bias`, n]))

describe('products', () => {
  const due = products([[{ gate: 32, up: 32 }, [0, 32]]])

  test.each([
    ['one matrix without parts', products([[{ both: 64 }, [0, 32]]]), ['both', 0], ['both', 32]],
    ['one in the other order', products([[{ both: 64 }, [32, 0]]]), ['both', 32], ['both', 0]],
    [
      'two matrices',
      products([
        [{ a: 32 }, [0]],
        [{ b: 32 }, [0]],
      ]),
      ['a', 0],
      ['b', 0],
    ],
  ])('%s match merged matrices', (_, found, gate, up) => {
    const { places } = sameGraph(due, found)
    expect(places?.get('gate')).toEqual({ name: gate[0], first: gate[1], n: 32 })
    expect(places?.get('up.bias')).toEqual({ name: `${up[0]}.bias`, first: up[1], n: 32 })
  })

  test('a weight whose rows are in two tensors is reported', () => {
    const one = products([[{ gate: 32, up: 32 }, [0, 32]]])
    const whole = products([[{ all: 64 }, [0, 32]]])
    expect(sameGraph(whole, one).difference).toBe(
      'all is one weight, but the graph stores its rows separately in gate and up',
    )
  })

  test("any split of a matrix's rows is reassembled", () => {
    const cuts = fc.uniqueArray(fc.integer({ min: 1, max: 63 }), { maxLength: 4 })
    fc.assert(
      fc.property(cuts, cuts, (due, found) => {
        const cut = (prefix: string, at: readonly number[]) => {
          const ends = [...at.toSorted((a, b) => a - b), 64]
          return Object.fromEntries(
            ends.map((end, index) => [`${prefix}${index}`, end - (ends[index - 1] ?? 0)]),
          )
        }
        const { places, difference } = sameGraph(
          products([[cut('due', due), [0, 32]]]),
          products([[cut('found', found), [0, 32]]]),
        )
        // Only a split inside a single weight cannot become one tensor.
        const isInside = found.some((at) => !due.includes(at))
        expect(places === undefined).toBe(isInside)
        expect(difference === undefined).toBe(!isInside)
      }),
    )
  })
})

test('a weight that appears twice in a file is reported', () => {
  const untied = buildGraph({ ...LLAMA, tiedEmbeddings: false })
  expect(sameGraph(buildGraph(LLAMA), untied).difference).toBe(
    'embed.weight is one weight, but the graph has output.weight and embed.weight',
  )
})
