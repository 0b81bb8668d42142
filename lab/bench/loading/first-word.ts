// Measures the time until the first word from a local file in Node. Halfbyte and node-llama-cpp take turns.
//
//   npm i --no-save --ignore-scripts node-llama-cpp@3.22.1
//   npx node lab/bench/loading/first-word.ts model.gguf [model.hbm]
//
// Each start is a process of its own with two threads. Seconds from its first statement until the model is
// loaded, and until the first text of an answer to "Hello".
import { execFile } from 'node:child_process'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { spread, spreadText } from '../spread.ts'

const ROUNDS = 5
const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
/** Below the clone, where programs find its packages. */
const FOLDER = join(ROOT, 'build/first-word')
const HALFBYTE = `
const { Engine } = await import(process.argv[3])
const engine = await Engine.load(process.argv[2], { threads: 2, store: false })
loaded = performance.now()
for await (const _ of engine.createSession().send('Hello', { maxTokens: 4 })) first ??= performance.now()`
const LLAMA = `
const { getLlama, LlamaChatSession } = await import('node-llama-cpp')
const llama = await getLlama({ gpu: false, build: 'never' })
const model = await llama.loadModel({ modelPath: process.argv[2] })
const context = await model.createContext({ contextSize: 2048, threads: 2 })
loaded = performance.now()
const session = new LlamaChatSession({ contextSequence: context.getSequence() })
await session.prompt('Hello', { maxTokens: 4, onTextChunk() { first ??= performance.now() } })`

/** Seconds until the model was loaded, and until the first text. */
async function start(body: string, model: string): Promise<readonly [load: number, word: number]> {
  const program = join(FOLDER, 'start.mjs')
  await writeFile(
    program,
    `const begun = performance.now(); let loaded, first${body}
    console.log(JSON.stringify([loaded - begun, first - begun])); process.exit(0)`,
  )
  const args = [program, model, join(ROOT, 'dist/node.js')]
  const { stdout } = await promisify(execFile)(process.execPath, args)
  const [load, word] = JSON.parse(stdout.trim().split('\n').at(-1)!) as [number, number]
  return [load / 1000, word / 1000]
}

await mkdir(FOLDER, { recursive: true })
const [gguf, pack] = process.argv.slice(2)
if (gguf === undefined) throw new Error('give a GGUF file, and optionally the same model as a pack')
const kinds: readonly (readonly [title: string, body: string, model: string])[] = [
  ['node-llama-cpp', LLAMA, gguf],
  ['Halfbyte', HALFBYTE, gguf],
  ...(pack === undefined ? [] : [['Halfbyte, pack', HALFBYTE, pack] as const]),
]
const times = kinds.map(() => ({ load: [] as number[], word: [] as number[] }))
for (let round = 0; round < ROUNDS; round++)
  for (const [index, [, body, model]] of kinds.entries()) {
    const [load, word] = await start(body, model)
    times[index]!.load.push(load)
    times[index]!.word.push(word)
  }
console.log('| | load | first word |\n|---|--:|--:|')
for (const [index, [title]] of kinds.entries()) {
  const { load, word } = times[index]!
  console.log(`| ${title} | ${spreadText(spread(load), 2)} | ${spreadText(spread(word), 2)} |`)
}
