// Tests writing plans. In: plans with wrong fields. Out: errors, before anything runs.
import { expect, test } from 'vitest'
import { matrixBytes } from '../abi/encodings.ts'
import { opEntry } from '../abi/ops.ts'
import type { Plan, PlanOp } from '../graph/plan/plan.ts'
import { Arena, type Ptr } from './memory/arena.ts'
import { additions } from './testing/additions.ts'
import { writePlan } from './write-plan.ts'

/** Every field of an op, as 0. */
const zeros = (name: PlanOp['name']) =>
  Object.fromEntries(['rows', ...opEntry(name).fields].map((field) => [field, 0]))

test('a plan that does not match its records or its weights is rejected', () => {
  const arena = new Arena(new WebAssembly.Memory({ initial: 4 }), 64)
  const plan = additions()
  expect(() => writePlan(arena, plan, [64 as Ptr])).toThrow(/has 0 weights but 1 are loaded/)
  const { n: _, ...lacking } = plan.ops[0]!.fields
  expect(() => writePlan(arena, { ...plan, ops: [{ ...plan.ops[0]!, fields: lacking }] }, [])).toThrow(
    /lacks the field n/,
  )
  const excess = { ...plan.ops[0]!.fields, window: 1 }
  expect(() => writePlan(arena, { ...plan, ops: [{ ...plan.ops[0]!, fields: excess }] }, [])).toThrow(
    /unknown field window/,
  )
})

test('a plan whose records exceed the arena, a weight or the range of a word is rejected', () => {
  const arena = new Arena(new WebAssembly.Memory({ initial: 4 }), 64)
  const plan = additions()
  const [op] = plan.ops
  const ref = { name: 'w', k: 96, parts: [] }
  const slots = [{ ref, encoding: 'w4_g32', n: 64, bytes: matrixBytes('w4_g32', 64, 96) }] as const
  const linear = (k: number) => ({
    name: 'linear_w4a8_g32' as const,
    label: 'w [tokens, 64]',
    fields: {
      rows: 0,
      w: { slot: 0 },
      bias: 0,
      n: 64,
      k,
      x: { arena: 0 },
      x_stride: 0,
      y: { arena: 0 },
      y_stride: 0,
      accumulate: 0,
    },
  })
  const write = (fields: Partial<PlanOp['fields']>) => () =>
    writePlan(
      arena,
      { ...plan, ops: [{ ...op!, fields: { ...op!.fields, ...fields } as PlanOp['fields'] }] },
      [],
    )
  const read = (k: number) => () =>
    writePlan(arena, { ...plan, slots, ops: [linear(k)] } as unknown as Plan, [64 as Ptr])
  expect(write({})).not.toThrow()
  // Attention of two heads with a reach of 9 positions reads 2 * (2 * 9 + 64) biases.
  const attend = (count: number) => () => {
    const fields = { ...zeros('attention'), bias: { slot: 0 }, heads: 2, reach: 9 }
    const table = { ref: { ...ref, kind: 'vector' }, encoding: 'f32', n: count, bytes: 4 * count } as const
    writePlan(arena, { ...plan, slots: [table], ops: [{ name: 'attention', label: 'attn', fields }] }, [
      64 as Ptr,
    ])
  }
  expect(read(96)).not.toThrow()
  expect(attend(164)).not.toThrow()
  for (const refused of [
    write({ x: { arena: plan.arenaBytes } }),
    write({ y_stride: 2 ** 20 }),
    write({ n: 2 ** 32 }),
    write({ n: Number.NaN }),
    write({ n: 0.5 }),
    write({ x: { slot: 0 } }),
    read(128),
    attend(163),
  ]) {
    expect(refused).toThrow(expect.objectContaining({ code: 'internal' }))
  }
})
