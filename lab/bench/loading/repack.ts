// Measures how long stored rows take to become panels on one thread, and stored bytes to be summed. In:
// nothing. Out: processor milliseconds per MB in JavaScript and in WebAssembly, which take turns.
//
//   npx node lab/bench/loading/repack.ts
import { readFileSync } from 'node:fs'
import { ROWS, STORED_TYPE } from '../../../src/core/abi/constants.ts'
import { ENCODINGS, type Encoding, matrixBytes } from '../../../src/core/abi/encodings.ts'
import { OPS } from '../../../src/core/abi/ops.ts'
import { rowBytes } from '../../../src/core/formats/dtypes.ts'
import { codingOf } from '../../../src/core/formats/gguf/group-readers.ts'
import { Arena } from '../../../src/core/runtime/memory/arena.ts'
import { instantiateEngine } from '../../../src/core/runtime/module.ts'
import { addSum, PIECE_BYTES } from '../../../src/core/store/device/sums.ts'
import { packRows } from '../../../src/core/weights/slabs.ts'
import { spread } from '../spread.ts'

const ROUNDS = 31
/** Rounds before the measurement, in which the browser's engine compiles the code again. */
const WARM_UP = 10
const K = 1024
const N = 1024

const file = new URL('../../../dist/wasm/halfbyte-relaxed-plain.wasm', import.meta.url)
const memory = new WebAssembly.Memory({ initial: 512 })
const engine = instantiateEngine(new WebAssembly.Module(readFileSync(file)), memory)
const arena = new Arena(memory, engine.__heap_base.value)
const from = arena.allocate(4 << 20, 'the rows')
const to = arena.allocate(4 << 20, 'the panels')
const record = arena.allocate(256, 'the record')

/** Medians of both works, in processor milliseconds. */
function inTurns(...works: readonly (() => void)[]): number[] {
  const times = works.map(() => [] as number[])
  for (let round = 0; round < WARM_UP + ROUNDS; round++)
    for (const [at, work] of works.entries()) {
      const begun = process.cpuUsage()
      work()
      const { user, system } = process.cpuUsage(begun)
      if (round >= WARM_UP) times[at]!.push((user + system) / 1000)
    }
  return times.map((each) => spread(each).median)
}

const cells = (values: readonly number[], bytes: number) =>
  values.map((ms) => (ms / (bytes / 1e6)).toFixed(2)).join(' | ')

console.log('| | JavaScript | WebAssembly |\n|---|--:|--:|')
const kinds: Readonly<Record<keyof typeof STORED_TYPE, Encoding>> = {
  Q4_0: 'w4_g32',
  Q4_1: 'w4m_g32',
  Q5_0: 'w8_g32',
  Q8_0: 'w8_g32',
  Q4_K: 'w4m_g32',
  Q5_K: 'w8_g32',
  Q6_K: 'w8_g32',
}
for (const [name, encoding] of Object.entries(kinds)) {
  const dtype = name as keyof typeof STORED_TYPE
  const bytes = N * rowBytes(dtype, K)
  // Bytes below 0x40 are finite scales wherever a scale is.
  for (let at = 0; at < bytes; at++) arena.u8[from + at] = ((at * 37) ^ (at >> 5)) & 0x3b
  const fields = [from, to, K, N / 8, STORED_TYPE[dtype], ENCODINGS[encoding].code, record + 128]
  arena.u32.set([OPS.repack.code, ROWS.tokens, ...fields], record / 4)
  const source = arena.u8.slice(from, from + bytes)
  const target = new Uint8Array(matrixBytes(encoding, N, K))
  const times = inTurns(
    () => packRows({ dtype, coding: codingOf(dtype), encoding, k: K, rows: N, source, target }),
    () => engine.run(0, record, record, 0, 1, 0, 1),
  )
  console.log(`| ${dtype} into ${encoding} | ${cells(times, bytes)} |`)
}
const piece = arena.u8.slice(from, from + PIECE_BYTES)
const repeated = (work: () => unknown) => () => {
  for (let turn = 0; turn < 16; turn++) work()
}
const times = inTurns(
  repeated(() => addSum(0, piece)),
  repeated(() => engine.adler(0, from, PIECE_BYTES)),
)
console.log(`| checksum | ${cells(times, 16 * PIECE_BYTES)} |`)
