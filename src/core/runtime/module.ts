// Instantiates a compiled engine module on a memory, and checks that both use the same ABI.

import { ABI_VERSION } from '../abi/ops.ts'
import { HalfbyteError, reasonOf } from '../base/errors.ts'

/** Exports of wasm/core/run.c. Addresses above 2 GiB may arrive as negative numbers: use `>>> 0`. */
export interface EngineExports extends LogitExports {
  /** Runs op records [first, last). Returns 0 when done, 1 if the pool is poisoned. */
  run(
    sync: number,
    plan: number,
    step: number,
    first: number,
    last: number,
    thread: number,
    threads: number,
  ): number
  /** A compute worker's loop. Returns once the sync block's `quit` is set. Only in shared modules. */
  serve(sync: number, thread: number): void
  /** Makes all threads of the pool leave `run` and `serve`. */
  poison(sync: number): void
  abi_version(): number
  /** The sum of wasm/weights/adler.c, perhaps as a negative number. */
  adler(sum: number, address: number, count: number): number
  readonly __stack_pointer: WebAssembly.Global
  readonly __heap_base: WebAssembly.Global
}

/**
 * Exports of wasm/sampling/topk.c and wasm/sampling/logits.c, which document each one. `row` and similar
 * arguments are addresses of f32.
 */
export interface LogitExports {
  /**
   * Returns how many logits and ids `work` now contains, best first. 0xffffffff (perhaps as -1) if a logit is
   * NaN.
   */
  logits_top(
    row: number,
    n: number,
    most: number,
    least: number,
    maxima: number,
    work: number,
    room: number,
  ): number
  logits_guide(row: number, guide: number, n: number, scale: number): void
  logits_mask(row: number, words: number, n: number): void
  logits_sum_exp(row: number, n: number, best: number, scale: number, least: number): number
  /** `out`: four f64. */
  logits_spread(row: number, n: number, out: number): void
  logits_weigh(logits: number, count: number, scale: number, weights: number): number
}

/**
 * Throws `internal` if the module and the library have different versions, `out-of-memory` if the instance
 * cannot be created.
 */
export function instantiateEngine(module: WebAssembly.Module, memory: WebAssembly.Memory): EngineExports {
  const instance = instantiate(module, memory)
  const engine = instance.exports as unknown as EngineExports
  const found = typeof engine.abi_version === 'function' ? engine.abi_version() : 0
  if (found !== ABI_VERSION) {
    throw new HalfbyteError(
      'internal',
      `the WebAssembly file has version ${found} but this library needs ${ABI_VERSION}; ` +
        'serve all files from one release and clear the cache',
      { found, needed: ABI_VERSION },
    )
  }
  return engine
}

function instantiate(module: WebAssembly.Module, memory: WebAssembly.Memory): WebAssembly.Instance {
  try {
    return new WebAssembly.Instance(module, { env: { memory } })
  } catch (cause) {
    const reason = reasonOf(cause)
    const detail = { memoryBytes: memory.buffer.byteLength, reason }
    if (cause instanceof RangeError) {
      throw new HalfbyteError(
        'out-of-memory',
        `a thread of the engine could not be started: ${reason}; use fewer threads or close other tabs`,
        detail,
        { cause },
      )
    }
    throw new HalfbyteError(
      'internal',
      `the WebAssembly file does not match this library: ${reason}; serve all files from one release`,
      detail,
      { cause },
    )
  }
}
