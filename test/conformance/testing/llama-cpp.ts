// llama.cpp as the reference. In: a GGUF file's bytes, ids. Out: the log-probabilities of every token, or an
// encoder's vector or score.
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import type { ReferenceAnswer, ReferenceOrder } from './llama-cpp.child.ts'

/** The addon of node-llama-cpp's platform package; undefined if it is not installed. */
export function llamaCppAddon(): string | undefined {
  const name = '@node-llama-cpp/linux-x64'
  const folders = createRequire(import.meta.url).resolve.paths(name) ?? []
  return folders
    .map((folder) => join(folder, name, 'bins', basename(name), 'llama-addon.node'))
    .find((path) => existsSync(path))
}

/** [position][id]. Throws llama.cpp's errors. */
export async function llamaCppLogProbabilities(
  file: File,
  tokens: readonly number[],
  addonPath: string,
): Promise<Float64Array[]> {
  const rows = await answerTo(file, { addonPath, tokens })
  return rows.map((pairs) => {
    const row = new Float64Array(pairs.length / 2)
    for (let at = 0; at < pairs.length; at += 2) row[pairs[at]!] = Math.log(pairs[at + 1]!)
    return row
  })
}

/** The pooled vector of an encoder, of any length, or the score of a reranker. Throws llama.cpp's errors. */
export async function llamaCppPooled(
  file: File,
  tokens: readonly number[],
  addonPath: string,
  pooled: 'vector' | 'score',
): Promise<Float64Array> {
  const [values = []] = await answerTo(file, { addonPath, tokens, pooled })
  return Float64Array.from(values)
}

type Order = Omit<ReferenceOrder, 'modelPath'>

/** llama.cpp's process, which answers all requests of a test file, one after another. */
let reference: ChildProcess | undefined
let turn: Promise<unknown> = Promise.resolve()

function answerTo(file: File, order: Order): Promise<readonly (readonly number[])[]> {
  const answer = turn.then(() => ask(file, order))
  turn = answer.catch(() => undefined)
  return answer
}

async function ask(file: File, order: Order): Promise<readonly (readonly number[])[]> {
  const folder = await mkdtemp(join(tmpdir(), 'halfbyte-reference-'))
  const child = reference ?? fork(join(import.meta.dirname, 'llama-cpp.child.ts'))
  reference = child
  // The child keeps this process alive only while it works, and ends with it.
  child.ref()
  child.channel?.ref()
  const settled = new AbortController()
  const { signal } = settled
  try {
    const modelPath = join(folder, 'model.gguf')
    await writeFile(modelPath, new Uint8Array(await file.arrayBuffer()))
    const answered = once(child, 'message', { signal }).then(([answer]) => answer as ReferenceAnswer)
    const died = once(child, 'exit', { signal }).then(([code]): ReferenceAnswer => {
      reference = undefined
      return { failure: `it ended with ${code}` }
    })
    died.catch(() => undefined)
    child.send({ modelPath, ...order } satisfies ReferenceOrder)
    const { rows, failure } = await Promise.race([answered, died])
    if (rows === undefined) throw new Error(`llama.cpp: ${failure}`)
    return rows
  } finally {
    settled.abort()
    child.unref()
    child.channel?.unref()
    await rm(folder, { recursive: true })
  }
}

/** Log-probabilities of a row of logits. */
export function logProbabilities(logits: ArrayLike<number>): Float64Array {
  const row = Float64Array.from(logits)
  const most = Math.max(...row)
  const sum = row.reduce((all, each) => all + Math.exp(each - most), 0)
  return row.map((each) => each - most - Math.log(sum))
}

/** Log-probabilities minus their mean equal logits minus their mean. */
export function centred(row: Float64Array): Float64Array {
  const mean = row.reduce((sum, each) => sum + each) / row.length
  return row.map((each) => each - mean)
}
