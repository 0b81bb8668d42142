// The solvers' wasm module (wasm/solve): products with SIMD, in a memory that threads may share.
import { HalfbyteError } from '../../../../core/base/errors.ts'
import type { Dense, Rows } from '../../matrix/factor.ts'
import type { CodeKernels } from '../products/code-kernels.ts'

const PAGE_BYTES = 65536
/** Stack of each thread, before its buffers. */
export const STACK_BYTES = 65536

/** Bytes of a thread's part of the memory whose buffers take `bytes`. */
export const partBytes = (bytes: number): number => (Math.ceil(bytes / PAGE_BYTES) + 2) * PAGE_BYTES

/** `bytes`: size of all parts together. Freed by garbage collection. Throws `out-of-memory`. */
export function solverMemory(bytes: number): WebAssembly.Memory {
  const pages = Math.ceil(bytes / PAGE_BYTES)
  try {
    return new WebAssembly.Memory({ initial: pages, maximum: pages, shared: true })
  } catch (cause) {
    throw new HalfbyteError(
      'out-of-memory',
      `solving a matrix needs ${bytes} bytes, which could not be allocated; close other programs, or choose --method rtn`,
      { bytes },
      { cause },
    )
  }
}

type Exports = Record<
  'gemm' | 'add_products' | 'code_columns' | 'code_rows' | 'add_code_sums' | 'add_code_rows',
  (...numbers: number[]) => void
>

/** `start`: where a thread's stack begins. */
function open(module: WebAssembly.Module, memory: WebAssembly.Memory, start: number): Exports {
  const { exports } = new WebAssembly.Instance(module, { env: { memory } })
  const own = exports as unknown as Exports & { readonly __stack_pointer: WebAssembly.Global<'i32'> }
  own.__stack_pointer.value = start + STACK_BYTES
  return own
}

/** `start`: where a thread's part of the memory begins, with its stack. */
export function codesIn(module: WebAssembly.Module, memory: WebAssembly.Memory, start: number): CodeKernels {
  const own = open(module, memory, start)
  return {
    codeColumns: (x, stride, rows, width, to) =>
      own.code_columns(x, stride, rows, width, to.codes, to.scales),
    codeRows: (x, stride, rows, width, to) => own.code_rows(x, stride, rows, width, to.codes, to.scales),
    add({ a, b, first, step, c, stride, type, isLower }) {
      const add = type === 'sums' ? own.add_code_sums : own.add_code_rows
      const operands = [a.codes, a.scales, a.panels, b.codes, b.scales] as const
      add(...operands, b.panels, first, step, a.pairs, c, stride, isLower ? 1 : 0)
    },
  }
}

/** `start`: where a thread's part of the memory begins, with its stack. */
export function denseIn(module: WebAssembly.Module, memory: WebAssembly.Memory, start: number): Dense {
  const { gemm, add_products: addProducts } = open(module, memory, start)
  let end = start + STACK_BYTES
  /** Buffers by key, which are reused until a longer one is needed. */
  const roomsOf = <Values extends Float64Array | Float32Array>(
    Type: new (memory: ArrayBufferLike, at: number, length: number) => Values,
  ) => {
    const rooms = new Map<string, Values>()
    return (key: string, length: number): Values => {
      let room = rooms.get(key)
      if (room === undefined || room.length < length) {
        room = new Type(memory.buffer, end, length)
        rooms.set(key, room)
        end += Math.ceil(room.byteLength / 16) * 16
      }
      return room.subarray(0, length).fill(0) as Values
    }
  }
  const address = ({ values, at }: Rows<Float64Array | Float32Array>): number =>
    values.byteOffset + values.BYTES_PER_ELEMENT * at
  return {
    room: roomsOf(Float64Array),
    floats: roomsOf(Float32Array),
    numbers: (length) => new Float64Array(new SharedArrayBuffer(8 * length)),
    gemm(a, b, c, m, n, depth, sign) {
      gemm(address(a), a.stride, address(b), b.stride, address(c), c.stride, m, n, depth, sign)
    },
    addProducts(a, b, c, m, n, depth) {
      addProducts(address(a), a.stride, address(b), b.stride, address(c), c.stride, m, n, depth)
    },
  }
}

/** For a single thread. `bytes`: the maximum that will be requested. Throws `out-of-memory`. */
export function openSolver(module: WebAssembly.Module, bytes: number): Dense {
  return denseIn(module, solverMemory(partBytes(bytes)), 0)
}
