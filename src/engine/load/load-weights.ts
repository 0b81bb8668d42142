// Loading weights. In: a prepared model and an arena. Out: the address of every slot, filled slab by slab.

import { roundUp } from '../../abi/encodings.ts'
import { weightOf } from '../../arch/tensors/names.ts'
import { ALIGNMENT, type Arena, offset, type Ptr } from '../../runtime/memory/arena.ts'
import { streamMatrix, streamVector } from '../../weights/stream.ts'
import type { PreparedModel } from './prepare.ts'

export interface WeightHooks {
  readonly signal?: AbortSignal | undefined
  /** Number of weights in memory so far, and their total. */
  readonly onWeight?: ((done: number, total: number) => void) | undefined
  /**
   * Starts a new task. Stored files are read without one: a long load would answer no message, and count as
   * dead.
   */
  readonly yieldTask?: (() => Promise<void>) | undefined
}

/**
 * Throws `out-of-memory` before reading anything, `architecture` if a tensor has the wrong shape, and read
 * errors.
 */
export async function loadWeights(
  arena: Arena,
  prepared: PreparedModel,
  hooks: WeightHooks = {},
): Promise<Ptr[]> {
  const { slots } = prepared.plan
  // Allocated in one piece: memory that grows in many steps is slower to touch for the first time.
  const sizes = slots.map(({ bytes }) => roundUp(bytes, ALIGNMENT))
  let end = arena.allocate(
    sizes.reduce((sum, bytes) => sum + bytes, 0),
    'the weights',
  )
  const addresses = sizes.map((bytes) => {
    const address = end
    end = offset(end, bytes)
    return address
  })
  for (const [index, slot] of slots.entries()) {
    const address = addresses[index] as Ptr
    const view = () => arena.u8.subarray(address, address + slot.bytes)
    const parts = slot.ref.parts.map(({ name, n }) => ({ tensor: weightOf(prepared.weights, name), n }))
    if (slot.ref.kind === 'vector') await streamVector(parts, view, hooks)
    else await streamMatrix(parts, slot.ref.k, slot.encoding, view, hooks)
    await hooks.yieldTask?.()
    hooks.signal?.throwIfAborted()
    hooks.onWeight?.(index + 1, slots.length)
  }
  return addresses
}
