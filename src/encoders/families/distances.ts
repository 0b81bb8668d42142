// Biases of scores by head and distance: makes the table that an encoder's attention reads.
import type { ModelConfig } from '../../core/arch/config/config.ts'
import { filledSource } from '../../core/base/bytes.ts'
import type { TensorInfo } from '../../core/formats/tensors.ts'
import { biasColumns } from '../../core/graph/ir.ts'

/** The bias of a head's score for a position `distance` after the row's own. */
export type BiasOf = (head: number, distance: number) => number

/** The table of every distance between two positions of a text. `read` is called once. */
export function distanceTable(
  { name, heads, contextLength }: ModelConfig,
  read: (signal?: AbortSignal) => BiasOf | Promise<BiasOf>,
): TensorInfo {
  const reach = contextLength - 1
  const columns = biasColumns(reach)
  const length = heads * columns
  const source = filledSource(name, 4 * length, async (target, offset, signal) => {
    const biasOf = await read(signal)
    const table = Float32Array.from({ length }, (_, at) => {
      const distance = (at % columns) - reach
      return distance > reach ? 0 : biasOf(Math.floor(at / columns), distance)
    })
    target.set(new Uint8Array(table.buffer).subarray(offset, offset + target.length))
  })
  return { name, dtype: 'F32', shape: [length], offset: 0, byteLength: 4 * length, source }
}
