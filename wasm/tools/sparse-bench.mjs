// Measures the speed of every sparse kernel, next to the dense one, by the share of weights kept, with the
// built test modules.
//
// Cold: the matrix is one of many copies that are together larger than any cache. Samples of 1 ms alternate
// between dense and sparse. The figures are the 10th percentiles, which other work on the machine affects
// least, and the interquartile ranges of the ratios.
//
//   node wasm/tools/sparse-bench.mjs [rounds] [name part] [--threads 2] [--curves]

import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { Worker } from 'node:worker_threads'
import { SYNC, SYNC_WORDS } from '../../src/core/abi/constants.ts'
import { ENCODINGS, matrixBytes, sparseEncodings, sparseParts } from '../../src/core/abi/encodings.ts'
import { OPS } from '../../src/core/abi/ops.ts'
import { sparseSlot } from '../../src/core/weights/sparse/pack.ts'
import { dropWeights, keeper } from '../../src/core/weights/sparse/testing/matrices.ts'
import { randomFrom } from '../../test/helpers/random.ts'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    threads: { type: 'string', default: '1' },
    curves: { type: 'boolean', default: false },
    shape: { type: 'string', default: '4864x896' },
    build: { type: 'string', default: 'relaxed,simd128' },
    rows: { type: 'string', default: '1' },
    kept: { type: 'string', default: '0.75,0.5,0.3,0.1' },
  },
})
const [rounds = '40', only = ''] = positionals
const threads = Number(values.threads)
const rows = Number(values.rows)
const [n, k] = values.shape.split('x').map(Number)
const MEGABYTE = 2 ** 20
/** Bytes of all copies of one matrix: more than a last-level cache. */
const COLD_BYTES = 72 * MEGABYTE
const BASE = 2 * MEGABYTE
const STACK_BYTES = 65536

const random = randomFrom(1)

/** Random codes, scales of ordinary size. */
const densePanels = (base) => {
  const bytes = new Uint8Array(matrixBytes(base, n, k))
  const block = base === 'w4_g32' ? 144 : 272
  for (let at = 0; at < bytes.length; at++) bytes[at] = Math.floor(random() * 256)
  for (let at = 0; at < bytes.length; at += block)
    for (let i = 0; i < 8; i++) bytes[at + 2 * i + 1] = 0x30 | (bytes[at + 2 * i + 1] & 0x83)
  return bytes
}

/** One build on one memory: activations, outputs, a step, and compute threads. */
const openMachine = async (build) => {
  const file = new URL(
    `../../build/test-wasm/halfbyte-${build}-${threads === 1 ? 'plain' : 'shared'}.wasm`,
    import.meta.url,
  )
  const module = new WebAssembly.Module(readFileSync(file))
  const pages = (BASE + 2 * COLD_BYTES + 32 * MEGABYTE) / 65536
  const memory = new WebAssembly.Memory(
    threads === 1 ? { initial: pages } : { initial: pages, maximum: 65536, shared: true },
  )
  const { exports } = new WebAssembly.Instance(module, { env: { memory } })
  const [u8, u32, f32] = [Uint8Array, Uint32Array, Float32Array].map((type) => new type(memory.buffer))
  let next = BASE + 2 * COLD_BYTES
  const allocate = (bytes) => {
    const at = next
    next = Math.ceil((next + bytes) / 64) * 64
    return at
  }
  const stride = k * 1.25
  const x = allocate(rows * stride)
  const y = allocate(rows * n * 4)
  const step = allocate(64)
  const sync = allocate(SYNC_WORDS * 4)
  for (let i = 0; i < rows * stride; i++) u8[x + i] = ((i * 37 + (i >> 3)) % 255) - 127
  for (let row = 0; row < rows; row++) {
    const at = x + row * stride
    f32.fill(0.01, (at + k) / 4, (at + k * 1.125) / 4)
    for (let g = 0; g < k / 32; g++) {
      const codes = new Int8Array(memory.buffer, at + 32 * g, 32)
      u32[(at + k * 1.125) / 4 + g] = codes.reduce((sum, code) => sum + code, 0)
    }
  }
  u32[step / 4] = rows
  const workers = []
  for (let thread = 1; thread < threads; thread++) {
    const workerData = {
      module,
      memory,
      stackTop: allocate(STACK_BYTES) + STACK_BYTES,
      sync,
      thread,
      task: 'serve',
    }
    const worker = new Worker(new URL('../testing/worker.mjs', import.meta.url), { workerData })
    await once(worker, 'message')
    workers.push(worker)
  }
  const words = new Int32Array(memory.buffer)
  const run = (op) => {
    if (threads > 1) {
      const at = sync / 4
      words.set([op, step, 0, 1, threads], at + SYNC.plan)
      Atomics.add(words, at + SYNC.command, 1)
      Atomics.notify(words, at + SYNC.command)
    }
    exports.run(sync, op, step, 0, 1, 0, threads)
  }
  const close = () => {
    words[sync / 4 + SYNC.quit] = 1
    Atomics.add(words, sync / 4 + SYNC.command, 1)
    Atomics.notify(words, sync / 4 + SYNC.command)
    for (const worker of workers) worker.terminate()
  }
  return { memory, u8, u32, f32, allocate, run, close, y, x, stride }
}

/** Places copies of a matrix in the machine. Returns a call that uses the next copy. */
const lay = (machine, bytes, region, fields) => {
  const size = Math.ceil(bytes.length / 64) * 64
  const copies = Math.max(1, Math.floor(COLD_BYTES / size))
  const first = BASE + region * COLD_BYTES
  for (let copy = 0; copy < copies; copy++) machine.u8.set(bytes, first + copy * size)
  const op = machine.allocate(96)
  machine.u32.fill(0, op / 4, op / 4 + 24)
  machine.u32.set(
    [fields.code, 0, first, 0, n, k, machine.x, machine.stride, machine.y, n * 4, 0, fields.encoding],
    op / 4,
  )
  let copy = 0
  return (isCold) => {
    if (isCold) copy = (copy + 1) % copies
    machine.u32[op / 4 + 2] = first + copy * size
    machine.run(op)
  }
}

const at = (samples, part) =>
  [...samples].sort((a, b) => a - b)[Math.floor((samples.length - 1) * part)] ?? Number.NaN
const time = (call, calls, isCold) => {
  const start = performance.now()
  for (let i = 0; i < calls; i++) call(isCold)
  return (performance.now() - start) / calls
}

const compareWithDense = (dense, sparse) => {
  const calls = [dense, sparse].map((call) => {
    for (let i = 0; i < 10; i++) call(true)
    return Math.max(
      1,
      Math.ceil(
        1 /
          at(
            Array.from({ length: 10 }, () => time(call, 1, true)),
            0,
          ),
      ),
    )
  })
  const samples = { cold: [[], []], warm: [[], []] }
  for (let round = 0; round < Number(rounds); round++) {
    for (const [index, call] of [dense, sparse].entries()) {
      samples.cold[index].push(time(call, calls[index], true))
      if (round % 2 === 0) {
        call(false)
        samples.warm[index].push(time(call, calls[index], false))
      }
    }
  }
  return samples
}

const groups = (n * k) / 256
const curves = {}
console.log(`${n} x ${k}, ${rows} row${rows > 1 ? 's' : ''}, ${threads} thread${threads > 1 ? 's' : ''}`)
console.log(
  'encoding, build, kept'.padEnd(32),
  'bytes | cold: ns/group  dense  ratio (quarters)  | warm: ns/group  dense  ratio',
)
for (const build of values.build.split(',')) {
  const machine = await openMachine(build)
  for (const base of ['w4_g32', 'w8_g32']) {
    for (const encoding of sparseEncodings(base)) {
      if (!encoding.includes(only)) continue
      const { format } = sparseParts(encoding)
      const curve = []
      for (const share of values.kept.split(',').map(Number)) {
        const panels = densePanels(base)
        dropWeights(base, panels, k, keeper(format, share, random))
        const slot = sparseSlot(base, format, panels, k)
        const code = base === 'w4_g32' ? OPS.linear_w4a8_g32.code : OPS.linear_w8a8_g32.code
        const dense = lay(machine, panels, 0, { code, encoding: 0 })
        const sparse = lay(machine, slot, 1, {
          code: OPS.linear_sparse.code,
          encoding: ENCODINGS[encoding].code,
        })
        dense(false)
        const expected = machine.f32.slice(machine.y / 4, machine.y / 4 + rows * n)
        machine.f32.fill(0, machine.y / 4, machine.y / 4 + rows * n)
        sparse(false)
        const found = machine.f32.slice(machine.y / 4, machine.y / 4 + rows * n)
        if (found.some((value, i) => value !== expected[i])) throw new Error('sparse and dense differ')
        const { cold, warm } = compareWithDense(dense, sparse)
        const text = [cold, warm].map(([a, b]) => {
          const ratios = a.map((value, i) => value / b[i])
          const [mine, theirs] = [b, a].map((samples) => (at(samples, 0.1) * 1e6) / groups)
          const quarters = `(${at(ratios, 0.25).toFixed(2)}-${at(ratios, 0.75).toFixed(2)})`
          return `${mine.toFixed(2)}  ${theirs.toFixed(2)}  ${(theirs / mine).toFixed(2)} ${quarters}`
        })
        curve.push([
          share,
          Number(((at(cold[1], 0.1) * 1e6) / groups).toFixed(2)),
          Number(((at(cold[0], 0.1) * 1e6) / groups).toFixed(2)),
        ])
        console.log(
          `${base}_${format} ${build} ${share}`.padEnd(32),
          (slot.length / panels.length).toFixed(3),
          '|',
          text.join(' | '),
        )
      }
      curves[`${build} ${base}_${format}`] = curve.reverse()
    }
  }
  machine.close()
}
if (values.curves) console.log(JSON.stringify(curves))
