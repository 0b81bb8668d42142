// Engine rows for tests. In: a build and a vocabulary. Out: the kernels' rows in a separate memory.
import { type Build, readModule } from '../../../../../wasm/testing/machine.ts'
import { isNative, nativeExports, type Operands } from '../../../../../wasm/testing/native.ts'
import { Arena, type Ptr } from '../../../runtime/memory/arena.ts'
import type { LogitExports } from '../../../runtime/module.ts'
import { KernelRows } from '../logit-rows.ts'

type References = { readonly [K in keyof LogitExports as `${K}_reference`]: (...args: number[]) => number }

const HEAP = 1 << 20

/** Records what it allocates. */
class KnownArena extends Arena {
  readonly operands: Operands[number][] = []

  override allocate(bytes: number, purpose: string): Ptr {
    const at = super.allocate(bytes, purpose)
    this.operands.push([at, bytes])
    return at
  }
}

/** The kernels of a test module, their scalar definitions, and memory for two rows. */
export function engineRows(build: Build, vocab: number) {
  const memory = new WebAssembly.Memory({ initial: 64 })
  const arena = new KnownArena(memory, HEAP)
  const exports = (isNative
    ? nativeExports(build, memory, () => arena.operands)
    : new WebAssembly.Instance(readModule(build, 'plain'), { env: { memory } })
        .exports) as unknown as LogitExports & References
  const rows = new KernelRows(exports, arena, vocab)
  rows.reserve(vocab, true)
  const place = () => {
    // `weigh` reads in multiples of 4.
    const at = arena.allocate(Math.ceil(vocab / 4) * 16, 'a row')
    return () => new Float32Array(memory.buffer, at, vocab)
  }
  const row = place()
  const other = place()
  const put = (values: ArrayLike<number>): Float32Array => {
    row().set(values)
    return row()
  }
  return { rows, exports, arena, put, other }
}
