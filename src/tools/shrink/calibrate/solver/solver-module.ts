// The wasm module of solvers (wasm/solve): products in f64 on SIMD, in a memory that threads may share.
import { HalfbyteError } from '../../../../core/base/errors.ts'
import type { Dense, Rows } from '../../matrix/factor.ts'

const PAGE_BYTES = 65536
/** Of each thread, before its rooms. */
const STACK_BYTES = 65536

/** Bytes of a part of the memory whose rooms take `bytes`. */
export const partBytes = (bytes: number): number => (Math.ceil(bytes / PAGE_BYTES) + 2) * PAGE_BYTES

/** `bytes`: of all parts. It is freed when nothing refers to it any more. Throws `out-of-memory`. */
export function solverMemory(bytes: number): WebAssembly.Memory {
  const pages = Math.ceil(bytes / PAGE_BYTES)
  try {
    return new WebAssembly.Memory({ initial: pages, maximum: pages, shared: true })
  } catch (cause) {
    throw new HalfbyteError(
      'out-of-memory',
      `solving a matrix needs ${bytes} bytes, but there is no room for them; close other programs, or choose --method rtn`,
      { bytes },
      { cause },
    )
  }
}

/** A thread's part of the memory begins at `start`, with its stack. */
export function denseIn(module: WebAssembly.Module, memory: WebAssembly.Memory, start: number): Dense {
  const { exports } = new WebAssembly.Instance(module, { env: { memory } })
  const { gemm, __stack_pointer: stack } = exports as unknown as {
    gemm: (...numbers: number[]) => void
    __stack_pointer: WebAssembly.Global<'i32'>
  }
  const rooms = new Map<string, Float64Array>()
  let end = start + STACK_BYTES
  stack.value = end
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
    numbers: (length) => new Float64Array(new SharedArrayBuffer(8 * length)),
    gemm(a, b, c, m, n, depth, sign) {
      gemm(address(a), a.stride, address(b), b.stride, address(c), c.stride, m, n, depth, sign)
    },
  }
}

/** For one thread; `bytes`: the most that will be asked for. Throws `out-of-memory`. */
export function openSolver(module: WebAssembly.Module, bytes: number): Dense {
  return denseIn(module, solverMemory(partBytes(bytes)), 0)
}
