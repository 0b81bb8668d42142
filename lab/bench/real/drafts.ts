// node lab/bench/real/drafts.ts measures how much faster replies of real models are with drafts than without,
// for JSON that follows a schema, edits of code, summaries and free text. Replies are greedy, and their text
// must be the same.
import { openAsBlob } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { cpus } from 'node:os'
import { basename } from 'node:path'
import { Command } from 'commander'
import type { Engine } from '../../../src/engine/api/engine.ts'
import type { GenerateOptions } from '../../../src/engine/api/types.ts'
import { openEngine } from '../../../test/conformance/testing/node-engine.ts'
import { spread, spreadText } from '../spread.ts'
import { modelPathOf } from './model-path.ts'

const PERSON = {
  type: 'object',
  properties: {
    name: { type: 'string' },
    birthYear: { type: 'integer' },
    nationality: { type: 'string' },
    occupation: { type: 'string' },
    famousFor: { type: 'string' },
  },
  required: ['name', 'birthYear', 'nationality', 'occupation', 'famousFor'],
  additionalProperties: false,
}
const CODE = `function total(items) {
  let sum = 0
  for (const item of items) {
    sum = sum + item.price * item.count
  }
  return sum
}`
const PEOPLE = { type: 'array', items: PERSON, minItems: 3, maxItems: 3 }

interface Case {
  readonly label: string
  readonly question: string
  readonly options?: GenerateOptions
}

const casesOf = (article: string): readonly Case[] => [
  { label: 'JSON', question: 'Describe Marie Curie as JSON.', options: { schema: PERSON } },
  {
    label: 'compact JSON',
    question: 'Describe Marie Curie as JSON.',
    options: { schema: PERSON, compact: true },
  },
  { label: 'a list in JSON', question: 'List 3 famous physicists as JSON.', options: { schema: PEOPLE } },
  { label: 'an edit of code', question: `Rename sum to result in this code:\n\n${CODE}` },
  { label: 'a summary', question: `Summarise this text in three sentences:\n\n${article}` },
  { label: 'free text', question: 'Explain why the sky is blue.' },
]

async function measure(engine: Engine, { label, question, options }: Case): Promise<string> {
  const replyOf = async (speculation: 'off' | 'lookup') => {
    const session = engine.createSession()
    const how = { temperature: 0, maxTokens: most, ...options, speculation } as const
    const result = await session.send(question, how).result
    await session.dispose()
    return result
  }
  const roundOf = async () => {
    const plain = await replyOf('off')
    const drafted = await replyOf('lookup')
    if (plain.text !== drafted.text) throw new Error(`${label}: the text differs with drafts`)
    return { ratio: plain.timings.decodeMs / drafted.timings.decodeMs, usage: drafted.usage }
  }
  // The first round processes the prompt and learns how long steps take.
  const { usage } = await roundOf()
  const ratios: number[] = []
  for (let round = 0; round < rounds; round++) ratios.push((await roundOf()).ratio)
  const counts = [usage.completionTokens, usage.draftedTokens, usage.acceptedTokens].join(' | ')
  return `| ${label} | ${counts} | ${spreadText(spread(ratios), 2)} |`
}

const options = new Command('bench:drafts')
  .description('Times replies of a real model with drafts and without, alternating.')
  .requiredOption('--model <name>', 'a model downloaded by npm run setup, or a file')
  .requiredOption('--text <file>', 'a text to summarise; its first 6,000 characters are read')
  .option('--threads <n>', 'threads', Number, 2)
  .option('--rounds <n>', 'rounds; ratios are taken within a round', Number, 5)
  .option('--tokens <n>', 'maximum tokens per reply', Number, 200)
  .parse()
  .opts<{ model: string; text: string; threads: number; rounds: number; tokens: number }>()
const { threads, rounds, tokens: most } = options
const path = modelPathOf(options.model)
const file = new File([await openAsBlob(path)], basename(path))
const article = (await readFile(options.text, 'utf8')).slice(0, 6000)
const engine = await openEngine([file], { threads })
try {
  console.log(`${cpus().length} x ${cpus()[0]?.model}, ${basename(path)}, ${threads} threads\n`)
  console.log('| reply | tokens | drafted | accepted | times as fast as without drafts |')
  console.log('| --- | --: | --: | --: | --: |')
  for (const each of casesOf(article)) console.log(await measure(engine, each))
} finally {
  await engine.dispose()
}
