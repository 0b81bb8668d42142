// Tests moving positions. In: a plan with two kinds of layers, blocks of a state cache. Out: keys as if
// written at the new positions.
import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { graphBuilder, matrix } from '../../graph/builder.ts'
import { compile } from '../../graph/compile-graph.ts'
import type { KvFormat } from '../../graph/ir.ts'
import { blockBytes } from '../../graph/plan/layouts.ts'
import { instantiateEngine } from '../module.ts'
import { SinglePool } from '../pool.ts'
import { Arena, type Ptr } from './arena.ts'
import { KvShift } from './kv-shift.ts'

const FILE = new URL('../../../../dist/wasm/halfbyte-simd128-plain.wasm', import.meta.url)
const ROPES = [1, 0.01].map((base) => Float64Array.from({ length: 4 }, (_, pair) => base / (pair + 1)))

/** Three attention layers: two with different rotations, and one with a window. */
function planOf(kvCache: KvFormat) {
  const b = graphBuilder()
  let x = b.embed('embed', matrix(16, { embed: 10 }))
  for (const [layer, window] of [0, 0, 8].entries()) {
    const qkv = matrix(16, { [`${layer}.q`]: 16, [`${layer}.k`]: 8, [`${layer}.v`]: 8 })
    const parts = b.parts(b.linear(`${layer}.qkv`, x, qkv), qkv)
    const shape = { layer, heads: 2, kvHeads: 1, headDim: 8, window }
    x = b.attend(`${layer}.attn`, parts, shape, { table: layer % 2, dims: 8, pairing: 'halves' })
  }
  return compile(b.finish(x), { encodingOf: () => 'f32', tokens: 4, logitRows: 4, kvCache })
}

function engineOf(kvCache: KvFormat) {
  const memory = new WebAssembly.Memory({ initial: 16 })
  const engine = instantiateEngine(new WebAssembly.Module(readFileSync(FILE)), memory)
  const arena = new Arena(memory, Number(engine.__heap_base.value))
  const plan = planOf(kvCache)
  const shift = new KvShift({ pool: new SinglePool(engine, arena), arena, plan, slots: [], ropes: ROPES })
  const table = (blocks: readonly Ptr[]): Ptr => {
    const at = arena.allocate(blocks.length * 4, 'a table')
    arena.u32.set(blocks, at / 4)
    return at
  }
  const take = (group: number) => arena.allocate(blockBytes(plan.stateGroups[group]!), 'a block')
  return { arena, plan, shift, table, take }
}

/** Byte offset of element d of position p in f32 keys. */
const keyAt = (p: number, d: number) => (Math.floor(p / 4) * 8 + d) * 4 + (p % 4)

describe('KvShift', () => {
  test('rotates the keys of each layer by its own frequencies and copies the values', () => {
    const { arena, plan, shift, table, take } = engineOf({ k: 'f32', v: 'f32' })
    const blocks = plan.stateGroups.map((_, group) => [take(group), take(group)])
    const tables = blocks.map(table)
    for (const each of blocks.flat()) arena.f32.fill(0, each / 4, each / 4 + 1024)
    const layers = plan.ops.filter(({ name }) => name === 'rope_kv').map(({ fields }) => fields)
    for (const { group, k_offset: k, v_offset: v } of layers) {
      // Position 70 has the pair (1, 0) at dimensions 0 and 4, and the value 5.
      const block = blocks[Number(group)]![1]!
      arena.f32[(block + Number(k)) / 4 + keyAt(6, 0)] = 1
      arena.f32[(block + Number(v)) / 4 + 6 * 4] = 5
    }
    shift.move({ tables, position: 66 }, { tables, position: 60 }, 6)
    for (const { group, k_offset: k, v_offset: v, rope } of layers) {
      const block = blocks[Number(group)]![1]!
      const turned = [0, 4].map((d) => arena.f32[(block + Number(k)) / 4 + keyAt(0, d)]!)
      const angle = -6 * ROPES[Number(rope)]![0]!
      expect(turned[0]).toBeCloseTo(Math.cos(angle), 6)
      expect(turned[1]).toBeCloseTo(Math.sin(angle), 6)
      expect(arena.f32[(block + Number(v)) / 4]).toBe(5)
    }
  })

  test('moving by zero changes nothing, not even int8 codes', () => {
    const { arena, plan, shift, table, take } = engineOf({ k: 'int8', v: 'fp8' })
    const sources = plan.stateGroups.map((_, group) => take(group))
    const targets = plan.stateGroups.map((_, group) => take(group))
    for (const [group, source] of sources.entries()) {
      const bytes = blockBytes(plan.stateGroups[group]!)
      for (let i = 0; i < bytes; i++) arena.u8[source + i] = (i * 7 + group) & 0x3f
    }
    const [from, to] = [sources, targets].map((blocks) => blocks.map((block) => table([block])))
    shift.move({ tables: from!, position: 0 }, { tables: to!, position: 0 }, 64)
    for (const [group, source] of sources.entries()) {
      const bytes = blockBytes(plan.stateGroups[group]!)
      const target = targets[group]!
      expect(arena.u8.slice(target, target + bytes)).toEqual(arena.u8.slice(source, source + bytes))
    }
  })

  test('rejects moving up within the same blocks', () => {
    const { plan, shift, table, take } = engineOf({ k: 'f32', v: 'f32' })
    const tables = plan.stateGroups.map((_, group) => table([take(group)]))
    expect(() => shift.move({ tables, position: 3 }, { tables, position: 5 }, 4)).toThrow(/not from 3 to 5/)
  })
})
