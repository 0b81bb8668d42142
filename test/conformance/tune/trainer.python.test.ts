// The trainer in Python. In: random models of each family that it computes. Out: whether its losses are the
// engine's, whether the tuned folder holds what was learned, and whether a stopped training ends like
// another.
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeEach, expect, test } from 'vitest'
import { openModel } from '../../../src/core/arch/open-model.ts'
import { blobSource } from '../../../src/core/base/bytes.ts'
import { prepareModel } from '../../../src/engine/load/prepare.ts'
import { negativeLogLikelihood } from '../../../src/engine/score/perplexity.ts'
import { runTrainer, type TrainerJob } from '../../../src/tools/cli/tune/trainer.ts'
import { completeFolder, weightsIn } from '../../../src/tools/cli/tune/tune-work.ts'
import { writeModelFolder } from '../../../src/tools/cli/write/folder-output.ts'
import type { Encoded } from '../../../src/tools/tune/encode-example.ts'
import { networkShape } from '../../../src/tools/tune/network-shape.ts'
import { familyCases } from '../testing/families/family-cases.ts'
import { drawFamily, familySafetensors } from '../testing/families/family-files.ts'
import { familyParts } from '../testing/families/family-tensors.ts'
import { newFile, safetensorsFiles } from '../testing/model-files.ts'
import { logitsOf, withBuilt } from '../testing/node-engine.ts'
import { needsModules, PYTHON } from '../testing/python.ts'
import { randomLlama } from '../testing/random-llama.ts'

const SIZES = { hidden: 64, heads: 4, kvHeads: 2, headDim: 16, wide: 96, context: 128 } as const
const SCALING = {
  rope_type: 'llama3',
  ...{ factor: 8, low_freq_factor: 1, high_freq_factor: 4 },
  original_max_position_embeddings: 64,
} as const

const folder = await mkdtemp(join(tmpdir(), 'halfbyte-tune-'))
afterAll(() => rm(folder, { recursive: true }))
beforeEach((context) => needsModules(context, 'torch'))

const { config, blocks } = familyParts(SIZES)
const QWEN3 = {
  family: 'qwen3',
  sizes: SIZES,
  config: config('Qwen3ForCausalLM', 2),
  tensors: blocks(2, { headNorms: 'head' }),
  gguf: { architecture: 'qwen3', keys: {} },
} as const
const drawn = (one: ReturnType<typeof familyCases>[number]) => familySafetensors(one, drawFamily(one, 3))
const ofFamily = (family: string) => drawn(familyCases(SIZES).find((one) => one.family === family)!)

const MODELS: Readonly<Record<string, () => readonly File[]>> = {
  'llama with scaled frequencies': () => safetensorsFiles(randomLlama({ seed: 1, scaling: SCALING })),
  'mistral with a window': () => safetensorsFiles(randomLlama({ seed: 2, window: 20 })),
  'qwen2 with biases and one table': () =>
    safetensorsFiles(randomLlama({ seed: 3, family: 'qwen2', tied: true })),
  qwen3: () => drawn(QWEN3),
  smollm3: () => ofFamily('smollm3'),
  gemma3: () => ofFamily('gemma3'),
}

/** Sequences of different lengths, the longest beyond each window; the second learns two parts. */
const SEQUENCES: readonly Encoded[] = [
  { ids: Array.from({ length: 60 }, (_, at) => (at * 37 + 11) % 200), trained: [[10, 60]] },
  {
    ids: Array.from({ length: 25 }, (_, at) => (at * 53 + 7) % 200),
    trained: [
      [3, 9],
      [20, 25],
    ],
  },
  { ids: [5, 9, 5, 9, 5, 9], trained: [[1, 6]] },
]

/** Writes the model as a folder, and the job of a training on `SEQUENCES`. */
async function job(name: string, files: readonly File[], changes: Partial<TrainerJob> = {}) {
  const at = (file: string) => join(folder, name.replaceAll(' ', '-'), file)
  const opened = await openModel(files.map((each) => blobSource(each.name, each)))
  const prepared = await prepareModel(opened, { weights: 'f32', forPack: true })
  const { signal } = new AbortController()
  for (const each of ['base', 'tuned'])
    await writeModelFolder(prepared, at(each), { dtype: 'F32', signal, onBytes: () => undefined })
  for (const file of [at('train'), at('held')])
    await writeFile(file, SEQUENCES.map((each) => `${JSON.stringify(each)}\n`).join(''))
  const trainer: TrainerJob = {
    shape: networkShape(prepared.config),
    lora: { rank: 4, alpha: 8 },
    ...{ rate: 0.01, decay: 0, epochs: 4, batch: 2, seed: 1, threads: 1 },
    weights: weightsIn(at('base')),
    output: weightsIn(at('tuned')),
    ...{ train: at('train'), held: at('held'), checkpoint: at('checkpoint') },
    ...changes,
  }
  return { at, trainer }
}

const quiet = { onPace: () => undefined, onStep: () => undefined }
const { signal: never } = new AbortController()

/** The engine's mean loss of the trained tokens, in f32. */
async function engineLoss(path: string): Promise<number> {
  const names = (await readdir(path)).filter((name) => /\.(?:json|safetensors)$/.test(name))
  const files = await Promise.all(names.map(async (name) => newFile(name, await readFile(join(path, name)))))
  return withBuilt(files, { weights: 'f32' }, async (built) => {
    let [sum, count] = [0, 0]
    for (const { ids, trained } of SEQUENCES) {
      const rows = await logitsOf(built, ids)
      for (const [begin, end] of trained)
        for (let at = begin; at < end; at++, count++) sum += negativeLogLikelihood(rows[at - 1]!, ids[at]!)
    }
    return sum / count
  })
}

test.each(Object.entries(MODELS))('%s: the losses before and after are the engine’s', async (name, files) => {
  const { at, trainer } = await job(name, files())
  const curve = await runTrainer(PYTHON, at('job'), trainer, quiet, never)
  const held = curve.filter(({ event }) => event === 'held').map(({ loss }) => loss)
  expect(curve.filter(({ event }) => event === 'step')).toHaveLength(8)
  expect(held).toHaveLength(5)
  expect(held.at(-1)!).toBeLessThan(held[0]! - 0.1)
  await completeFolder(at('base'), at('tuned'))
  expect(Math.abs((await engineLoss(at('base'))) - held[0]!)).toBeLessThan(1e-4)
  expect(Math.abs((await engineLoss(at('tuned'))) - held.at(-1)!)).toBeLessThan(1e-4)
})

test('all weights can be trained, the shared table and the norms too', async () => {
  const { at, trainer } = await job('whole', MODELS['gemma3']!(), {
    lora: undefined,
    rate: 0.002,
    decay: 0.01,
  })
  const curve = await runTrainer(PYTHON, at('job'), trainer, quiet, never)
  const { loss } = curve.at(-1)!
  expect(loss).toBeLessThan(curve[0]!.loss - 0.1)
  expect(Math.abs((await engineLoss(at('tuned'))) - loss)).toBeLessThan(1e-4)
})

test('a training that is stopped and continued ends with the same weights', async () => {
  const files = MODELS['qwen3']!()
  const whole = await job('uninterrupted', files)
  const curve = await runTrainer(PYTHON, whole.at('job'), whole.trainer, quiet, never)
  const { at, trainer } = await job('stopped', files)
  const stopping = new AbortController()
  const onStep = (step: number) => {
    if (step === 3) stopping.abort()
  }
  await expect(
    runTrainer(PYTHON, at('job'), trainer, { ...quiet, onStep }, stopping.signal),
  ).rejects.toMatchObject({ name: 'AbortError' })
  let from = 0
  const onPace = (_: number, step: number) => {
    from = step
  }
  const rest = await runTrainer(PYTHON, at('job'), trainer, { ...quiet, onPace }, never)
  expect(from).toBeGreaterThanOrEqual(3)
  expect(rest).toEqual(curve)
  expect((await readFile(trainer.output)).equals(await readFile(whole.trainer.output))).toBe(true)
})

test('a loss that is not finite ends the training with the next step', async () => {
  const { at, trainer } = await job('diverging', MODELS['qwen3']!(), { lora: undefined, rate: 1e30 })
  await expect(runTrainer(PYTHON, at('job'), trainer, quiet, never)).rejects.toThrow(
    /the training failed: the loss is not finite at step \d+; give a smaller --rate/,
  )
})
