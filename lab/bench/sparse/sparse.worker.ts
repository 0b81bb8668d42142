// The sparse packs' worker: measures costs, scores and tokens per second. This thread is thread 0 in the
// measurements.

import { openModel } from '../../../src/core/arch/open-model.ts'
import { givenPlace } from '../../../src/core/formats/names/named-files.ts'
import { openAddress } from '../../../src/core/store/open-address.ts'
import { browserHost } from '../../../src/engine/browser-host.ts'
import { type BuiltModel, buildModel } from '../../../src/engine/load/build-model.ts'
import { prepareModel } from '../../../src/engine/load/prepare.ts'
import { perplexity } from '../../../src/engine/score/perplexity.ts'
import { measureCosts, type Paced, pace } from '../../../src/tools/shrink/costs/measure-costs.ts'
import type { Answer, Job, Results } from './jobs.ts'

/** Tokens of a scored window. */
const WINDOW = 256
const host = browserHost()
const { signal } = new AbortController()
const packs: { built: BuiltModel; ids: readonly number[]; paced?: Paced }[] = []

async function run(job: Job): Promise<Results[Job['type']]> {
  switch (job.type) {
    case 'costs': {
      const file = await openModel(await openAddress(givenPlace(job.url), { cache: 'none' }))
      const prepared = await prepareModel(file, {
        weights: job.asked.format === 'w4_g32' ? 'w4' : 'w8',
        forPack: true,
      })
      return measureCosts(prepared, { ...job.asked, host, signal })
    }
    case 'load':
      return load(job)
    case 'read': {
      const pack = packs[job.pack]!
      const ids = pack.ids.slice(0, job.context)
      pack.paced = await pace(pack.built, ids, { tokens: job.tokens, now: () => host.now(), signal })
      return pack.paced.prefill
    }
    case 'decode': {
      const { paced } = packs[job.pack]!
      try {
        return (await paced?.decode()) ?? Number.NaN
      } finally {
        paced?.release()
      }
    }
    default:
      return job satisfies never
  }
}

async function load({
  url,
  threads,
  text,
  chunks,
}: Extract<Job, { type: 'load' }>): Promise<Results['load']> {
  const file = await openModel(await openAddress(givenPlace(url), { cache: 'none' }))
  const prepared = await prepareModel(file, { weights: 'auto', beyondTraining: true })
  const built = await buildModel(
    prepared,
    { host, threads, build: 'auto' },
    { signal, onProgress: () => undefined },
  )
  const ids = built.tokenizer.encode(text, { addSpecial: true })
  packs.push({ built, ids })
  const forward = async (tokens: readonly number[], onRow: (index: number, logits: Float32Array) => void) => {
    const sequence = built.newSequence()
    try {
      sequence.setTokens(tokens)
      await built.scheduler.forward({ sequence, logits: 'all', onLogits: onRow, signal })
    } finally {
      sequence.release()
    }
  }
  const { perplexity: value, error } = await perplexity(ids, forward, {
    context: WINDOW,
    chunks,
    signal,
    bos: built.tokenizer.addsBos ? built.tokenizer.bosId : undefined,
  })
  return { memoryBytes: built.memory().totalBytes, perplexity: { value, error } }
}

const post = (answer: Answer) => self.postMessage(answer)

self.addEventListener('message', ({ data }: MessageEvent<Job>) => {
  // Compute workers answer on their own ports, but report failures here.
  if (!('type' in data) || !['costs', 'load', 'read', 'decode'].includes(data.type)) return
  run(data).then(
    (result) => post({ type: 'done', result }),
    (error) => post({ type: 'failed', message: error instanceof Error ? error.message : String(error) }),
  )
})
