// Measures attention alone, next to the machine's limits, on one thread, with the built test modules.
//
// Cold: keys and values are those of several layers in turn, more than the caches hold. Variants alternate in
// samples of a few ms of processor time, which waiting for other work does not lengthen.
//
// The limit is the longer of two times: of the bytes at the speed of one stream, and of the operations at the
// peak of the build's arithmetic. Products with int8 codes have factors of 14 bits: two dots of bytes, or one
// of words.
//
//   node wasm/tools/attention-bench.mjs [rounds] [name part] [--before FOLDER] [--kv f32,int8,fp8]
//
// FOLDER holds the modules of another version, a copy of build/test-wasm.

import { readFileSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import { LIMIT_CODE, PEAK_OPS } from '../../lab/bench/roofline/kernels.ts'
import { SEQUENCE } from '../../src/core/abi/constants.ts'
import { OPS } from '../../src/core/abi/ops.ts'
import { KV_CODES, partBytes } from './kv-blocks.mjs'

const { values: flags, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    before: { type: 'string' },
    builds: { type: 'string', default: 'relaxed,simd128' },
    kv: { type: 'string', default: 'f32,int8' },
    rows: { type: 'string', default: '1,128' },
    positions: { type: 'string', default: '512,2048,8192' },
    window: { type: 'string', default: '0' },
  },
})
const [rounds = '7', only = ''] = positionals
const builds = flags.builds.split(',')
const MEGABYTE = 2 ** 20
const COLD_BYTES = 96 * MEGABYTE
const SCRATCH_BYTES = 32 * MEGABYTE
const BASE = 2 * MEGABYTE
const SAMPLES = 5
const LEAST_MS = 2

const memory = new WebAssembly.Memory({ initial: (BASE + COLD_BYTES + SCRATCH_BYTES) / 65536 })
const [u32, f32] = [Uint32Array, Float32Array].map((type) => new type(memory.buffer))
/** All modules have their data at the same address, so a module's data is restored before it runs. */
const load = (url) => {
  const { exports } = new WebAssembly.Instance(new WebAssembly.Module(readFileSync(url)), { env: { memory } })
  return {
    run: exports.run,
    data: new Uint8Array(memory.buffer).slice(0, exports.__heap_base?.value ?? 65536),
  }
}
const use = ({ data }) => new Uint8Array(memory.buffer).set(data)
const here = new URL('../../build/test-wasm/', import.meta.url)
const folders = { ...(flags.before && { before: pathToFileURL(`${flags.before}/`) }), now: here }
const modules = Object.entries(folders).flatMap(([version, folder]) =>
  builds.map((build) => ({ build, version, ...load(new URL(`halfbyte-${build}-plain.wasm`, folder)) })),
)
const limits = load(new URL('../../build/limits/halfbyte-relaxed-plain.wasm', import.meta.url))

let next = BASE + COLD_BYTES
const allocate = (bytes) => {
  const at = next
  next = Math.ceil((next + bytes) / 64) * 64
  if (next > memory.buffer.byteLength) throw new Error('the bench needs more scratch memory')
  return at
}

/** Keys and values of each format of the rows. */
const FORMATS = {
  f32: { k: 'f32', v: 'f32' },
  int8: { k: 'int8', v: 'int8' },
  fp8: { k: 'int8', v: 'fp8' },
}

/** Fills memory with keys and values of all kinds: floats, or codes with scales and offsets near 0.01. */
const fill = (format) => {
  for (let at = BASE / 4, i = 0; at < (BASE + COLD_BYTES) / 4; at++, i++) {
    if (format === 'f32') f32[at] = Math.sin(i)
    else u32[at] = (Math.imul(i, 2654435761) & 0x07878787) | 0x3c383838
  }
}

const attention = (shape) => {
  const { heads, kvHeads, dim, context, rows, format, window } = shape
  next = BASE + COLD_BYTES
  const blocks = Math.ceil(context / 64)
  const [keyBytes, valueBytes] = partBytes({ ...shape, ...FORMATS[shape.format] })
  const blockBytes = keyBytes + valueBytes
  const layers = Math.max(1, Math.floor(COLD_BYTES / (blocks * blockBytes)))
  const stride = heads * dim * 4
  const [table, q, y] = [layers * blocks * 4, rows * stride, rows * stride].map(allocate)
  const parts = allocate(8 * heads * 16 * (12 + dim) * 4)
  const [op, step, seq] = [OPS.attention.fields.length * 4 + 8, 64, 64].map(allocate)
  for (let b = 0; b < layers * blocks; b++) u32[table / 4 + b] = BASE + b * blockBytes
  for (let i = 0; i < rows * heads * dim; i++) f32[q / 4 + i] = Math.cos(i)
  const positions = allocate(rows * 4)
  const sequenceOf = allocate(rows * 4)
  for (let row = 0; row < rows; row++) u32[positions / 4 + row] = context - rows + row
  u32.fill(0, sequenceOf / 4, sequenceOf / 4 + rows)
  u32.fill(0, seq / 4, seq / 4 + 16)
  u32.set([rows, context - rows], seq / 4 + SEQUENCE.rows)
  u32.set([rows, 1, 0, 0, sequenceOf, positions, seq, 0], step / 4)
  const fields = {
    ...{ q, q_stride: stride, y, y_stride: stride, heads, kv_heads: kvHeads, head_dim: dim, k_offset: 0 },
    ...{
      v_offset: keyBytes,
      k_format: KV_CODES[FORMATS[format].k],
      v_format: KV_CODES[FORMATS[format].v],
      window,
      parts,
    },
    ratio: heads / kvHeads,
  }
  u32.set([OPS.attention.code, 0, ...OPS.attention.fields.map((field) => fields[field] ?? 0)], op / 4)
  f32[op / 4 + 2 + OPS.attention.fields.indexOf('scale')] = dim ** -0.5 / 1000
  let layer = 0
  return (module) => {
    u32[seq / 4 + SEQUENCE.tables] = table + layer * blocks * 4
    layer = (layer + 1) % layers
    module.run(0, op, step, 0, 1, 0, 1)
  }
}

/** Operations, and bytes of keys and values. */
const costOf = (shape) => {
  const { heads, dim, context, rows, window } = shape
  const reach = (position) => Math.min(position + 1, window || Number.POSITIVE_INFINITY)
  let attended = 0
  for (let row = 0; row < rows; row++) attended += reach(context - rows + row)
  const distinct = Math.min(context, reach(context - rows) + rows - 1)
  const [keyBytes, valueBytes] = partBytes({ ...shape, ...FORMATS[shape.format] })
  return { ops: 4 * heads * dim * attended, bytes: (distinct * (keyBytes + valueBytes)) / 64 }
}

const processorMs = () => {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000
}
/** Milliseconds per call, in samples. */
const time = (work, calls) => {
  const start = processorMs()
  for (let i = 0; i < calls; i++) work()
  return (processorMs() - start) / calls
}
/** Calls that take at least LEAST_MS. */
const callsOf = (work) => {
  let calls = 1
  for (;;) {
    const ms = time(work, calls) * calls
    if (ms >= LEAST_MS) return calls
    calls = Math.ceil(calls * Math.min(8, Math.max(1.5, LEAST_MS / Math.max(ms, 0.01))))
  }
}
const at = (samples, part) => samples.toSorted((a, b) => a - b)[Math.floor((samples.length - 1) * part)]

const record = allocate(64)
const limitRun = (code, bytes, count) => () => {
  u32.set([LIMIT_CODE[code], BASE, bytes, count, 0], record / 4)
  limits.run(0, record, 0, 0, 1, 0, 1)
}
/** Giga-units per second of each limit, measured in every round. */
const LIMITS = {
  read_one: { work: limitRun('read_one', 64 * MEGABYTE, 1), units: 64 * MEGABYTE },
  ...Object.fromEntries(
    ['mul_add', 'dot_i8', 'dot_i16'].map((peak) => [
      peak,
      { work: limitRun(peak, 0, 50_000), units: 50_000 * PEAK_OPS[peak] },
    ]),
  ),
}
for (const limit of Object.values(LIMITS)) limit.samples = []

const SHAPES = [
  { heads: 14, kvHeads: 2, dim: 64 },
  { heads: 9, kvHeads: 3, dim: 64 },
  { heads: 12, kvHeads: 2, dim: 128 },
]
const numbers = (text) => text.split(',').map(Number)
const cases = flags.kv.split(',').flatMap((format) =>
  numbers(flags.rows).flatMap((rows) =>
    SHAPES.flatMap((shape) =>
      numbers(flags.positions).map((context) => {
        const each = { ...shape, context, rows, format, window: Number(flags.window) }
        const { heads, kvHeads, dim, window } = each
        const name = `${format} ${heads}/${kvHeads}x${dim} at ${context}${window ? ` window ${window}` : ''} x${rows}`
        return { ...each, name, samples: modules.map(() => []) }
      }),
    ),
  ),
)

let filled = ''
for (const each of cases.filter(({ name }) => name.includes(only))) {
  if (filled !== each.format) fill(each.format)
  filled = each.format
  const work = attention(each)
  for (const module of modules) {
    use(module)
    module.calls = callsOf(() => work(module))
  }
  for (let round = 0; round < Number(rounds); round++) {
    for (const limit of Object.values(LIMITS)) limit.samples.push(time(limit.work, 1))
    for (const [i, module] of modules.entries()) {
      use(module)
      for (let s = 0; s < SAMPLES; s++) each.samples[i].push(time(() => work(module), module.calls))
    }
  }
}
const rate = (name, part) => LIMITS[name].units / at(LIMITS[name].samples, part) / 1e6
const limitUs = ({ bytes, ops }, format, build, part) => {
  const products = Math.max(rate('dot_i16', part), build === 'relaxed' ? rate('dot_i8', part) / 2 : 0)
  const peaks = { f32: rate('mul_add', part), int8: products, fp8: rate('mul_add', part) }
  const { k, v } = FORMATS[format]
  return Math.max(bytes / rate('read_one', part), ops / 2 / peaks[k] + ops / 2 / peaks[v]) / 1000
}
const show = (value) => value.toPrecision(3).padStart(8)
for (const name of Object.keys(LIMITS))
  console.log(`limit: ${name.padEnd(10)} ${show(rate(name, 0.5))} (${show(rate(name, 0.1)).trim()}) G/s`)
console.log(`${''.padEnd(48)} us, best tenth    GB/s   GOP/s   share of the limit`)
for (const each of cases.filter(({ name }) => name.includes(only))) {
  const cost = costOf(each)
  for (const [i, { build, version }] of modules.entries()) {
    const [median, best] = [0.5, 0.1].map((part) => at(each.samples[i], part) * 1000)
    const shares = [
      limitUs(cost, each.format, build, 0.5) / median,
      limitUs(cost, each.format, build, 0.1) / best,
    ]
    const before = modules.findIndex((other) => other.build === build && other.version === 'before')
    const gains =
      before >= 0 && version === 'now' && [0.5, 0.1].map((part) => at(each.samples[before], part) * 1000)
    console.log(
      `${`${each.name} ${build}${flags.before ? ` ${version}` : ''}`.padEnd(48)}${show(median)} ${show(best)}` +
        `${show(cost.bytes / median / 1000)}${show(cost.ops / median / 1000)}   ` +
        `${shares.map((share) => `${(100 * share).toFixed(0)} %`).join(', ')}` +
        `${gains ? `  ${(gains[0] / median).toFixed(3)}, ${(gains[1] / best).toFixed(3)} times as fast` : ''}`,
    )
  }
}
