// npm run bench:real. In: a GGUF model and a text. Out: its greedy tokens and its perplexity beside native
// llama.cpp's on the same ids, as tables and JSON.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, openAsBlob } from 'node:fs'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { cpus } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { Command } from 'commander'
import { llamaCppAddon, logProbabilities } from '../../conformance/testing/llama-cpp.ts'
import { type Files, withBuilt } from '../../conformance/testing/node-engine.ts'
import { realModel } from '../../scripts/models/real-models.mjs'
import { forwardRows } from '../../src/cli/model.ts'
import type { BuiltModel } from '../../src/engine/load/build-model.ts'
import { negativeLogLikelihood } from '../../src/evaluate/perplexity.ts'
import type { KvFormat } from '../../src/graph/ir.ts'
import { ChatTemplate, chatTemplateOf, chatTokens, encodeChat } from '../../src/text/chat/chat.ts'
import { writeF16Copy } from './f16-copy.ts'
import type { Answer, Candidate, Order } from './llama-cpp.child.ts'

const INT8 = 'int8'
const options = new Command('bench:real')
  .description(
    'A GGUF model beside native llama.cpp: greedy tokens of six prompts, and perplexity of a text.',
  )
  .option('--model <file>', 'default: TinyLlama, from "npm run setup -- tinyllama"')
  .requiredOption('--text <file>', 'UTF-8 text for the perplexity')
  .option('--windows <n>', 'windows of the text', Number, 20)
  .option('--window <n>', 'tokens of a window; the second half is scored', Number, 256)
  .option('--others <n>', 'windows for all policies but the first', Number, 6)
  .option('--tokens <n>', 'greedy tokens of each prompt', Number, 32)
  .option(
    '--weights <list>',
    `policies, and ${INT8} for auto with int8 keys and values`,
    `auto,w8,w4,${INT8}`,
  )
  .option('--f16', 'lets llama.cpp read the weights as F16, so that it rounds no activations to 8 bits')
  .option('--threads <n>', 'threads', Number, 1)
  .option('--json <file>', 'where the figures go', 'build/bench/real.json')
  .parse()
  .opts<{
    model?: string
    text: string
    windows: number
    window: number
    others: number
    tokens: number
    weights: string
    f16?: true
    threads: number
    json: string
  }>()

const PROMPTS = [
  'What is the capital of France?',
  'Write one sentence about the sea.',
  'List three fruits.',
  'Explain in one sentence why the sky is blue.',
  'Translate "good morning" into Spanish.',
  'Write a Python function that adds two numbers.',
]
const WINDOW = options.window
const FIRST = WINDOW / 2

/** What Halfbyte makes of the ids that llama.cpp chose. */
interface Greedy {
  readonly prompt: string
  /** Greedy tokens before the first that differs. */
  readonly same: number
  readonly of: number
  /** Natural logarithms of the two tokens that the engines chose, in each of them. */
  readonly ours?: readonly [number, number]
  readonly theirs?: readonly [number, number]
  readonly chosen?: readonly [string, string]
}
interface Side {
  readonly name: string
  readonly windows: number
  readonly perplexity: number
  /** llama.cpp's, on the same windows. */
  readonly reference: number
  readonly greedy?: readonly Greedy[]
}

const modelPath = options.model ?? realModel('tinyllama')
if (modelPath === undefined) throw new Error('the model is not here; run "npm run setup -- tinyllama"')
const addonPath = llamaCppAddon()
if (addonPath === undefined) throw new Error('@node-llama-cpp/linux-x64 is not installed')
const text = await readFile(options.text, 'utf8')
const file = new File([await openAsBlob(modelPath)], basename(modelPath))
const files: Files = [file]

const child = fork(join(import.meta.dirname, 'llama-cpp.child.ts'))
async function ask(order: Order): Promise<Answer> {
  child.send(order)
  const [answer] = (await once(child, 'message')) as [Answer]
  if (answer.failure !== undefined) throw new Error(`llama.cpp: ${answer.failure}`)
  return answer
}
const theirs = options.f16 ? await f16Copy(modelPath) : modelPath
await ask({ type: 'load', modelPath: theirs, addonPath, threads: options.threads })

const machine = `${cpus().length} x ${cpus()[0]?.model}`

/** The ids that both engines get. */
let ids: {
  readonly prompts: readonly (readonly number[])[]
  readonly windows: readonly (readonly number[])[]
}
const references: (readonly (readonly Candidate[])[])[] = []
let reference: number[] = []
const sides: Side[] = []
const kvCache: KvFormat = { k: 'int8', v: 'int8' }
const runs = options.weights
  .split(',')
  .map((name) =>
    name === INT8
      ? { name: 'auto, int8 keys and values', weights: 'auto', kvCache }
      : { name, weights: name },
  )
for (const { name, ...run } of runs) {
  const asked = { ...run, threads: options.threads, contextLength: 1024 }
  await withBuilt(files, asked as Parameters<typeof withBuilt>[1], async (built) => {
    if (reference.length === 0) {
      ids = idsOf(built)
      for (const prompt of ids.prompts) {
        references.push((await ask({ type: 'greedy', prompt, count: options.tokens })).greedy!)
      }
      console.log(`llama.cpp: ${ids.prompts.length} prompts answered`)
      reference = await theirLosses(built)
      console.log(`llama.cpp: perplexity ${perplexityOf(reference).toFixed(4)}`)
    }
    const greedy: Greedy[] = []
    for (const [index, prompt] of PROMPTS.entries())
      greedy.push(await greedyOf(built, prompt, ids.prompts[index]!, references[index]!))
    const losses = await ourLosses(built, sides.length === 0 ? options.windows : options.others)
    sides.push({
      name,
      windows: losses.length / (WINDOW - 1 - FIRST),
      perplexity: perplexityOf(losses),
      reference: perplexityOf(reference.slice(0, losses.length)),
      greedy,
    })
    // What a long run has found is kept when it is ended.
    await mkdir(dirname(options.json), { recursive: true })
    await writeFile(options.json, `${JSON.stringify({ machine, model: file.name, sides }, null, 2)}\n`)
    console.log(tables())
  })
}
child.kill()

/** The copy of an earlier run is used again. */
async function f16Copy(path: string): Promise<string> {
  const copy = join('build/bench', `${basename(path, '.gguf')}.F16.gguf`)
  if (!existsSync(copy)) {
    await mkdir(dirname(copy), { recursive: true })
    console.log(`writing ${copy}`)
    await writeF16Copy(path, copy)
  }
  return copy
}

function idsOf(built: BuiltModel): typeof ids {
  const { tokenizer } = built
  const template = new ChatTemplate(chatTemplateOf(tokenizer))
  const prompts = PROMPTS.map((content) =>
    encodeChat(
      tokenizer,
      template.render([{ role: 'user', content }], { ...chatTokens(tokenizer), addGenerationPrompt: true }),
    ),
  )
  const all = tokenizer.encode(text, { addSpecial: true })
  const windows = Array.from({ length: options.windows }, (_, index) =>
    all.slice(index * WINDOW, (index + 1) * WINDOW),
  )
  return { prompts, windows }
}

/** Runs the reference's own text, so that every position has the same history in both engines. */
async function greedyOf(
  built: BuiltModel,
  prompt: string,
  start: readonly number[],
  reference: readonly (readonly Candidate[])[],
): Promise<Greedy> {
  const chosen = reference.map(([best]) => best!.id)
  const result: { same: number; row?: Float64Array } = { same: reference.length }
  await forwardRows(built)([...start, ...chosen.slice(0, -1)], (position, logits) => {
    const at = position - start.length + 1
    if (at < 0 || at >= result.same) return
    const best = logits.indexOf(logits.reduce((most, each) => Math.max(most, each)))
    if (best === chosen[at]) return
    result.same = at
    result.row = logProbabilities(logits)
  })
  const { same, row } = result
  const one = { prompt, same, of: reference.length }
  if (row === undefined) return one
  const theirs = reference[same]!
  const ours = row.indexOf(Math.max(...row))
  const id = theirs[0]!.id
  const other = theirs.find((each) => each.id === ours)?.logProbability ?? Number.NaN
  const pieces = [id, ours].map((each) => built.tokenizer.decode([each])) as [string, string]
  return { ...one, chosen: pieces, ours: [row[id]!, row[ours]!], theirs: [theirs[0]!.logProbability, other] }
}

function firstOf(built: BuiltModel, window: readonly number[]): number {
  return built.tokenizer.addsBos ? (built.tokenizer.bosId ?? window[0]!) : window[0]!
}

/** Losses of the windows' scored tokens. */
async function ourLosses(built: BuiltModel, count: number): Promise<number[]> {
  const losses: number[] = []
  for (const window of ids.windows.slice(0, count)) {
    await forwardRows(built)([firstOf(built, window), ...window.slice(1)], (position, logits) => {
      if (position < FIRST || position >= WINDOW - 1) return
      losses.push(negativeLogLikelihood(logits, window[position + 1]!))
    })
  }
  return losses
}

async function theirLosses(built: BuiltModel): Promise<number[]> {
  const losses: number[] = []
  for (const window of ids.windows) {
    const tokens = [firstOf(built, window), ...window.slice(1)]
    const { logProbabilities: found } = await ask({ type: 'window', tokens, targets: window, from: FIRST })
    losses.push(...found!.map((each) => -each))
    console.log(`llama.cpp: ${losses.length} tokens scored, perplexity ${perplexityOf(losses).toFixed(4)}`)
  }
  return losses
}

function perplexityOf(losses: readonly number[]): number {
  return Math.exp(losses.reduce((sum, each) => sum + each, 0) / losses.length)
}

function tables(): string {
  const fixed = (pair: readonly number[] | undefined) => pair?.map((each) => each.toFixed(3)).join(', ') ?? ''
  return [
    `${machine}, ${file.name}, windows of ${WINDOW} tokens, llama.cpp on ${basename(theirs)}`,
    '',
    '| weights | windows | perplexity | llama.cpp | difference |',
    '| --- | --: | --: | --: | --: |',
    ...sides.map(
      ({ name, windows, perplexity, reference }) =>
        `| ${name} | ${windows} | ${perplexity.toFixed(4)} | ${reference.toFixed(4)} | ${((perplexity / reference - 1) * 100).toFixed(2)} % |`,
    ),
    '',
    '| | prompt | same tokens | then llama.cpp, Halfbyte | log p in Halfbyte | log p in llama.cpp |',
    '| --- | --- | --: | --- | --- | --- |',
    ...sides.flatMap(({ name, greedy = [] }) =>
      greedy.map(
        ({ prompt, same, of, chosen, ours, theirs }) =>
          `| ${name} | ${prompt} | ${same} of ${of} | ${chosen?.map((each) => JSON.stringify(each)).join(', ') ?? ''} | ${fixed(ours)} | ${fixed(theirs)} |`,
      ),
    ),
  ].join('\n')
}
