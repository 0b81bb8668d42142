// Measures microseconds per token of whole sampler chains and of their kernels, on a large vocabulary.
import { KernelRows } from '../../../src/core/generate/sampler/logit-rows.ts'
import { Random } from '../../../src/core/generate/sampler/random.ts'
import { Sampler, type SamplerParts } from '../../../src/core/generate/sampler/sampler.ts'
import type { SamplerOptions } from '../../../src/core/generate/sampler/sampler-options.ts'
import { Arena } from '../../../src/core/runtime/memory/arena.ts'
import { instantiateEngine } from '../../../src/core/runtime/module.ts'
import { selectTop } from './typed-array.ts'

export interface Figure {
  readonly name: string
  /** Microseconds per call: the median and the minimum of all samples. */
  readonly median: number
  readonly least: number
}

/** Qwen2.5's. */
export const VOCAB = 151_936
/** Number of rows sampled in turn, so that none of them is still in the innermost caches. */
const ROWS = 8
const SAMPLES = 31
const HISTORY = 4096
const NONE = Number.NEGATIVE_INFINITY
const open: SamplerOptions = { topK: 0, topP: 1, minP: 0, temperature: 1 }

export function measureSampler(module: WebAssembly.Module): Figure[] {
  const memory = new WebAssembly.Memory({ initial: 256 })
  const engine = instantiateEngine(module, memory)
  const arena = new Arena(memory, Number(engine.__heap_base.value))
  const kernels = new KernelRows(engine, arena, VOCAB)
  kernels.reserve(VOCAB, true)
  const at = Array.from({ length: ROWS + 1 }, () => arena.allocate(VOCAB * 4, 'a row'))
  const rows = at.map((address) => new Float32Array(memory.buffer, address, VOCAB))
  const guide = rows.pop()!
  const fresh = rows.map((_, index) => logits(index))
  const refill = () => {
    for (const [index, row] of rows.entries()) row.set(fresh[index]!)
  }
  guide.set(logits(ROWS))
  const time = (name: string, call: (row: Float32Array) => unknown): Figure => {
    const samples: number[] = []
    for (let sample = -5; sample < SAMPLES; sample++) {
      refill()
      const start = performance.now()
      for (const row of rows) call(row)
      if (sample >= 0) samples.push(((performance.now() - start) * 1000) / ROWS)
    }
    samples.sort((a, b) => a - b)
    return { name, median: samples[SAMPLES >> 1]!, least: samples[0]! }
  }
  const history = tokens()
  const chain = (name: string, options: SamplerOptions, parts?: SamplerParts) => {
    const sampler = new Sampler(kernels, { seed: 1, ...options }, parts)
    return time(name, (row) => sampler.sample(row, history, HISTORY, guide))
  }
  const some = words((id) => id % 3 === 0)
  const few = words((id) => id % 5000 === 7)
  return [
    chain('greedy', { temperature: 0 }),
    chain('the defaults', {}),
    chain('the defaults, all three penalties', {
      repeatPenalty: 1.1,
      frequencyPenalty: 0.1,
      presencePenalty: 0.1,
    }),
    chain(
      'the defaults, DRY over 4096 tokens',
      { dryMultiplier: 0.8 },
      { tokenBytes: (id) => Uint8Array.of(id) },
    ),
    chain('the defaults, a mask of every third id', {}, { constraint: always(some) }),
    chain('the defaults, a mask of 31 ids', {}, { constraint: always(few) }),
    chain('the defaults, guidance', { cfgScale: 1.5 }),
    chain('the defaults, log-probabilities and 5 likeliest', { logprobs: 5 }),
    chain(
      'the defaults, a processor that does nothing',
      {},
      { processors: [{ name: 'none', process: () => undefined }] },
    ),
    chain('the defaults, top-n-sigma 1', { topNSigma: 1 }),
    chain('the defaults, tail-free, typical and XTC', { tfsZ: 0.95, typicalP: 0.9, xtcProbability: 0.5 }),
    chain('top k 1000', { topK: 1000 }),
    chain('top k 0, min-p 0.05', { ...open, minP: 0.05 }),
    chain('top k 0, top-p 0.95', { ...open, topP: 0.95 }),
    chain('top k 0, nothing cut', open),
    chain('top k 0, nothing cut, temperature 0.8', { ...open, temperature: 0.8 }),
    chain('top k 0, typical 0.9', { ...open, typicalP: 0.9 }),
    chain('mirostat 1', { mirostat: 1 }),
    chain('mirostat 2', { mirostat: 2 }),
    ...[1, 40, 256, 1000, VOCAB].map((most) =>
      time(`kernel: the best ${most}`, (row) => kernels.top(row, most, NONE)),
    ),
    time('kernel: mask', (row) => kernels.mask(row, some)),
    time('kernel: guidance', (row) => kernels.guide(row, guide, 1.5)),
    time('kernel: spread', (row) => kernels.floorOf(row, 1)),
    time('kernel: sum of e^x', (row) => kernels.sumExp(row, 20, 1, NONE)),
    time('a copy of the row', (row) => kernels.keep(row)),
    time('typed arrays: the best 40', (row) => selectTop(row, 40)),
    time('typed arrays: the best 256', (row) => selectTop(row, 256)),
    ...rising(time, kernels, fresh),
  ]
}

/** The worst case for selection by thresholds. */
function rising(
  time: (name: string, call: (row: Float32Array) => unknown) => Figure,
  kernels: KernelRows,
  fresh: readonly Float32Array[],
): Figure[] {
  for (const row of fresh) row.sort()
  return [
    time('kernel: the best 40 of rising logits', (row) => kernels.top(row, 40, NONE)),
    time('typed arrays: the best 40 of rising logits', (row) => selectTop(row, 40)),
  ]
}

/** A bell curve of unlikely ids, with a few likely ones above it. */
function logits(seed: number): Float32Array {
  const random = new Random(seed)
  const normal = () => Math.sqrt(-2 * Math.log(1 - random.next())) * Math.cos(2 * Math.PI * random.next())
  const row = Float32Array.from({ length: VOCAB }, () => 2.2 * normal())
  for (let id = 0; id < 60; id++) row[Math.floor(random.next() * VOCAB)] = 12 + 3 * Math.abs(normal())
  return row
}

/** Text with the repetitions that DRY looks for. */
function tokens(): number[] {
  const random = new Random(9)
  return Array.from({ length: HISTORY }, () => Math.floor(random.next() ** 3 * 2000))
}

const words = (isAllowed: (id: number) => boolean): Uint32Array => {
  const mask = new Uint32Array(Math.ceil(VOCAB / 32))
  for (let id = 0; id < VOCAB; id++) if (isAllowed(id)) mask[id >> 5]! |= 1 << (id % 32)
  return mask
}

const always = (mask: Uint32Array) => ({ mask: () => mask, accept: () => undefined })
