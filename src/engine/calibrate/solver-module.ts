// The solver's module. In: wasm/solve, compiled. Out: dense products in f64 on SIMD, in a memory of their
// own.
import { HalfbyteError } from '../../base/errors.ts'
import type { Dense, Rows } from '../../compress/dense.ts'

const PAGE_BYTES = 65536

/** `bytes`: the most that will be asked for. All of it is freed when nothing refers to it any more. */
export async function openSolver(module: WebAssembly.Module, bytes: number): Promise<Dense> {
  const pages = Math.ceil(bytes / PAGE_BYTES) + 2
  let memory: WebAssembly.Memory
  try {
    memory = new WebAssembly.Memory({ initial: pages, maximum: pages })
  } catch (cause) {
    throw new HalfbyteError(
      'out-of-memory',
      `solving a matrix needs ${bytes} bytes and there is no room for them; close other programs, or choose --method rtn`,
      { bytes },
      { cause },
    )
  }
  const instance = await WebAssembly.instantiate(module, { env: { memory } })
  const { gemm, __heap_base: base } = instance.exports as unknown as {
    gemm: (...numbers: number[]) => void
    __heap_base: WebAssembly.Global<'i32'>
  }
  const rooms = new Map<string, Float64Array>()
  let end = Math.ceil(base.value / 16) * 16
  const address = ({ values, at }: Rows): number => values.byteOffset + 8 * at
  return {
    room(key, length) {
      let room = rooms.get(key)
      if (room === undefined || room.length < length) {
        room = new Float64Array(memory.buffer, end, length)
        rooms.set(key, room)
        end += Math.ceil(length / 2) * 16
      }
      return room.subarray(0, length).fill(0)
    },
    gemm(a, b, c, m, n, depth, sign) {
      gemm(address(a), a.stride, address(b), b.stride, address(c), c.stride, m, n, depth, sign)
    },
  }
}
