// Engine rows for tests. In: a build and a vocabulary. Out: the kernels' rows in a memory of their own.
import { type Build, readModule } from '../../../../wasm/test/machine.ts'
import { Arena } from '../../../runtime/arena.ts'
import type { LogitExports } from '../../../runtime/module.ts'
import { KernelRows } from '../rows.ts'

type References = { readonly [K in keyof LogitExports as `${K}_reference`]: (...args: number[]) => number }

const HEAP = 1 << 20

/** The kernels of a test module, the scalar definitions beside them, and places for a row and another. */
export function engineRows(build: Build, vocab: number) {
  const memory = new WebAssembly.Memory({ initial: 64 })
  const exports = new WebAssembly.Instance(readModule(build, 'plain'), { env: { memory } })
    .exports as unknown as LogitExports & References
  const arena = new Arena(memory, HEAP)
  const rows = new KernelRows(exports, arena, vocab)
  rows.reserve(vocab, true)
  const place = () => {
    const at = arena.allocate(vocab * 4, 'a row')
    return () => new Float32Array(memory.buffer, at, vocab)
  }
  const [row, other] = [place(), place()]
  const put = (values: ArrayLike<number>): Float32Array => {
    row().set(values)
    return row()
  }
  return { rows, exports, arena, put, other }
}
