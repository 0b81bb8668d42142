// `npm run bench:replies` runs the items of reply tasks in llama.cpp, scores its replies like those of
// `halfbyte eval --samples`, and shows where the two diverge.
import { existsSync } from 'node:fs'
import { appendFile, readFile } from 'node:fs/promises'
import { Command } from 'commander'
import { ToolCallParser } from '../../../src/core/text/chat/calls/tool-calls.ts'
import { descriptionOf, withToolText } from '../../../src/engine/chat/chat-turns.ts'
import { makeReplyTask, type TaskSpec, taskSpec } from '../../../src/tools/cli/eval/tasks.ts'
import {
  type MarkedReply,
  marked,
  type Reply,
  type ReplyItem,
  type ReplyTask,
} from '../../../src/tools/evaluate/replies/reply-task.ts'
import { shown } from '../../../src/tools/evaluate/report.ts'
import { modelPathOf } from './model-path.ts'
import { openReference, type Reference } from './reference.ts'

interface SampleLine {
  readonly task: string
  readonly result?: object
}

interface Options {
  readonly model: string
  readonly python: string
  readonly output: string
  readonly samples?: string
  readonly limit: number
  readonly seed?: number
  readonly maxTokens?: number
  readonly shots?: number
}

/** A reply of llama.cpp, and by how much it preferred each token to the second-best one. */
interface ReferenceReply extends Reply {
  readonly margins: readonly number[]
  readonly seconds: readonly number[]
}

const CONTEXT = 4096

const command = new Command('bench:replies')
  .description('Replies of llama.cpp, scored like those of halfbyte eval: the same items, its own template.')
  .argument('<task=file...>', 'as for halfbyte eval', taskSpec)
  .option('--model <name or file>', 'a name of "npm run setup", or a GGUF file', 'smollm2')
  .requiredOption('--python <program>', 'a Python with llama-cpp-python')
  .requiredOption('--output <file>', 'replies as JSON lines; existing ones are not repeated')
  .option('--samples <file>', 'output of halfbyte eval --samples to compare with')
  .option('--limit <n>', 'maximum items per task', Number, 100)
  .option('--seed <n>', 'as for halfbyte eval', Number)
  .option('--max-tokens <n>', 'as for halfbyte eval', Number)
  .option('--shots <n>', 'as for halfbyte eval', Number)
  .parse()
const options = command.opts<Options>()
const [specs] = command.processedArgs as [readonly TaskSpec[]]

const modelPath = modelPathOf(options.model)
const known = await readReplies<ReferenceReply>(options.output, (value) => value)
const reference = await openReference(options.python, { modelPath, threads: 1, context: CONTEXT })
const tasks: ReplyTask[] = []
for (const spec of specs) {
  const task = await makeReplyTask(spec, options)
  if (task === undefined) throw new Error(`the items of ${spec.name} are not replies`)
  tasks.push(task)
  const { items } = task
  for (const [index, item] of items.entries()) {
    const key = `${task.name} ${item.id}`
    if (known.has(key)) continue
    const reply = await askReference(reference, item)
    known.set(key, reply)
    await appendFile(options.output, `${JSON.stringify({ task: task.name, id: item.id, ...reply })}\n`)
    process.stderr.write(`\r${task.name}: ${index + 1} of ${items.length}`)
  }
}
reference.close()
const ours =
  options.samples === undefined
    ? new Map<string, MarkedReply>()
    : await readReplies<MarkedReply>(options.samples, ({ task, result }) => ({ task, ...result }))
console.log(tables(tasks))

/** Lines of the file, keyed by task and item. */
async function readReplies<T>(path: string, flat: (line: SampleLine) => object): Promise<Map<string, T>> {
  const lines = existsSync(path) ? (await readFile(path, 'utf8')).split('\n').filter(Boolean) : []
  return new Map(
    lines.map((line) => {
      const value = flat(JSON.parse(line)) as { task: string; id: string }
      return [`${value.task} ${value.id}`, value as T]
    }),
  )
}

async function askReference(llama: Reference, { question }: ReplyItem): Promise<ReferenceReply> {
  const { messages, tools = [], stop, maxTokens } = question
  const answer = await llama.ask({
    type: 'chat',
    messages,
    stop,
    count: maxTokens,
    ...(tools.length > 0 && { tools: tools.map(descriptionOf), told: withToolText(messages, tools) }),
  })
  const parser = new ToolCallParser(tools)
  const raw = answer.text!
  const text = tools.length === 0 ? raw : parser.push(raw) + parser.finish()
  const found = answer.greedy!
  return {
    text,
    toolCalls: parser.calls,
    finishReason: answer.finishReason!,
    promptTokens: answer.ids!.length,
    tokens: answer.tokens!,
    margins: found.map(([best, next]) => best!.logProbability - next!.logProbability),
    seconds: found.map(([, next]) => next!.id),
  }
}

interface Parting {
  readonly id: string
  /** Index of the first different token. */
  readonly at: number
  /** How much more likely llama.cpp considered its own token than the second. */
  readonly margin: number
  /** Whether Halfbyte's token is llama.cpp's second. */
  readonly isSecond: boolean
}

function partingOf(own: MarkedReply, other: ReferenceReply): Parting | undefined {
  const length = Math.max(own.tokens.length, other.tokens.length)
  for (let at = 0; at < length; at++) {
    if (own.tokens[at] === other.tokens[at]) continue
    // Ending the turn is also a choice, but is not among the tokens.
    const isSecond = own.tokens[at] === undefined || own.tokens[at] === other.seconds[at]
    return { id: own.id, at, margin: other.margins[at] ?? 0, isSecond }
  }
  return undefined
}

function tables(all: readonly ReplyTask[]): string {
  const scores: string[] = []
  const partings: string[] = []
  for (const task of all) {
    const items = task.items
      .slice(0, options.limit)
      .filter(({ id }) => options.samples === undefined || ours.has(`${task.name} ${id}`))
    const theirs = items.map((item) => marked(item, known.get(`${task.name} ${item.id}`)!))
    const own = items.flatMap((item) => ours.get(`${task.name} ${item.id}`) ?? [])
    const [left, right] = [own, theirs].map((replies) => task.metrics(replies))
    for (const [metric, estimate] of Object.entries(right!)) {
      const mine = left![metric]
      scores.push(
        `| ${task.name} | ${items.length} | ${metric} | ${mine ? shown(metric, mine) : ''} | ${shown(metric, estimate)} |`,
      )
    }
    partings.push(partingRow(task, items, own))
  }
  return [
    '| task | items | metric, % | Halfbyte | llama.cpp |\n| --- | --: | --- | --: | --: |',
    ...scores,
    '\n| task | prompts of different length | same replies | different scores | largest margin at a divergence | divergences to a token other than the second |\n| --- | --: | --: | --: | --- | --: |',
    ...partings,
  ].join('\n')
}

function partingRow(task: ReplyTask, items: readonly ReplyItem[], own: readonly MarkedReply[]): string {
  const others = items.map(({ id }) => known.get(`${task.name} ${id}`)!)
  const prompts = own.filter((each, at) => each.promptTokens !== others[at]!.promptTokens).length
  const found = own.flatMap((each, at) => partingOf(each, others[at]!) ?? [])
  const marks = own.filter(
    (each, at) => JSON.stringify(each.marks) !== JSON.stringify(items[at]!.mark(others[at]!)),
  ).length
  const [largest] = [...found].sort((one, other) => other.margin - one.margin)
  const far = found.filter(({ isSecond }) => !isSecond).length
  const told =
    largest === undefined ? '' : `${largest.margin.toFixed(3)} (${largest.id}, token ${largest.at})`
  return `| ${task.name} | ${prompts} | ${own.length - found.length} of ${own.length} | ${marks} | ${told} | ${far} |`
}
