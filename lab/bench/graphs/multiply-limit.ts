// Measures how many multiplications and additions of f32 vectors a thread can do: a function that the graph
// compiler's assembler writes, which reads nothing from memory.
import { FunctionBody, moduleBytes } from '../../../src/network/compile/wasm/assembler.ts'

/** Independent sums: enough to hide the latency of an addition, few enough for 16 registers. */
const SUMS = 12
const ROUNDS = 4
const LANES = 4
const TIMES = 500_000
/** Enough that one of them is not disturbed. */
const RUNS = 60

/** GFLOP/s of fused multiply-add, the best of a few runs. */
export function multiplyLimit(): number {
  const code = new FunctionBody(3)
  const left = code.parameter(1)
  const x = code.local('v128')
  const y = code.local('v128')
  const sums = Array.from({ length: SUMS }, () => code.local('v128'))
  code.floats(1e-3).set(x).floats(0.5).set(y)
  code.loop(() => {
    for (let round = 0; round < ROUNDS; round++)
      for (const sum of sums) code.get(x).get(y).get(sum).vector('f32x4.relaxed_madd').set(sum)
    code.increase(left, -1).get(left)
  })
  // Storing the sums keeps them from being removed.
  for (const [at, sum] of sums.entries())
    code
      .get(code.parameter(0))
      .get(sum)
      .memory('v128.store', 16 * at)
  const memory = new WebAssembly.Memory({ initial: 1 })
  const module = new WebAssembly.Module(moduleBytes([code.encoded()], { parameters: 3 }))
  const { f0 } = new WebAssembly.Instance(module, { env: { memory } }).exports as {
    f0: (to: number, left: number, unused: number) => void
  }
  let best = 0
  for (let run = 0; run < RUNS; run++) {
    const start = performance.now()
    f0(64, TIMES, 0)
    const seconds = (performance.now() - start) / 1000
    // The first runs are not optimised yet.
    best = Math.max(best, (2 * LANES * SUMS * ROUNDS * TIMES) / seconds / 1e9)
  }
  return best
}
