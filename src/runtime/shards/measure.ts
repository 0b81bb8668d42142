// Measuring. In: an engine and its memory. Out: how many bytes of weights its thread reads and multiplies per
// millisecond.

import { STEP, STEP_WORDS, SYNC_WORDS } from '../../abi/blocks.ts'
import { ABI } from '../../abi/constants.ts'
import { matrixBytes } from '../../abi/encodings.ts'
import { steadyClock } from '../../base/time/clocks.ts'
import type { PlanOp } from '../../graph/plan/plan.ts'
import { a8Stride, floatStride } from '../../graph/plan/strides.ts'
import type { Arena } from '../memory/arena.ts'
import type { EngineExports } from '../module.ts'
import { writeRecord } from '../write-plan.ts'

/** More than the private caches of a core hold. */
const SIZE = { n: 8192, k: 1024 } as const
const WINDOWS = 3
/** Ends a window where the clock stands still: enough for a rate. */
const MOST_RUNS = 128
/** Less than any run takes, so that a coarse clock gives no endless rate. */
const LEAST_MS = 0.001

/**
 * Decodes with one matrix for about `ms`. That time has three parts, and the best one counts. Leaves the
 * arena unchanged.
 */
export function measureRate(
  engine: EngineExports,
  arena: Arena,
  ms: number,
  clock: () => number = () => performance.now(),
): number {
  const now = steadyClock(clock)
  const mark = arena.mark()
  const { n, k } = SIZE
  const bytes = matrixBytes('w4_g32', n, k)
  const take = (size: number): number => arena.allocate(size, 'a measurement')
  const [w, x, y, step, sync, record] = [
    ...[take(bytes), take(a8Stride(k)), take(floatStride(n))],
    ...[take(STEP_WORDS * 4), take(SYNC_WORDS * 4), take(ABI.OP_BYTES)],
  ] as [number, number, number, number, number, number]
  arena.u32.fill(0, sync / 4, sync / 4 + SYNC_WORDS)
  arena.u32.fill(0, step / 4, step / 4 + STEP_WORDS)
  arena.u32[step / 4 + STEP.tokens] = 1
  arena.u8.fill(0, x, y)
  const fields: PlanOp['fields'] = {
    ...{ rows: 0, w, bias: 0, n, k, x, x_stride: a8Stride(k), y, y_stride: floatStride(n), accumulate: 0 },
  }
  writeRecord(arena, record, { name: 'linear_w4a8_g32', label: 'measure', fields }, () => 0)
  const run = (): void => void engine.run(sync, record, step, 0, 1, 0, 1)
  // First touch of the memory, and code that is not yet optimised.
  arena.u8.fill(0, w, w + bytes)
  run()
  let best = 0
  for (let window = 0; window < WINDOWS; window++) {
    const start = now()
    let [runs, spent] = [0, 0]
    while (spent < ms / WINDOWS && runs < MOST_RUNS) {
      run()
      runs++
      spent = now() - start
    }
    best = Math.max(best, (runs * bytes) / Math.max(spent, LEAST_MS))
  }
  // Fresh memory is zero, and the next user relies on that.
  arena.u8.fill(0, mark, arena.mark())
  arena.reset(mark)
  return best
}
