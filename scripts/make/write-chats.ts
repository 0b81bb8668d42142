// Lets a model generate its own calibration text, so that making its pack needs no other text. In: a model
// and prompts. Out: a .jsonl file of chats. An interrupted run is resumed.
import { appendFile, mkdir, readFile, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { parseJson } from '../../src/core/base/json.ts'
import { isObject } from '../../src/core/base/values.ts'
import { EXACT_KV } from '../../src/core/graph/ir.ts'
import type { Engine } from '../../src/engine/api/engine.ts'
import type { GenerateOptions } from '../../src/engine/api/types.ts'
import { openEngine } from '../../src/tools/cli/command-engine.ts'

interface ChatsJob {
  readonly model: string
  readonly prompts: readonly string[]
  /** Maximum tokens per reply. */
  readonly replyTokens: number
  readonly threads: number | 'auto'
  readonly signal: AbortSignal
  readonly onChat?: (done: number, total: number) => void
}

/** Number of chats answered at the same time; a step reads each weight once for all of them. */
const AT_A_TIME = 8
/** Room for a template's own words, a prompt and the longest reply. */
const CONTEXT = 1024

/**
 * Samples from the model's own distribution, so that the text reflects everything that the model finds
 * likely, not only its top choices.
 */
const PLAIN_DRAWS: GenerateOptions = { temperature: 1, topK: 0, topP: 1, minP: 0, repeatPenalty: 1 }

/**
 * Each chat has its own seed, so that neither other chats nor the number of threads affect it. Throws what
 * loading and generating throw, or the signal's reason.
 */
export async function writeChats(path: string, job: ChatsJob): Promise<void> {
  const { model, prompts, threads, signal, onChat } = job
  await mkdir(dirname(path), { recursive: true })
  const done = await finishedChats(path, prompts)
  if (done === prompts.length) return
  const flags = { threads, build: 'auto', weights: 'auto', kv: EXACT_KV, context: CONTEXT } as const
  const engine = await openEngine(model, flags, signal)
  try {
    for (let at = done; at < prompts.length; at += AT_A_TIME) {
      onChat?.(at, prompts.length)
      const some = prompts.slice(at, at + AT_A_TIME)
      const lines = await Promise.all(some.map((prompt, index) => chat(engine, prompt, at + index, job)))
      await appendFile(path, lines.map((line) => `${line}\n`).join(''))
    }
    onChat?.(prompts.length, prompts.length)
  } finally {
    await engine.dispose()
  }
}

/** Counts the prompts that an earlier run has answered, and truncates the file after them. */
async function finishedChats(path: string, prompts: readonly string[]): Promise<number> {
  const lines = (await readFile(path, 'utf8').catch(() => '')).split('\n')
  // Anything after the last line break is an incomplete line.
  lines.pop()
  const wrong = lines.findIndex((line, index) => promptOf(line) !== prompts[index])
  const kept = wrong < 0 ? lines : lines.slice(0, wrong)
  await writeFile(path, kept.map((line) => `${line}\n`).join(''))
  return kept.length
}

function promptOf(line: string): unknown {
  try {
    const value = parseJson(line)
    const [first] = isObject(value) && Array.isArray(value['messages']) ? value['messages'] : []
    return isObject(first) ? first['content'] : undefined
  } catch {
    return undefined
  }
}

async function chat(
  engine: Engine,
  prompt: string,
  seed: number,
  { replyTokens, signal }: ChatsJob,
): Promise<string> {
  const session = engine.createSession()
  try {
    const reply = session.send(prompt, { ...PLAIN_DRAWS, maxTokens: replyTokens, seed, signal })
    const content = await reply.text()
    const messages = [
      { role: 'user', content: prompt },
      { role: 'assistant', content },
    ]
    return JSON.stringify({ messages })
  } finally {
    await session.dispose()
  }
}
