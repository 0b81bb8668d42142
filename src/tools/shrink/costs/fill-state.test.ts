// Filling the state cache. In: a sequence with two groups. Out: whether exactly the bytes of its blocks are
// written.
import { expect, test } from 'vitest'
import { Arena } from '../../../core/runtime/memory/arena.ts'
import { SequenceState } from '../../../core/state/sequence-state.ts'
import { StateCache } from '../../../core/state/state-cache.ts'
import { fillState } from './timed-plan.ts'

test('every byte of the blocks of all groups is written', () => {
  const arena = new Arena(new WebAssembly.Memory({ initial: 1, maximum: 64 }), 64)
  const blockBytes = [256, 512]
  const state = new SequenceState(new StateCache({ arena, blockBytes, contextLength: 1000 }))
  state.reserve(300)
  const before = arena.u8.slice()
  fillState(arena, state, blockBytes, 300)
  const isBlock = new Set(
    blockBytes.flatMap((bytes, group) =>
      [...arena.u32.subarray(state.table(group) / 4).subarray(0, 5)].flatMap((address) =>
        Array.from({ length: bytes }, (_, at) => address + at),
      ),
    ),
  )
  expect(isBlock.size).toBe(5 * (256 + 512))
  const wrong = arena.u8.findIndex((byte, at) => (isBlock.has(at) ? byte === 0 : byte !== before[at]))
  expect(wrong).toBe(-1)
})
