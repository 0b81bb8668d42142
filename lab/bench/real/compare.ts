// npm run bench:real compares a GGUF model's token ids, greedy choices and perplexity with native llama.cpp's
// on the same ids, as tables and JSON.
import { existsSync, openAsBlob } from 'node:fs'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { cpus } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { Command } from 'commander'
import {
  ChatTemplate,
  chatTemplateOf,
  chatTokens,
  encodeChat,
} from '../../../src/core/text/chat/chat-template.ts'
import type { BuiltModel } from '../../../src/engine/load/build-model.ts'
import { negativeLogLikelihood } from '../../../src/engine/score/perplexity.ts'
import { forwardRows } from '../../../src/tools/cli/models/model.ts'
import { type BuildOptions, withBuilt } from '../../../test/conformance/testing/node-engine.ts'
import { writeF16Copy } from './f16-copy.ts'
import { modelPathOf } from './model-path.ts'
import { CHATS, TEXTS } from './prompts.ts'
import { type Candidate, openReference, type Reference } from './reference.ts'
import { greedyTable, type Place, perplexityTable, type Side } from './tables.ts'

const options = new Command('bench:real')
  .description(
    'Compares a GGUF model with native llama.cpp: ids of the text, greedy tokens of 20 chats and 10 texts, perplexity.',
  )
  .option('--model <name or file>', 'a name of "npm run setup", or a GGUF file', 'smollm2')
  .requiredOption('--text <file>', 'UTF-8 text for the perplexity')
  .option('--windows <n>', 'windows of the text', Number, 20)
  .option('--window <n>', 'tokens of a window; the second half is scored', Number, 256)
  .option('--tokens <n>', 'greedy tokens per prompt', Number, 64)
  .option('--prompts <n>', 'number of prompts to use', Number, CHATS.length + TEXTS.length)
  .option(
    '--sides <list>',
    'weights, then + and the formats of keys and values, then @ and threads, with s for shards, as in w8+int8/fp8@2s',
    'auto,f32,w8,w4,auto+int8/int8,auto+int8/fp8,auto@2,auto@2s',
  )
  .option('--f16', 'have llama.cpp read the weights as F16, so that it does not round activations to 8 bits')
  .option('--python <program>', 'a Python with llama-cpp-python; default: the addon of node-llama-cpp')
  .option('--json <file>', 'file for the figures', 'build/bench/real.json')
  .parse()
  .opts<{
    model: string
    text: string
    windows: number
    window: number
    tokens: number
    prompts: number
    sides: string
    f16?: true
    python?: string
    json: string
  }>()

const WINDOW = options.window
const FIRST = WINDOW / 2
const CONTEXT = Math.max(1024, WINDOW)

/** The input of both engines, and the result of the reference. */
interface Asked {
  readonly prompts: readonly (readonly number[])[]
  readonly windows: readonly (readonly number[])[]
  readonly choices: readonly (readonly (readonly Candidate[])[])[]
  readonly losses: readonly number[]
}

const modelPath = modelPathOf(options.model)
const text = await readFile(options.text, 'utf8')
const file = new File([await openAsBlob(modelPath)], basename(modelPath))
const machine = `${cpus().length} x ${cpus()[0]?.model}`
const theirs = options.f16 ? await f16Copy(modelPath) : modelPath
const reference = await openReference(options.python, { modelPath: theirs, threads: 1, context: CONTEXT })
let asked: Asked | undefined
const sides: Side[] = []
for (const name of options.sides.split(',')) {
  await withBuilt([file], { ...buildOptions(name), contextLength: CONTEXT }, async (built) => {
    asked ??= await askReference(built, reference)
    const start = performance.now()
    const places: Place[] = []
    for (const [index, prompt] of asked.prompts.entries())
      places.push(...(await placesOf(built, index, prompt, asked.choices[index]!)))
    const losses = await ourLosses(built, asked.windows)
    sides.push({
      name,
      places,
      windows: asked.windows.length,
      prompts: asked.prompts.length,
      perplexity: perplexityOf(losses),
      reference: perplexityOf(asked.losses),
    })
    // Saved after each side, so that an interrupted run keeps its results.
    await mkdir(dirname(options.json), { recursive: true })
    await writeFile(
      options.json,
      `${JSON.stringify({ machine, model: file.name, window: WINDOW, sides }, null, 1)}\n`,
    )
    console.error(`${name}: ${((performance.now() - start) / 1000).toFixed(0)} s`)
  })
}
reference.close()
console.log(
  `${machine}, ${file.name}, windows of ${WINDOW} tokens, llama.cpp on ${basename(theirs)}\n\n${perplexityTable(sides)}\n\n${greedyTable(sides)}`,
)

function buildOptions(side: string): BuildOptions {
  const [, weights, k, v, threads, shards] = side.match(/^(\w+)(?:\+(\w+)\/(\w+))?(?:@(\d+)(s?))?$/) ?? []
  if (weights === undefined)
    throw new Error(`"${side}" is not a side; give one like auto, w8+int8/int8 or w4@2s`)
  return {
    weights: weights as NonNullable<BuildOptions['weights']>,
    threads: Number(threads ?? 1),
    ...(k === undefined ? {} : { kvCache: { k, v } as NonNullable<BuildOptions['kvCache']> }),
    ...(shards ? { pool: 'shards' } : {}),
  }
}

/** Reuses an earlier run's copy. */
async function f16Copy(path: string): Promise<string> {
  const copy = join('build/bench', `${basename(path, '.gguf')}.F16.gguf`)
  if (!existsSync(copy)) {
    await mkdir(dirname(copy), { recursive: true })
    console.error(`writing ${copy}`)
    await writeF16Copy(path, copy)
  }
  return copy
}

async function askReference(built: BuiltModel, reference: Reference): Promise<Asked> {
  const { tokenizer } = built
  const template = new ChatTemplate(chatTemplateOf(tokenizer))
  const chats = CHATS.map((messages) =>
    template.render(messages, { ...chatTokens(tokenizer), addGenerationPrompt: true }),
  )
  const prompts = [
    ...chats.map((chat) => encodeChat(tokenizer, chat)),
    ...TEXTS.map((each) => tokenizer.encode(each, { addSpecial: true })),
  ].slice(0, options.prompts)
  const all = tokenizer.encode(text, { addSpecial: true })
  if (options.python !== undefined) await compareIds(built, reference, chats, all)
  const windows = Array.from({ length: options.windows }, (_, index) =>
    all.slice(index * WINDOW, (index + 1) * WINDOW),
  )
  const choices: (readonly (readonly Candidate[])[])[] = []
  for (const prompt of prompts)
    choices.push((await reference.ask({ type: 'greedy', prompt, count: options.tokens })).greedy!)
  const losses: number[] = []
  for (const targets of windows) {
    const tokens = begun(built, targets)
    const { logProbabilities } = await reference.ask({ type: 'window', tokens, targets, from: FIRST })
    losses.push(...logProbabilities!.map((each) => -each))
  }
  console.error(`llama.cpp: perplexity ${perplexityOf(losses).toFixed(4)}`)
  return { prompts, windows, choices, losses }
}

/** Reports where the ids of the text and the chats differ from llama.cpp's. */
async function compareIds(
  built: BuiltModel,
  reference: Reference,
  chats: readonly string[],
  all: readonly number[],
): Promise<void> {
  const { tokenizer } = built
  const { ids } = await reference.ask({ type: 'tokenize', text, bos: true, special: false })
  const differing = ids!.findIndex((id, at) => id !== all[at])
  console.error(
    differing < 0 && ids!.length === all.length
      ? `ids: the same ${all.length} of the text`
      : `ids: ${all.length} of the text, ${ids!.length} in llama.cpp, the first different one at ${differing}: ${JSON.stringify(tokenizer.decode(all.slice(differing - 4, differing + 8)))}`,
  )
  for (const [index, chat] of chats.entries()) {
    const own = encodeChat(tokenizer, chat)
    const { addsBos, bosId } = tokenizer
    const bos = addsBos && bosId !== undefined && !chat.startsWith(tokenizer.tokenText(bosId))
    const { ids } = await reference.ask({ type: 'tokenize', text: chat, bos, special: true })
    if (ids!.join() !== own.join())
      console.error(`ids: chat ${index + 1} is ${own.join(' ')}\n  in llama.cpp ${ids!.join(' ')}`)
  }
}

/** Runs the reference's own text, so that every position has the same history in both engines. */
async function placesOf(
  built: BuiltModel,
  prompt: number,
  start: readonly number[],
  choices: readonly (readonly Candidate[])[],
): Promise<Place[]> {
  const chosen = choices.map(([best]) => best!.id)
  const places: Place[] = []
  await forwardRows(built)([...start, ...chosen.slice(0, -1)], (position, logits) => {
    const token = position - start.length + 1
    if (token < 0) return
    const [best, second] = choices[token]!
    let ours = 0
    for (let id = 1; id < logits.length; id++) if (logits[id]! > logits[ours]!) ours = id
    const other = choices[token]!.find(({ id }) => id === ours)
    places.push({
      prompt,
      token,
      isSame: ours === best!.id,
      // How much the reference prefers its choice to its second one, or to Halfbyte's choice.
      margin:
        best!.logProbability - (other === undefined || ours === best!.id ? second! : other).logProbability,
      shift: logits[best!.id]! - logits[second!.id]! - (best!.logProbability - second!.logProbability),
      pieces: [best!.id, ours].map((id) => built.tokenizer.decode([id])),
    })
  })
  return places
}

/** Windows begin with BOS if the model expects it. */
function begun(built: BuiltModel, window: readonly number[]): readonly number[] {
  const first = built.tokenizer.addsBos ? (built.tokenizer.bosId ?? window[0]!) : window[0]!
  return [first, ...window.slice(1)]
}

/** Losses of the windows' scored tokens. */
async function ourLosses(built: BuiltModel, windows: readonly (readonly number[])[]): Promise<number[]> {
  const losses: number[] = []
  for (const window of windows) {
    await forwardRows(built)(begun(built, window), (position, logits) => {
      if (position < FIRST || position >= WINDOW - 1) return
      losses.push(negativeLogLikelihood(logits, window[position + 1]!))
    })
  }
  return losses
}

function perplexityOf(losses: readonly number[]): number {
  return Math.exp(losses.reduce((sum, each) => sum + each, 0) / losses.length)
}
