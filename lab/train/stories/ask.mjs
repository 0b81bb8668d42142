// Asks models the evaluation prompts. In: packs and lab/train/prompts/prompts.json. Out: Markdown with every
// reply.
//
// npx node lab/train/stories/ask.mjs --set twenty --all-tools --model demo/models/halfbyte-stories.hbm
import { readFileSync, writeFileSync } from 'node:fs'
import { basename } from 'node:path'
import { Command } from 'commander'
import { openEngine } from '../../../src/tools/cli/command-engine.ts'

const args = new Command('ask')
  .requiredOption('--model <file...>', 'one or more')
  .option('--prompts <file>', '', new URL('../prompts/prompts.json', import.meta.url).pathname)
  .option('--set <name>', '', 'twenty')
  .option('--out <file>')
  .option('--seed <n>', '', Number, 1)
  .option('--all-tools', 'offer the tools for every prompt, like the chat page, not only for the group "tools"')
  .parse()
  .opts()

const { tools, [args.set]: groups } = JSON.parse(readFileSync(args.prompts, 'utf8'))
const given = tools.map((tool) => tool.function)
/** Conversion factors from the first unit to the second, for the units in the prompts. */
const FACTORS = { 'miles kilometres': 1.609344, 'pounds kilograms': 0.45359237 }

/** The result of a call, as a page would compute it; undefined if the arguments are invalid. */
function resultOf({ name, arguments: given }) {
  if (name === 'current_date') return { date: 'Sunday, 22 November 2026', time: '21:00' }
  if (name === 'convert_units') {
    const factor = FACTORS[`${given.from} ${given.to}`]
    return factor && { result: Math.round(given.value * factor * 100) / 100 }
  }
  if (name !== 'calculate') return undefined
  const [, one, sign, other] = /^\s*([\d.]+)\s*([-+*/])\s*([\d.]+)\s*$/.exec(given.expression) ?? []
  const a = Number(one)
const b = Number(other)
  const result = { '+': a + b, '-': a - b, '*': a * b, '/': a / b }[sign]
  return result === undefined ? undefined : { result }
}

/** The reply and, for tools, the call, its result and the answer after it. */
async function ask(engine, prompt, group) {
  const withTools = args.allTools || group === 'tools'
  const session = engine.createSession()
  const options = { seed: args.seed, maxTokens: 400 }
  let offered = withTools
  const send = (input) => session.send(input, { ...options, ...(offered && { tools: given }) }).result
  let first
  try {
    first = await send(prompt)
  } catch (error) {
    if (!offered || error.code !== 'unsupported') throw error
    offered = false
    first = await send(prompt)
  }
  const lines = [cut(first)]
  for (const call of first.toolCalls ?? []) {
    lines.push(`call: \`${call.name}(${JSON.stringify(call.arguments)})\``)
    const result = resultOf(call)
    if (result === undefined) continue
    const content = JSON.stringify(result).replaceAll('":', '": ').replaceAll(',"', ', "')
    lines.push(`result: \`${content}\``)
    lines.push(cut(await send({ role: 'tool', content, toolCallId: call.id, name: call.name })))
  }
  if (group === 'tools' && !offered) lines.push('(its template does not support tools)')
  return lines.filter(Boolean)
}

function cut({ text, finishReason }) {
  return text.trim() + (finishReason === 'length' ? ' [cut]' : '')
}

const replies = new Map()
for (const model of args.model) {
  const engine = await openEngine(model, { threads: 1 }, new AbortController().signal)
  for (const [group, prompts] of Object.entries(groups)) {
    for (const prompt of prompts) {
      const found = await ask(engine, prompt, group)
      replies.set(prompt, [...(replies.get(prompt) ?? []), found])
    }
  }
  await engine[Symbol.asyncDispose]()
}
const names = args.model.map((model) => basename(model, '.hbm'))
let text = ''
for (const [group, prompts] of Object.entries(groups)) {
  text += `\n#### ${group}\n`
  for (const prompt of prompts) {
    text += `\n> **${prompt}**\n\n`
    replies.get(prompt).forEach((lines, i) => {
      const body = lines.join('\n').split(/\n+/).join('<br>')
      text += names.length > 1 ? `- ${names[i]}: ${body}\n` : `${body}\n`
    })
  }
}
if (args.out) writeFileSync(args.out, text)
else process.stdout.write(text)
