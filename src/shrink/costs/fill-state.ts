// Filling. In: a sequence's state. Out: its blocks written, as a conversation would have left them.
import { BLOCK_POSITIONS } from '../../abi/constants.ts'
import type { Arena } from '../../runtime/memory/arena.ts'
import type { SequenceState } from '../../state/sequence-state.ts'

/**
 * 0x3c3c3c3c is 0.01 as f32, and 60 as a code. The value does not affect timings, only the fact that memory
 * was written.
 */
const BYTE = 0x3c

/**
 * Writes the first `positions` positions of all groups of keys and values, whole blocks. Memory that was
 * never written is one page of zeros to the machine: reading it measures a cache. `blockBytes`: of each
 * group.
 */
export function fillState(
  arena: Arena,
  state: SequenceState,
  blockBytes: readonly number[],
  positions: number,
): void {
  for (const group of state.tables.keys()) {
    const bytes = blockBytes[group] ?? 0
    for (let block = 0; block < Math.ceil(positions / BLOCK_POSITIONS); block++) {
      const address = arena.u32[state.table(group) / 4 + block] ?? 0
      // This block has left the window.
      if (address !== 0) arena.u8.fill(BYTE, address, address + bytes)
    }
  }
}
