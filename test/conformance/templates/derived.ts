// Replies derived from published templates. In: a template's name, and turns. Out: the reply that its model
// would have written, with the marks of its thought and the mark before its calls.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { MARKERS } from '../../../src/core/base/calls/marks.ts'
import { ChatTemplate } from '../../../src/core/text/chat/chat-template.ts'
import { firstMark } from '../../../src/core/text/chat/marks.ts'
import {
  type Beginning,
  beginningAfter,
  reasoningFormOf,
  reasoningSplitter,
} from '../../../src/core/text/chat/reasoning.ts'
import { byteLevelSpecWith } from '../../../src/core/text/testing/tiny.ts'
import { createTokenizer } from '../../../src/core/text/tokenize/read/create.ts'
import { descriptionOf, renderTurns } from '../../../src/engine/chat/chat-turns.ts'
import type { Message, Tool, ToolCall } from '../../../src/engine/types/conversation.ts'
import { folder } from './compare.ts'

interface Derived {
  /**
   * The mark that the template writes before calls, or '' for none. Absent if the template does not support
   * tools.
   */
  readonly calls?: string
  /** The mark that opens a thought; absent if the template contains none. */
  readonly thought?: string
  /** Where a reply begins. Default `start`. */
  readonly begins?: Beginning
  /** The token after an answer, or before the next question. */
  readonly end: string
}

const EOS = '<|im_end|>'
/** Qwen's marks. */
const CHATML = { calls: '<tool_call>', end: EOS }
const THINK = '<think>'
export const DERIVED: Readonly<Record<string, Derived>> = {
  'Apertus-8B-Instruct': {
    calls: '<|tools_prefix|>',
    thought: '<|inner_prefix|>',
    end: '<|assistant_end|>',
  },
  'ByteDance-Seed-OSS': { calls: '<seed:tool_call>', thought: '<seed:think>', end: '<seed:eos>' },
  'GLM-4.6': { calls: '<tool_call>', thought: THINK, end: '<|user|>' },
  'HuggingFaceTB-SmolLM3-3B': { ...CHATML, thought: THINK },
  'Mistral-Small-3.2-24B-Instruct-2506': { calls: '[TOOL_CALLS]', end: EOS },
  'Qwen-Qwen2.5-7B-Instruct': CHATML,
  'Qwen-Qwen3-0.6B': { ...CHATML, thought: THINK },
  'Qwen3-Coder': CHATML,
  'ServiceNow-AI-Apriel-1.6-15b-Thinker': {
    calls: '<tool_calls>',
    thought: 'Here are my reasoning steps:',
    begins: 'thought',
    end: '<|end|>',
  },
  'allenai-Olmo-3-7B-Instruct': { calls: '<function_calls>', end: EOS },
  'deepseek-ai-DeepSeek-R1-Distill-Qwen-32B': { thought: THINK, begins: 'answer', end: EOS },
  'deepseek-ai-DeepSeek-V3.1': { calls: '<tool_call>', thought: THINK, begins: 'answer', end: EOS },
  'deepseek-ai-DeepSeek-V3.2': {
    calls: '<｜DSML｜function_calls>',
    thought: THINK,
    begins: 'answer',
    end: EOS,
  },
  'ibm-granite-granite-3.3-2B-Instruct': { calls: '<|tool_call|>', thought: THINK, end: '<|end_of_text|>' },
  'ibm-granite-granite-4.0': { calls: '<tool_call>', end: '<|end_of_text|>' },
  'internlm-Intern-S1-mini': {
    calls: '<|action_start|><|plugin|>',
    thought: THINK,
    begins: 'thought',
    end: EOS,
  },
  'microsoft-Phi-3.5-mini-instruct': { end: '<|end|>' },
  'mistralai-Ministral-3-14B-Reasoning-2512': { calls: '[TOOL_CALLS]', thought: '[THINK]', end: EOS },
  'mistralai-Mistral-Nemo-Instruct-2407': { calls: '[TOOL_CALLS]', end: EOS },
  'openai-gpt-oss-120b': {
    calls: '[TOOL_CALLS]',
    thought: '<|channel|>analysis<|message|>',
    end: '<|return|>',
  },
  'zai-org-GLM-4-9B-0414': { calls: '', end: '<|user|>' },
}

const ENDS = [...new Set(Object.values(DERIVED).map(({ end }) => end))].filter((end) => end !== EOS)
export const tokenizer = createTokenizer(byteLevelSpecWith([...ENDS, '<|tool_call|>']))
const PLAIN = { given: (text: string) => text, said: (text: string) => text }

export const TOOLS: readonly Tool[] = [
  {
    name: 'weather',
    description: 'The weather',
    parameters: { type: 'object', properties: { city: { type: 'string' }, days: { type: 'integer' } } },
  },
  { name: 'now', description: 'The time', parameters: { type: 'object', properties: {} } },
]
const CALLS: readonly ToolCall[] = [
  { id: 'call00001', name: 'weather', arguments: { city: 'Oslo "x"', days: 2 } },
  { id: 'call00002', name: 'now', arguments: {} },
]
/** Templates that write only the first call of a turn, or each one as a separate turn. */
const SINGLE = ['openai-gpt-oss-120b', 'zai-org-GLM-4-9B-0414']
const RESULT = 'twelve degrees'
/** Marks that end a reply, or begin the next turn. */
const STOPS = [
  ...ENDS,
  EOS,
  '<|im_start|>',
  '<|call|>',
  '<|observation|>',
  '<|bos|>',
  '[TOOL_RESULTS]',
  '<｜end▁of▁sentence｜>',
]

export const question: Message = { role: 'user', content: 'Weather?' }

/** The reply that a model must write for these turns to follow its prompt. */
export function written(name: string, turns: readonly Message[], tools: readonly Tool[] = []) {
  const template = new ChatTemplate(readFileSync(join(folder, 'published', `${name}.jinja`), 'utf8'))
  const render = (messages: readonly Message[], addGenerationPrompt: boolean) =>
    renderTurns({ template }, tokenizer, messages, { tools, addGenerationPrompt }, PLAIN)
  const prompt = render([question], true)
  const whole = render([question, ...turns], false)
  let at = 0
  while (at < prompt.length && prompt[at] === whole[at]) at++
  // The prompt's next mark and the reply's may have the same first characters.
  if (at < prompt.length) at -= /<[^>\s]*$/.exec(whole.slice(0, at))?.[0].length ?? 0
  const form = reasoningFormOf(template.source)
  const begins = beginningAfter(whole.slice(0, at), form)
  const rest = whole.slice(at)
  // A turn without a thought begins with the closing mark of an empty thought.
  const reply = rest.startsWith(form.close) ? rest.slice(form.close.length) : rest
  return { template, prompt, reply, form, begins }
}

/** Whether the template tells its model about tools. */
export function listsTools(name: string): boolean {
  const { template } = written(name, [])
  const turns = [{ role: 'user', content: question.content }]
  return template.render(turns, { tools: TOOLS.map(descriptionOf) }) !== template.render(turns)
}

/** A reply with calls, as the template writes it; `pieces` are its answer, letter by letter. */
export function calledReply(name: string) {
  const calls = SINGLE.includes(name) ? CALLS.slice(0, 1) : CALLS
  const results = calls.map(
    (call): Message => ({ role: 'tool', content: RESULT, toolCallId: call.id, name: call.name }),
  )
  const turns: readonly Message[] = [{ role: 'assistant', content: '', toolCalls: calls }, ...results]
  const { reply, form, begins } = written(name, turns, TOOLS)
  // Apertus writes results in a list after its calls.
  const before = reply.slice(0, reply.indexOf(RESULT)).replace(/(<\|tools_suffix\|>)\[$/, '$1')
  const end = Math.min(...STOPS.map((stop) => before.indexOf(stop)).filter((at) => at > 0), before.length)
  const text = before.slice(0, end)
  const splitter = reasoningSplitter(form, begins)
  const pieces = [...text].map((letter) => splitter.push(letter).text)
  pieces.push(splitter.finish().text)
  return { calls, text, pieces, mark: firstMark(pieces.join(''), MARKERS)?.mark ?? '' }
}
