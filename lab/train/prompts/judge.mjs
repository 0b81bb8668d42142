// Asks models held-out questions as the chat page does. In: packs, prompts/held.json. Out: a table of each
// model's right answers, and every answer.
//
// npx node lab/train/prompts/judge.mjs --model demo/models/halfbyte-stories.hbm --seeds 10 --out
// answers.jsonl
import { appendFileSync, readFileSync, rmSync } from 'node:fs'
import { basename } from 'node:path'
import { Command } from 'commander'
import { ownAnswer, speakAnswer } from '../../../demo/src/conversation/answer.ts'
import { Speaker } from '../../../demo/src/conversation/speech/speaker.ts'
import { newConversation } from '../../../demo/src/conversation/store/conversations.ts'
import { DEFAULT_SETTINGS, replyOptions } from '../../../demo/src/shell/settings.ts'
import { TOOLS } from '../../../demo/src/tools/tools.ts'
import { exactUse } from '../../../demo/src/tools/use-tool.ts'
import { calculate, plainNumber } from '../../../src/ui/assist/exact/calculate.ts'
import { openEngine } from '../../../src/tools/cli/command-engine.ts'
import { EXACT_KV } from '../../../src/core/graph/ir.ts'

const args = new Command('judge')
  .requiredOption('--model <file...>', 'one or more')
  .option('--seeds <n>', 'per known story prompt; a fifth as many for held-out ones, one for sums and specials', Number, 10)
  .option('--only <kinds...>', '', ['sums', 'known', 'stories', 'special'])
  .option('--bare', "without the page's processor, which favours the requested words")
  .option('--questions <file>', 'questions other than held.json')
  .option('--out <file>')
  .parse()
  .opts()

/** The page's own models use the processor in every answer. */
const KEEP_WORDS = new URL('../../../demo/src/conversation/story/keep-words.ts', import.meta.url).href

const held = JSON.parse(readFileSync(args.questions ?? new URL('held.json', import.meta.url), 'utf8'))
const never = new AbortController().signal
const page = {
  grow: () => undefined,
  save: () => undefined,
  room: () => undefined,
  measured: () => undefined,
  failed: (error) => {
    throw error
  },
}

/** The page's answer. */
async function converse(engine, prompt, seed) {
  const conversation = { ...newConversation(), messages: [{ role: 'user', content: prompt }] }
  const training = { isStoryteller: true, usesTools: true }
  const own = args.bare ? undefined : ownAnswer(conversation.messages, training, DEFAULT_SETTINGS)
  if (own !== undefined) return own
  const speaker = new Speaker(engine, { usesTools: true, isStoryteller: !args.bare, processors: args.bare ? [] : [KEEP_WORDS] })
  return speakAnswer(speaker, conversation, undefined, { ...DEFAULT_SETTINGS, seed }, never, page)
}

/**
 * The result of the model's own call for the last turn, and the result that the page shows. Earlier turns
 * already have their calls.
 */
async function workOut(engine, sum, seed) {
  const session = engine.createSession()
  session.setMessages(solved(sum))
  const options = { ...replyOptions({ ...DEFAULT_SETTINGS, seed }, engine.model.sampling), tools: TOOLS, maxTokens: 80 }
  const { text, toolCalls = [] } = await session.send(sum.turns.at(-1), options).result
  await session.dispose()
  const call = toolCalls[0]
  const use = exactUse(sum.turns.at(-1), sum.first ? [sum.first.result] : [], 'page1')
  return { text, call, own: valueOf(call?.arguments.expression), shown: Number(use?.used.result) }
}

function valueOf(expression) {
  try {
    return Number(plainNumber(calculate(String(expression))))
  } catch {
    return undefined
  }
}

/** A conversation in which the first sum was already called and answered. */
function solved({ turns, first }) {
  if (turns.length < 2) return []
  const call = { id: 'call1', name: 'calculate', arguments: { expression: first.expression } }
  return [
    { role: 'user', content: turns[0] },
    { role: 'assistant', content: '', toolCalls: [call] },
    { role: 'tool', content: first.result, toolCallId: call.id, name: call.name },
    { role: 'assistant', content: `It is ${first.result}.` },
  ]
}

const near = (one, other) => Math.abs(one - other) < 1e-6 * Math.max(1, Math.abs(other))
const has = (text, word) => new RegExp(`\\b${word}`, 'i').test(text)
const isStory = (text) => text.length > 250 && !/^I (?:cannot|am sorry|only)/.test(text)
/** Whether an answer to a special prompt is appropriate, by kind. */
const FITS = {
  story: isStory,
  scary: (text) => isStory(text) && /scar|afraid|monster|ghost|dark|spooky|fright/i.test(text),
  funny: (text) => isStory(text) && /funny|silly|laugh|giggl|joke/i.test(text),
  kind: (text) => text.length < 200 && /picture|happy|sad|story|like|nice|thank|hello|hi\b|angry|words best/i.test(text),
  english: (text) => text.length < 250 && /only (?:speak|know)|English|that language/i.test(text),
  refusal: (text) => text.length < 250 && /cannot|can't|not good|too hard|small model|only know/i.test(text),
}

/** The share of three-word sequences that two stories have in common, over all pairs. */
function likeness(stories) {
  const runs = stories.map((text) => {
    const words = text.toLowerCase().match(/[a-z']+/g) ?? []
    return new Set(words.slice(2).map((_, i) => words.slice(i, i + 3).join(' ')))
  })
  const shares = runs.flatMap((one, i) =>
    runs.slice(i + 1).map((other) => {
      const both = [...one].filter((run) => other.has(run)).length
      return both / Math.max(1, one.size + other.size - both)
    }),
  )
  return shares.reduce((sum, share) => sum + share, 0) / Math.max(1, shares.length)
}

const record = (entry) => args.out && appendFileSync(args.out, `${JSON.stringify(entry)}\n`)
const percent = (right, all) => `${right} of ${all} (${Math.round((100 * right) / all)} %)`

async function judgeSums(engine, name, rows) {
  let allOwn = 0
  let allShown = 0
  for (const kind of new Set(held.sums.map((sum) => sum.kind))) {
    let own = 0
    let shown = 0
    const asked = held.sums.filter((sum) => sum.kind === kind)
    for (const [i, sum] of asked.entries()) {
      const { own: value, shown: result, ...rest } = await workOut(engine, sum, i + 1)
      own += near(value, sum.result) ? 1 : 0
      shown += near(result, sum.result) ? 1 : 0
      record({ name, ...sum, value, shown: result, ...rest })
    }
    allOwn += own
    allShown += shown
    rows.push([`sums, ${kind}: the model's own call`, percent(own, asked.length)])
    rows.push([`sums, ${kind}: on the page`, percent(shown, asked.length)])
  }
  rows.push(["sums: the model's own call", percent(allOwn, held.sums.length)])
  rows.push(['sums: on the page', percent(allShown, held.sums.length)])
}

async function judgeStories(engine, name, rows, part, seeds) {
  let all = 0
  let whole = 0
  let words = 0
  let found = 0
  let ended = 0
  const alike = []
  for (const { prompt, words: asked } of held[part]) {
    const told = []
    for (let seed = 1; seed <= seeds; seed++) {
      const { content, ending } = await converse(engine, prompt, seed)
      const kept = asked.filter((word) => has(content, word))
      all += 1
      whole += kept.length === asked.length ? 1 : 0
      words += asked.length
      found += kept.length
      ended += ending === undefined && isStory(content) ? 1 : 0
      told.push(content)
      record({ name, part, prompt, seed, kept, asked, ending, content })
    }
    alike.push(likeness(told))
    const kept = told.filter((text) => asked.every((word) => has(text, word))).length
    if (part === 'known') rows.push([`"${prompt}"`, `${kept} of ${seeds}`])
  }
  rows.push([`stories, ${part}: all asked-for things`, percent(whole, all)])
  rows.push([`stories, ${part}: things`, percent(found, words)])
  rows.push([`stories, ${part}: complete`, percent(ended, all)])
  if (seeds > 1)
    rows.push([`stories, ${part}: three-word sequences shared by two stories`, `${((100 * alike.reduce((a, b) => a + b)) / alike.length).toFixed(1)} %`])
}

async function judgeSpecial(engine, name, rows) {
  for (const kind of Object.keys(FITS)) {
    const asked = held.special.filter(({ expects }) => expects === kind)
    let fit = 0
    for (const { prompt } of asked) {
      for (const seed of [1, 2]) {
        const { content } = await converse(engine, prompt, seed)
        fit += FITS[kind](content) ? 1 : 0
        record({ name, prompt, seed, fits: FITS[kind](content), content })
      }
    }
    rows.push([`special prompts: ${kind}`, percent(fit, 2 * asked.length)])
  }
}

if (args.out) rmSync(args.out, { force: true })
const { seeds } = args
for (const file of args.model) {
  const name = basename(file, '.hbm')
  const engine = await openEngine(file, { threads: 1, build: 'auto', weights: 'auto', kv: EXACT_KV }, never)
  const rows = []
  if (args.only.includes('special')) await judgeSpecial(engine, name, rows)
  if (args.only.includes('known')) await judgeStories(engine, name, rows, 'known', seeds)
  if (args.only.includes('stories')) await judgeStories(engine, name, rows, 'stories', Math.ceil(seeds / 5))
  if (args.only.includes('sums')) await judgeSums(engine, name, rows)
  console.log(`\n| ${name} | |\n|---|---|`)
  for (const [what, result] of rows) console.log(`| ${what} | ${result} |`)
  await engine[Symbol.asyncDispose]()
}
