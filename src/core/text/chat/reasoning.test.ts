// Tests splitting off reasoning. In: replies as models of each family write them, split anywhere; published
// templates. Out: the thought and the answer; the marks that a template names.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { ChatTemplate } from './chat-template.ts'
import {
  answerHead,
  beginningAfter,
  marksAround,
  type ReasoningForm,
  reasoningFormOf,
  reasoningSplitter,
} from './reasoning.ts'

const published = (name: string) =>
  readFileSync(
    join(import.meta.dirname, '../../../../test/conformance/templates/published', `${name}.jinja`),
    'utf8',
  )

function formOf(template: string): ReasoningForm {
  const form = reasoningFormOf(template)
  if (form.isAssumed) throw new Error('the template does not name any marks')
  return form
}

function split(form: ReasoningForm, pieces: readonly string[], prompt = '') {
  const splitter = reasoningSplitter(form, beginningAfter(prompt, form))
  const parts = [...pieces.map((piece) => splitter.push(piece)), splitter.finish()]
  const joined = (key: 'reasoning' | 'text') => parts.map((part) => part[key]).join('')
  return {
    reasoning: joined('reasoning'),
    text: joined('text'),
    hasThought: splitter.hasThought,
    whole: splitter.whole((text) => text),
  }
}

const THINK = formOf('<think></think>')
const GEMMA_4 = formOf("'<|channel>thought\\n<channel|>'")
const HARMONY = formOf('<|channel|>')
const GRANITE_32 = formOf('Here is my thought process: Here is my response:')
const COMMAND = formOf('<|START_THINKING|>')

/** Form, prompt, reply, thought, answer. */
const REPLIES: readonly [string, ReasoningForm, string, string, string, string][] = [
  ...[
    ['Seed-OSS', '<seed:think>', '</seed:think>'],
    ['Kimi-VL', '◁think▷', '◁/think▷'],
    ['MiniMax M3', '<mm:think>', '</mm:think>'],
  ].map(([name, open, close]): (typeof REPLIES)[0] => [
    name!,
    formOf(open!),
    '',
    `${open}A fox.${close}Hi`,
    'A fox.',
    'Hi',
  ]),
  ['Qwen3', THINK, '', '<think>\nA fox.\n</think>\n\nThe fox.', 'A fox.', 'The fox.'],
  ['Gemma 4', GEMMA_4, '<|turn>model\n', '<|channel>thought\nA fox.<channel|>The fox.', 'A fox.', 'The fox.'],
  ['Gemma 4, closed by the prompt', GEMMA_4, '<|turn>model\n<|channel>thought\n<channel|>', 'Hi', '', 'Hi'],
  ['Qwen3, empty', THINK, '', '<think>\n\n</think>\n\nHi', '', 'Hi'],
  ['DeepSeek', THINK, '<｜Assistant｜><think>\n', 'A fox.\n</think>\n\nHi', 'A fox.', 'Hi'],
  [
    'opened by the prompt, then again by the reply',
    THINK,
    '<think>\n',
    ' <think>\nA <think>.</think>Hi',
    'A <think>.',
    'Hi',
  ],
  ['opened by the prompt, and almost again by the reply', THINK, '<think>\n', '<thin', '<thin', ''],
  ['closed by the prompt', THINK, '<think>\n\n</think>\n\n', 'Write <think>.', '', 'Write <think>.'],
  ['quoted later', THINK, '', 'Write `<think>a</think>`.', '', 'Write `<think>a</think>`.'],
  ['no thought', THINK, '', '\n <b>Hi</b> ', '', '\n <b>Hi</b> '],
  ['cut off within the thought', THINK, '', '<think>\nA fox </thin', 'A fox </thin', ''],
  ['almost a mark', THINK, '', '<think>a < b </thinker></think>c', 'a < b </thinker>', 'c'],
  [
    'Granite 3.3',
    THINK,
    '',
    '<think>A fox.</think>\n<response>The <fox>.</response>\n',
    'A fox.',
    'The <fox>.\n',
  ],
  [
    'Hunyuan',
    formOf('<think></think><answer>'),
    '',
    '<think>\nA.\n</think>\n<answer>\nHi\n</answer>',
    'A.',
    'Hi\n',
  ],
  ['Granite 3.3 without a thought', THINK, '', '<response>Hi</response>', '', 'Hi'],
  [
    'Granite 3.2',
    GRANITE_32,
    '',
    'Here is my thought process:\n\nHere I am.\n\nHere is my response:\n\nHi',
    'Here I am.',
    'Hi',
  ],
  ['Magistral', formOf('[THINK]'), '', '[THINK]A [fox].[/THINK]Hi', 'A [fox].', 'Hi'],
  [
    'Command A',
    COMMAND,
    '',
    '<|START_THINKING|>A fox.<|END_THINKING|><|START_RESPONSE|>Hi<|END_RESPONSE|>',
    'A fox.',
    'Hi',
  ],
  ['Command A in the answer', COMMAND, '<|START_RESPONSE|>', 'Hi<|END_RESPONSE|>', '', 'Hi'],
  [
    'Command A+',
    formOf('<|START_THINKING|><|START_TEXT|>'),
    '<|START_THINKING|>',
    'A fox.<|END_THINKING|><|START_TEXT|>Hi<|END_TEXT|>',
    'A fox.',
    'Hi',
  ],
  ['Gemma 4', formOf('<|channel>thought'), '', '<|channel>thought\nA fox.\n<channel|>Hi', 'A fox.', 'Hi'],
  [
    'MiniCPM 3',
    formOf('<|thought_end|>'),
    '',
    '<|thought_start|>\nA fox.\n<|thought_end|>\nHi',
    'A fox.',
    'Hi',
  ],
  ['LongCat', formOf('<longcat_think>'), '<longcat_think>', 'A fox.</longcat_think>Hi', 'A fox.', 'Hi'],
  ['Reka Flash', formOf('<reasoning>'), '', ' <reasoning>A fox. </reasoning>Hi', 'A fox.', 'Hi'],
  [
    'Apriel',
    formOf('Here are my reasoning steps:'),
    'Here are my reasoning steps:\n',
    'A fox.\n[BEGIN FINAL RESPONSE]\nHi\n[END FINAL RESPONSE]',
    'A fox.',
    'Hi\n',
  ],
  [
    'gpt-oss',
    HARMONY,
    '<|start|>assistant',
    '<|channel|>analysis<|message|>A fox.<|end|><|start|>assistant<|channel|>final<|message|>Hi',
    'A fox.',
    'Hi',
  ],
  ['gpt-oss without a thought', HARMONY, '', '<|channel|>final<|message|>Hi<|return|>', '', 'Hi'],
  [
    'gpt-oss with a call',
    HARMONY,
    '',
    '<|channel|>analysis<|message|>A fox.<|end|><|start|>assistant to=functions.f<|channel|>commentary json<|message|>{"a":1}<|call|>',
    'A fox.',
    '[TOOL_CALLS]f[ARGS]{"a":1}',
  ],
  [
    'gpt-oss with marks in the arguments of a call',
    HARMONY,
    '',
    '<|channel|>commentary to=functions.f<|message|>{"a": "<|end|> \\"<|call|>", "b": 1}<|call|>',
    '',
    '[TOOL_CALLS]f[ARGS]{"a": "<|end|> \\"<|call|>", "b": 1}',
  ],
  ['a template without marks', reasoningFormOf('plain'), '', '<think>\nA.</think>\n\nHi', 'A.', 'Hi'],
  ['the same without a thought', reasoningFormOf('plain'), '', 'Use </think>.', '', 'Use </think>.'],
  [
    'gpt-oss cut off within a header',
    HARMONY,
    '',
    '<|channel|>analysis<|message|>A<|end|><|start|>assi',
    'A',
    '',
  ],
]

describe('a reply', () => {
  test.each(REPLIES)('of %s is split into thought and answer', (_, form, prompt, reply, reasoning, text) => {
    expect(split(form, [reply], prompt)).toMatchObject({ reasoning, text, whole: reply })
  })

  test.each(REPLIES)('of %s gives the same parts however it is chunked', (_, form, prompt, reply) => {
    const whole = split(form, [reply], prompt)
    const cuts = fc.array(fc.nat(reply.length), { maxLength: 12 })
    fc.assert(
      fc.property(cuts, (places) => {
        const ends = [0, ...places.toSorted((one, other) => one - other), reply.length]
        const pieces = ends.slice(1).map((end, index) => reply.slice(ends[index], end))
        expect(split(form, pieces, prompt)).toEqual(whole)
      }),
    )
  })

  test('of any markers and spaces gives the same parts letter by letter, and loses nothing', () => {
    const pieces = fc.array(
      fc.constantFrom('<think>', '</think>', '<response>', '</response>', '<th', '</', ' ', '\n', 'a'),
    )
    fc.assert(
      fc.property(pieces, fc.constantFrom('', '<think>', '</think>'), (parts, prompt) => {
        const whole = split(THINK, [parts.join('')], prompt)
        expect(whole.whole).toBe(parts.join(''))
        expect(split(THINK, [...parts.join('')], prompt)).toEqual(whole)
        expect(split(THINK, parts, prompt)).toEqual(whole)
      }),
    )
  })

  test('shows no answer before the thought has ended', () => {
    const reply = '<think>\nA fox.\n</think>\n\nHi'
    for (let length = 0; length <= reply.indexOf('</think>') + '</think>'.length; length++) {
      const splitter = reasoningSplitter(THINK, 'start')
      expect(splitter.push(reply.slice(0, length)).text).toBe('')
    }
  })

  test('keeps its markers in the whole text, and the rest is quoted', () => {
    const splitter = reasoningSplitter(formOf('[THINK]'), 'start')
    splitter.push('[THINK]a[/THINK]b')
    splitter.finish()
    expect(splitter.whole((text) => text.toUpperCase())).toBe('[THINK]A[/THINK]B')
  })
})

describe('the marks of a published template', () => {
  test.each([
    ['Qwen-Qwen3-0.6B', '<think>'],
    ['HuggingFaceTB-SmolLM3-3B', '<think>'],
    ['deepseek-ai-DeepSeek-R1-Distill-Qwen-32B', '<think>'],
    ['deepseek-ai-DeepSeek-V3.1', '<think>'],
    ['ibm-granite-granite-3.3-2B-Instruct', '<think>'],
    ['GLM-4.6', '<think>'],
    ['ByteDance-Seed-OSS', '<seed:think>'],
    ['Apertus-8B-Instruct', '<|inner_prefix|>'],
    ['openai-gpt-oss-120b', '<|channel|>analysis<|message|>'],
    ['Qwen-Qwen2.5-7B-Instruct', undefined],
    ['Qwen3-Coder', undefined],
    ['ibm-granite-granite-4.0', undefined],
    ['microsoft-Phi-3.5-mini-instruct', undefined],
    ['mistralai-Mistral-Nemo-Instruct-2407', undefined],
  ])('%s are the markers that it names', (name, open) => {
    const { isAssumed, open: found } = reasoningFormOf(published(name))
    expect(isAssumed ? undefined : found).toBe(open)
  })

  test.each([
    ['Qwen-Qwen3-0.6B', {}, 'start'],
    ['Qwen-Qwen3-0.6B', { enable_thinking: false }, 'answer'],
    ['HuggingFaceTB-SmolLM3-3B', {}, 'start'],
    ['HuggingFaceTB-SmolLM3-3B', { enable_thinking: false }, 'answer'],
    ['deepseek-ai-DeepSeek-R1-Distill-Qwen-32B', { enable_thinking: true }, 'thought'],
    ['deepseek-ai-DeepSeek-R1-Distill-Qwen-32B', {}, 'answer'],
    ['deepseek-ai-DeepSeek-V3.1', { thinking: true }, 'thought'],
    ['deepseek-ai-DeepSeek-V3.1', {}, 'answer'],
    ['GLM-4.6', {}, 'start'],
    ['GLM-4.6', { enable_thinking: false }, 'answer'],
    ['ByteDance-Seed-OSS', { thinking_budget: 0 }, 'answer'],
    ['openai-gpt-oss-120b', {}, 'start'],
  ] as const)('%s with %o puts the start of the reply in its %s', (name, templateArguments, phase) => {
    const source = published(name)
    const prompt = new ChatTemplate(source).render([{ role: 'user', content: 'Hi' }], { templateArguments })
    expect(beginningAfter(prompt, formOf(source))).toBe(phase)
  })
})

test('a prefix continues the answer, unless it has its own markers', () => {
  expect(answerHead('<think>\n', THINK, 'The')).toBe('\n</think>\n\n')
  expect(answerHead('<think>\n', THINK, 'a</think>The')).toBe('')
  expect(answerHead('', THINK, '<think>a')).toBe('')
  expect(answerHead('', THINK, 'The')).toBe('')
  expect(answerHead('<|start|>assistant', HARMONY, 'The')).toBe('<|channel|>final<|message|>')
  expect(beginningAfter('', THINK, '<think>a')).toBe('thought')
  expect(beginningAfter('', THINK, '<think>a</think>b')).toBe('answer')
})

describe('a continued thought', () => {
  test.each<[string, ReasoningForm, string, string, string]>([
    ['Qwen3', THINK, '<|im_start|>assistant\n', '<think>\n', '\n</think>\n\n'],
    ['DeepSeek, whose prompt opens the thought', THINK, '<｜Assistant｜><think>\n', '', '\n</think>\n\n'],
    ['a prompt that closed a thought', THINK, '<think>\n\n</think>\n\n', '<think>\n', '\n</think>\n\n'],
    ['Magistral', formOf('[THINK]'), '[/INST]', '[THINK]', '\n[/THINK]\n\n'],
    ['gpt-oss', HARMONY, '<|start|>assistant', HARMONY.open, HARMONY.close],
  ])('of %s is enclosed in its marks', (_, form, prompt, before, after) => {
    expect(marksAround(prompt, form, '')).toEqual([before, ''])
    expect(marksAround(prompt, form, 'Hi')).toEqual([before, after])
  })

  test('may begin with whitespace, and with a mark that would open it again', () => {
    const splitter = reasoningSplitter(THINK, 'continued')
    const parts = [...' <think> b</think>\n\nHi'].map((letter) => splitter.push(letter))
    parts.push(splitter.finish())
    expect(parts.map(({ reasoning }) => reasoning).join('')).toBe(' <think> b')
    expect(parts.map(({ text }) => text).join('')).toBe('Hi')
  })
})
