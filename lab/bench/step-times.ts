// Measures the processor time of steps. In: models, and folders of graphs, each with the prefix `ort:`. Out:
// processor milliseconds of one thread per prompt token and per decoded token. Models take turns. Other
// processes hardly affect these times.
//
//   npx node lab/bench/step-times.ts MODEL... ort:FOLDER...
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { EXACT_KV } from '../../src/core/graph/ir.ts'
import { withModel } from '../../src/tools/cli/models/model.ts'
import { type Ort, OrtText } from './perf/onnx/feeds.ts'
import { SHAPES } from './shapes.ts'
import { spread } from './spread.ts'

const ROUNDS = 5
const PROMPT = 64
const DECODE = 4
/** Arbitrary ids, which do not affect the time. */
const ids = (count: number, seed: number) =>
  Array.from({ length: count }, (_, at) => 65 + ((at * 7 + seed) % 26))

/** Runs a prompt and then single tokens. */
type Text = (prompt: readonly number[], next: readonly number[], onPrompt: () => void) => Promise<void>

const used = () => {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000
}

async function openOrt(folder: string): Promise<Text> {
  const name = 'onnxruntime-web'
  const ort: Ort = await import(name)
  ort.env.wasm.numThreads = 1
  const files = await readdir(folder)
  const read = async (file: string) => new Uint8Array(await readFile(join(folder, file)))
  const data = files.filter((file) => /data(_\d+)?$/.test(file))
  const externalData = await Promise.all(data.map(async (path) => ({ path, data: await read(path) })))
  const options = { executionProviders: ['wasm'], externalData, logSeverityLevel: 3 }
  const session = await ort.InferenceSession.create(await read('model.onnx'), options)
  const shape = SHAPES.find((each) => folder.includes(each.name))
  if (shape === undefined)
    throw new Error(`${folder} is not named after any of ${SHAPES.map((each) => each.name)}`)
  return async (prompt, next, onPrompt) => {
    const text = new OrtText(ort, session, shape)
    await text.read(prompt)
    onPrompt()
    for (const id of next) await text.read([id])
  }
}

async function measure(texts: ReadonlyMap<string, Text>): Promise<void> {
  const times = new Map(
    [...texts.keys()].map((name) => [name, { prompt: [] as number[], next: [] as number[] }]),
  )
  for (let round = 0; round <= ROUNDS; round++) {
    for (const [name, text] of texts) {
      const start = used()
      let begun = start
      await text(ids(PROMPT, round), ids(DECODE, round), () => {
        begun = used()
      })
      // The first round is the warm-up.
      if (round === 0) continue
      times.get(name)!.prompt.push((begun - start) / PROMPT)
      times.get(name)!.next.push((used() - begun) / DECODE)
    }
  }
  for (const [name, { prompt, next }] of times) {
    const cell = (values: readonly number[]) => {
      const { median, min, max } = spread(values)
      return `${median.toFixed(1)} (${min.toFixed(1)}-${max.toFixed(1)})`
    }
    console.log(`| ${name} | ${cell(prompt)} | ${cell(next)} |`)
  }
}

async function openAll(models: readonly string[], texts: Map<string, Text>): Promise<void> {
  const [model, ...others] = models
  if (model === undefined) return measure(texts)
  if (model.startsWith('ort:')) {
    texts.set(model, await openOrt(model.slice(4)))
    return openAll(others, texts)
  }
  await withModel(
    model,
    { threads: 1, build: 'auto', weights: 'auto', kv: EXACT_KV },
    new AbortController().signal,
    async (built) => {
      texts.set(model, async (prompt, next, onPrompt) => {
        const sequence = built.newSequence()
        const all = [...prompt]
        const step = async () => {
          sequence.setTokens(all)
          await built.scheduler.forward({ sequence, logits: 'last', onLogits: () => undefined })
        }
        await step()
        onPrompt()
        for (const id of next) {
          all.push(id)
          await step()
        }
        sequence.release()
      })
      await openAll(others, texts)
    },
  )
}

console.log('| model | ms per token, prompt of 64 | ms per token, decoded |\n| --- | --: | --: |')
await openAll(process.argv.slice(2), new Map())
