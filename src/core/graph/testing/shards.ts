// Sharded graphs, for tests. In: a graph, shares. Out: its shards, which shards hold each weight, and the
// results of all shards together.
import fc from 'fast-check'
import { optimize } from '../compile-graph.ts'
import type { WeightRef } from '../ir.ts'
import type { Graph } from '../nodes.ts'
import type { EncodingOf } from '../passes/split.ts'
import { shardGraph } from '../shard/shard.ts'
import { interpret, type Machine } from './interpret.ts'

export const sharesOf = fc.array(fc.double({ min: 0.05, max: 1, noNaN: true }), {
  minLength: 1,
  maxLength: 4,
})

export const exact: EncodingOf = () => 'f32'
export const all = (graph: Graph, shares: readonly number[], encodingOf = exact) =>
  shares.map((_, shard) => shardGraph(graph, { shares, shard, encodingOf }))

export const weightsOf = (graph: Graph): WeightRef[] =>
  graph.nodes.flatMap((node) => Object.values(node).filter(isWeight))

const isWeight = (field: unknown): field is WeightRef =>
  typeof field === 'object' && field !== null && 'parts' in field

/** How many shards hold each element of each weight, as [minimum, maximum]. */
export function holders(graph: Graph, shards: readonly Graph[]): Map<string, [number, number]> {
  const counts = new Map<string, { counts: Uint8Array; k: number }>()
  for (const { parts, k } of weightsOf(graph))
    for (const { name, n } of parts) counts.set(name, { counts: new Uint8Array(n * k), k })
  for (const shard of shards) {
    const seen = new Set<string>()
    for (const { parts, k, columns } of weightsOf(shard)) {
      for (const { name, n, rows } of parts) {
        const whole = counts.get(name)!
        if (seen.has(name)) continue
        seen.add(name)
        for (const { first, count } of rows?.runs ?? [{ first: 0, count: n }]) {
          for (let row = first; row < first + count; row++) {
            const at = row * whole.k + (columns?.first ?? 0)
            for (let column = 0; column < k; column++) whole.counts[at + column]!++
          }
        }
      }
    }
  }
  return new Map(
    [...counts].map(([name, { counts: each }]) => [
      name,
      [each.reduce((a, b) => Math.min(a, b)), each.reduce((a, b) => Math.max(a, b))],
    ]),
  )
}

type Rows = Float64Array[]

/**
 * Runs the shards repeatedly, each time up to the next exchange, once the results of earlier exchanges are
 * known. Returns the logits of the first shard.
 */
export function meetAll(
  shards: readonly Graph[],
  machineWith: (meet: NonNullable<Machine['meet']>) => Parameters<typeof interpret>[1],
  step: Parameters<typeof interpret>[2],
): Rows {
  const known: Rows[] = []
  const optimized = shards.map((shard) => optimize(shard, exact))
  for (;;) {
    let parts: Rows[] = []
    let isLast = false
    const outputs = optimized.map((shard) =>
      interpret(
        shard,
        machineWith((index, own, op) => {
          if (index === known.length) parts.push(own.map((row) => row.slice()))
          if (index === known.length) isLast = op === 'collect'
          return known[index] ?? own
        }),
        step,
      ),
    )
    if (parts.length === 0) return outputs[0]!
    const rows = parts[0]!.map((_, row) => parts.map((part) => part[row]!))
    parts = []
    known.push(
      rows.map((each) =>
        isLast
          ? Float64Array.from(each.flatMap((row) => [...row]))
          : each.reduce((sum, row) => sum.map((x, i) => x + row[i]!)),
      ),
    )
  }
}

export const largest = (left: Rows, right: Rows) =>
  Math.max(...left.flatMap((row, index) => [...row].map((x, i) => Math.abs(x - right[index]![i]!))))
