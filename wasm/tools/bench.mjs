// Measures the speed of the linear kernels and of rope_kv next to the machine's limits, on one thread, with
// the built test modules. attention-bench.mjs measures attention.
//
// Cold: the working set cycles through far more memory than any cache holds. The figures are medians of
// interleaved rounds.
//
//   node wasm/tools/bench.mjs [rounds] [name part]

import { readFileSync } from 'node:fs'
import { SEQUENCE } from '../../src/core/abi/constants.ts'
import { OPS } from '../../src/core/abi/ops.ts'
import { Random } from '../../test/helpers/random.ts'
import { KV_CODES, partBytes } from './kv-blocks.mjs'

const [rounds = '9', only = ''] = process.argv.slice(2)
const MEGABYTE = 2 ** 20
const COLD_BYTES = 384 * MEGABYTE
const BASE = 2 * MEGABYTE
/** After the weights: activations, outputs, records. */
const SCRATCH_BYTES = 64 * MEGABYTE

const memory = new WebAssembly.Memory({ initial: (BASE + COLD_BYTES + SCRATCH_BYTES) / 65536 })
const load = (build) => {
  const file = new URL(`../../build/test-wasm/halfbyte-${build}-plain.wasm`, import.meta.url)
  const { exports } = new WebAssembly.Instance(new WebAssembly.Module(readFileSync(file)), {
    env: { memory },
  })
  return { ...exports, data: new Uint8Array(memory.buffer).slice(0, exports.__heap_base.value) }
}
/** Both modules have their data at the same address, so each module's data is restored before it runs. */
const use = (build) => new Uint8Array(memory.buffer).set(modules[build].data)
const modules = { relaxed: load('relaxed'), simd128: load('simd128') }
const u32 = new Uint32Array(memory.buffer)
const f32 = new Float32Array(memory.buffer)

// Random bits, without f16 subnormals or NaN in any encoding: exponents of 0x30..0x3f, any nibbles.
const random = new Random(1)
for (let at = BASE / 4; at < (BASE + COLD_BYTES) / 4; at++)
  u32[at] = (random.word() & 0x8fff8fff) | 0x30003000

const up = (value, multiple) => Math.ceil(value / multiple) * multiple
const CODES = { f32: 3, f16: 4, bf16: 5, w8: 6, w4: 7, w4m: 8, w4_channel: 30, w2: 38 }
const panelBytes = { f32: (k) => 32 * k, f16: (k) => 16 * k, bf16: (k) => 16 * k }
for (const [name, bytes] of Object.entries({ w8: 272, w4: 144, w4m: 160 })) {
  panelBytes[name] = (k) => (up(k, 32) / 32) * bytes
}

panelBytes.w4_channel = (k) => 16 + up(k, 32) * 4
panelBytes.w2 = (k) => up(k, 32) * 2 + Math.ceil(k / 256) * 16

let next = BASE + COLD_BYTES
const allocate = (bytes) => {
  const at = next
  next = up(next + bytes, 64)
  if (next > BASE + COLD_BYTES + SCRATCH_BYTES) throw new Error('the bench needs more scratch memory')
  return at
}

/**
 * Milliseconds per call, in several samples of 3 ms: short enough for some to avoid interference from other
 * work.
 */
const time = (each) => {
  for (
    ;
    each.calls === undefined || each.ms < 3;
    each.calls = Math.ceil(each.calls * Math.max(2, 3.5 / each.ms))
  ) {
    each.calls ??= 1
    const start = performance.now()
    for (let i = 0; i < each.calls; i++) each.work()
    each.ms = Math.max(performance.now() - start, 0.01)
    if (each.ms >= 3) break
  }
  return Array.from({ length: 8 }, () => {
    const start = performance.now()
    for (let i = 0; i < each.calls; i++) each.work()
    return (performance.now() - start) / each.calls
  })
}

const benches = []
const bench = (name, unit, work, perCall) => {
  if (name.includes(only) || name.startsWith('limit'))
    benches.push({ name, unit, work, perCall, samples: [] })
}

const scratch = next
const linear = (build, encoding, n, k, m, cold) => {
  next = scratch
  const bytes = (up(n, 32) / 8) * panelBytes[encoding](k)
  const isFloat = encoding.includes('f')
  const stride = up(isFloat ? 4 * up(k, 32) : up(k, 32) * 1.25, 16)
  const x = allocate(m * stride)
  const y = allocate(m * up(n, 32) * 4)
  const op = allocate(96)
  const step = allocate(64)
  const run = modules[build].run
  let matrix = 0
  const matrices = cold ? Math.floor(COLD_BYTES / bytes) : 1
  return {
    bytes,
    prepare: () => {
      // Activations: codes of all kinds, scales and sums of ordinary size.
      for (let at = 0; at < (m * stride) / 4; at++) u32[x / 4 + at] = Math.imul(at + 1, 2654435761)
      for (let row = 0; row < m; row++) {
        const from = isFloat ? 0 : up(k, 32) / 4
        for (let i = from; i < stride / 4; i++) f32[(x + row * stride) / 4 + i] = 0.01
        if (!isFloat)
          u32.fill(50, (x + row * stride + up(k, 32) * 1.125) / 4, (x + row * stride) / 4 + stride / 4)
      }
      u32[step / 4] = m
      u32.set([CODES[encoding], 0, 0, 0, n, k, x, stride, y, up(n, 32) * 4, 0], op / 4)
    },
    work: () => {
      u32[op / 4 + 2] = BASE + matrix * bytes
      matrix = (matrix + 1) % matrices
      run(0, op, step, 0, 1, 0, 1)
    },
  }
}

/**
 * Rotates and stores keys and values. `still`: the first pair that is stored without its bias; default
 * none.
 */
const rotate = (build, { heads, kvHeads, dim, m, k, v, still }) => {
  next = scratch
  const blocks = Math.ceil(m / 64)
  const [keyBytes, valueBytes] = partBytes({ kvHeads, dim, k, v })
  const blockBytes = keyBytes + valueBytes
  const [table, sequenceOf, positions] = [blocks, m, m].map((words) => allocate(words * 4))
  const [q, keys, values] = [heads, kvHeads, kvHeads].map((count) => allocate(m * count * dim * 4))
  const rope = allocate(m * dim * 4)
  const bias = allocate(kvHeads * dim * 4)
  const op = allocate(OPS.rope_kv.fields.length * 4 + 8)
  const step = allocate(64)
  const seq = allocate(64)
  const stride = (count) => count * dim * 4
  const fields = {
    ...{
      q,
      q_stride: stride(heads),
      k: keys,
      k_stride: stride(kvHeads),
      v: values,
      v_stride: stride(kvHeads),
    },
    ...{ heads, kv_heads: kvHeads, head_dim: dim, rope_dims: dim, v_offset: keyBytes },
    ...{
      k_format: KV_CODES[k],
      v_format: KV_CODES[v],
      k_bias: still === undefined ? 0 : bias,
      still: still ?? 0,
    },
  }
  return {
    prepare: () => {
      for (let b = 0; b < blocks; b++) u32[table / 4 + b] = BASE + b * blockBytes
      for (let row = 0; row < m; row++) {
        u32[sequenceOf / 4 + row] = 0
        u32[positions / 4 + row] = row
      }
      for (let i = 0; i < (step - q) / 4; i++) f32[q / 4 + i] = Math.cos(i)
      u32.fill(0, seq / 4, seq / 4 + 16)
      u32[seq / 4 + SEQUENCE.rows] = m
      u32[seq / 4 + SEQUENCE.tables] = table
      u32.set([m, 1, 0, 0, sequenceOf, positions, seq, 0, rope], step / 4)
      u32.set([OPS.rope_kv.code, 0, ...OPS.rope_kv.fields.map((field) => fields[field] ?? 0)], op / 4)
    },
    work: () => modules[build].run(0, op, step, 0, 1, 0, 1),
  }
}

const READ_BYTES = 4 * MEGABYTE
let stream = 0
bench(
  'limit: read, one stream, cold',
  'GB/s',
  () => {
    modules.simd128.read_stream(BASE + stream, READ_BYTES)
    stream = (stream + READ_BYTES) % COLD_BYTES
  },
  READ_BYTES / 1e9,
)
for (const [name, dot] of [
  ['relaxed quads', 'dot_peak'],
  ['relaxed pairs', 'dot_peak_pairs'],
  ['simd128', 'dot_peak'],
]) {
  const [build] = name.split(' ')
  const ops = build === 'relaxed' ? 32 : 16
  const work = () => modules[build][dot](10000, 0x01020304)
  bench(`limit: ${name} dot`, 'GOP/s', work, (10000 * 8 * ops) / 1e9)
}
const gemv = (build, encoding, n, k, cold) => {
  const made = linear(build, encoding, n, k, 1, cold)
  const name = `gemv ${encoding} ${n}x${k} ${cold ? 'cold' : 'warm'} ${build}`
  bench(name, 'GB/s', made.work, made.bytes / 1e9)
  if (benches.at(-1)?.name === name) benches.at(-1).prepare = made.prepare
}
const gemm = (build, encoding, n, k, m, cold = false) => {
  const made = linear(build, encoding, n, k, m, cold)
  const name = `gemm ${encoding} ${n}x${k} x${m} ${cold ? 'cold ' : ''}${build}`
  bench(name, 'GOP/s', made.work, (2 * n * k * m) / 1e9)
  if (benches.at(-1)?.name === name) benches.at(-1).prepare = made.prepare
}
const turn = (build, shape) => {
  const made = rotate(build, shape)
  const { heads, kvHeads, dim, m, k, v, still } = shape
  const name = `rope_kv ${k},${v} ${heads}/${kvHeads}x${dim} x${m}${still === undefined ? '' : ' without bias'} ${build}`
  bench(name, 'us', made.work, undefined)
  if (benches.at(-1)?.name === name) benches.at(-1).prepare = made.prepare
}
for (const build of Object.keys(modules)) {
  for (const encoding of ['w4', 'w4m', 'w8', 'f16', 'bf16', 'f32']) gemv(build, encoding, 4864, 896, true)
  for (const encoding of ['w4', 'w8']) gemv(build, encoding, 896, 896, true)
  gemv(build, 'w4', 896, 4864, true)
  gemv(build, 'w4', 4864, 896, false)
  for (const encoding of ['w4', 'w4m', 'w8', 'f32', 'f16']) gemm(build, encoding, 512, 896, 32)
  gemm(build, 'w4', 128, 4864, 32)
  for (const m of [1, 2, 3, 4, 6, 8, 12, 16, 64]) gemm(build, 'w4', 4864, 896, m, true)
  for (const m of [1, 4, 16, 64]) {
    for (const encoding of ['w4', 'w4_channel']) gemm(build, encoding, 512, 896, m)
    gemm(build, 'w4_channel', 4864, 896, m, true)
  }
  // BitNet b1.58 2B: gate and up, then down.
  for (const encoding of ['w4', 'w2']) {
    for (const cold of [true, false]) gemv(build, encoding, 6912, 2560, cold)
    gemv(build, encoding, 2560, 6912, true)
    for (const m of [2, 4, 16, 64]) gemm(build, encoding, 2560, 2560, m)
  }
  const kv = [
    { k: 'f32', v: 'f32' },
    { k: 'int8', v: 'int8' },
    { k: 'int8', v: 'fp8' },
  ]
  for (const format of kv) {
    for (const m of [1, 256]) {
      turn(build, { heads: 14, kvHeads: 2, dim: 64, m, ...format })
      // Qwen2's slow pairs.
      if (format.k === 'int8') turn(build, { heads: 14, kvHeads: 2, dim: 64, m, still: 24, ...format })
    }
  }
}

const at = (values, part) => [...values].sort((a, b) => a - b)[Math.floor((values.length - 1) * part)]
for (let round = 0; round < Number(rounds); round++) {
  for (const each of benches) {
    use(each.name.includes('relaxed') ? 'relaxed' : 'simd128')
    each.prepare?.()
    const samples = time(each)
    if (round > 0) each.samples.push(...samples)
  }
}
const value = ({ samples, perCall }, part) =>
  perCall === undefined ? at(samples, part) * 1000 : perCall / (at(samples, part) / 1000)
/** The faster of the relaxed dots, which the build uses. */
const limit = (unit, name) =>
  benches
    .filter(
      (each) =>
        each.name.startsWith('limit') &&
        each.unit === unit &&
        (unit === 'GB/s' || name.endsWith(each.name.split(' ')[1])),
    )
    .sort((a, b) => value(b, 0.5) - value(a, 0.5))[0]
console.log(`${''.padEnd(44)}   median, best tenth`)
for (const each of benches) {
  const limits = each.name.startsWith('limit') ? undefined : limit(each.unit, each.name)
  const shares = limits && [0.5, 0.1].map((part) => (value(each, part) / value(limits, part)).toFixed(2))
  const numbers = [0.5, 0.1].map((part) => value(each, part).toFixed(1).padStart(8)).join(' ')
  console.log(
    `${each.name.padEnd(44)} ${numbers} ${each.unit}${shares ? `  ${shares.join(', ')} of the limit` : ''}`,
  )
}
