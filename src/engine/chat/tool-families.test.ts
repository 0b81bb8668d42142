// Tool families. In: templates that write tools, calls and results like Qwen, Llama 3 and Mistral. Out: their
// exact prompts, and calls that survive the round trip.
import { describe, expect, test } from 'vitest'
import { ChatTemplate } from '../../core/text/chat/chat-template.ts'
import { byteLevelSpec } from '../../core/text/testing/tiny.ts'
import { createTokenizer } from '../../core/text/tokenize/read/create.ts'
import { toolCallsOf } from '../reply/reply-tool-calls.ts'
import type { Message, Tool, ToolCall } from '../types/conversation.ts'
import { renderTurns } from './chat-turns.ts'

const tokenizer = createTokenizer(byteLevelSpec())
const QUESTION = { role: 'user', content: 'Warmer than Rome?' } as const
const tools: readonly Tool[] = [
  {
    name: 'weather',
    description: 'Tells it.',
    parameters: { type: 'object', properties: { city: { type: 'string' } } },
  },
]
const TOLD =
  '{"type": "function", "function": {"name": "weather", "description": "Tells it.", ' +
  '"parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}}'

interface Family {
  readonly template: string
  /** The model's calls for `CITIES`, and how a later prompt contains them. */
  readonly asked: string
  readonly told: string
  /** The whole prompt with the question, the calls as above, and answers "12" and so on. */
  readonly prompt: (told: string) => string
  readonly cities: readonly string[]
}

const FAMILIES: Readonly<Record<string, Family>> = {
  Qwen: {
    template: `{%- if tools %}{{- '<|im_start|>system\\n# Tools\\n\\n<tools>' }}
{%- for tool in tools %}{{- '\\n' }}{{- tool | tojson }}{%- endfor %}{{- '\\n</tools><|im_end|>\\n' }}{%- endif %}
{%- for message in messages %}
  {%- if message.role == 'tool' %}
    {%- if loop.index0 == 0 or messages[loop.index0 - 1].role != 'tool' %}{{- '<|im_start|>user' }}{%- endif %}
    {{- '\\n<tool_response>\\n' + message.content + '\\n</tool_response>' }}
    {%- if loop.last or messages[loop.index0 + 1].role != 'tool' %}{{- '<|im_end|>\\n' }}{%- endif %}
  {%- else %}
    {{- '<|im_start|>' + message.role }}
    {%- if message.content %}{{- '\\n' + message.content }}{%- endif %}
    {%- for call in message.tool_calls or [] %}
      {%- set call = call.function %}
      {{- '\\n<tool_call>\\n{"name": "' + call.name + '", "arguments": ' }}{{- call.arguments | tojson }}{{- '}\\n</tool_call>' }}
    {%- endfor %}
    {{- '<|im_end|>\\n' }}
  {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}{%- endif %}`,
    asked:
      '<tool_call>\n{"name": "weather", "arguments": {"city": "Oslo"}}\n</tool_call>\n' +
      '<tool_call>\n{"name": "weather", "arguments": {"city": "Rome"}}\n</tool_call>',
    told:
      '<tool_call>\n{"name": "weather", "arguments": {"city": "Oslo"}}\n</tool_call>\n' +
      '<tool_call>\n{"name": "weather", "arguments": {"city": "Rome"}}\n</tool_call>',
    prompt: (told) =>
      `<|im_start|>system\n# Tools\n\n<tools>\n${TOLD}\n</tools><|im_end|>\n` +
      `<|im_start|>user\nWarmer than Rome?<|im_end|>\n<|im_start|>assistant\n${told}<|im_end|>\n` +
      '<|im_start|>user\n<tool_response>\n12\n</tool_response>\n<tool_response>\n24\n</tool_response><|im_end|>\n' +
      '<|im_start|>assistant\n',
    cities: ['Oslo', 'Rome'],
  },
  'Llama 3': {
    template: `{%- if tools is not none %}
  {%- set first = messages[0].content | trim %}{%- set messages = messages[1:] %}
  {{- '<|start_header_id|>user<|end_header_id|>\\n\\n' }}
  {%- for tool in tools %}{{- tool | tojson }}{{- '\\n\\n' }}{%- endfor %}
  {{- first + '<|eot_id|>' }}
{%- endif %}
{%- for message in messages %}
  {%- if 'tool_calls' in message %}
    {%- if message.tool_calls | length != 1 %}{{- raise_exception('one call at a time') }}{%- endif %}
    {%- set call = message.tool_calls[0].function %}
    {{- '<|start_header_id|>assistant<|end_header_id|>\\n\\n{"name": "' + call.name + '", "parameters": ' }}
    {{- call.arguments | tojson }}{{- '}<|eot_id|>' }}
  {%- elif message.role == 'tool' %}
    {{- '<|start_header_id|>ipython<|end_header_id|>\\n\\n' }}{{- message.content | tojson }}{{- '<|eot_id|>' }}
  {%- else %}
    {{- '<|start_header_id|>' + message.role + '<|end_header_id|>\\n\\n' + message.content | trim + '<|eot_id|>' }}
  {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}{%- endif %}`,
    asked: '<|python_tag|>{"type": "function", "name": "weather", "parameters": {"city": "Oslo"}}',
    told: '{"name": "weather", "parameters": {"city": "Oslo"}}',
    prompt: (told) =>
      `<|start_header_id|>user<|end_header_id|>\n\n${TOLD}\n\nWarmer than Rome?<|eot_id|>` +
      `<|start_header_id|>assistant<|end_header_id|>\n\n${told}<|eot_id|>` +
      '<|start_header_id|>ipython<|end_header_id|>\n\n"12"<|eot_id|>' +
      '<|start_header_id|>assistant<|end_header_id|>\n\n',
    cities: ['Oslo'],
  },
  Mistral: {
    template: `{%- set asked = messages | selectattr('role', 'equalto', 'user') | list %}
{%- for message in messages %}
  {%- if message.role == 'user' %}
    {%- if tools is not none and message == asked[-1] %}{{- '[AVAILABLE_TOOLS] ' }}{{- tools | tojson }}{{- '[/AVAILABLE_TOOLS]' }}{%- endif %}
    {{- '[INST] ' + message.content + '[/INST]' }}
  {%- elif message.tool_calls is defined and message.tool_calls is not none %}
    {{- '[TOOL_CALLS] [' }}
    {%- for call in message.tool_calls %}
      {%- if call.id | length != 9 %}{{- raise_exception('ids have nine letters') }}{%- endif %}
      {%- set out = call.function | tojson %}
      {{- out[:-1] + ', "id": "' + call.id + '"}' }}{{- ', ' if not loop.last else ']</s>' }}
    {%- endfor %}
  {%- elif message.role == 'tool' %}
    {{- '[TOOL_RESULTS] {"content": ' + message.content + ', "call_id": "' + message.tool_call_id + '"}[/TOOL_RESULTS]' }}
  {%- else %}{{- ' ' + message.content + '</s>' }}{%- endif %}
{%- endfor %}`,
    asked:
      '[TOOL_CALLS] [{"name": "weather", "arguments": {"city": "Oslo"}}, {"name": "weather", "arguments": {"city": "Rome"}}]',
    told:
      '[TOOL_CALLS] [{"name": "weather", "arguments": {"city": "Oslo"}, "id": "call00001"}, ' +
      '{"name": "weather", "arguments": {"city": "Rome"}, "id": "call00002"}]',
    prompt: (told) =>
      `[AVAILABLE_TOOLS] [${TOLD}][/AVAILABLE_TOOLS][INST] Warmer than Rome?[/INST]${told}</s>` +
      '[TOOL_RESULTS] {"content": 12, "call_id": "call00001"}[/TOOL_RESULTS]' +
      '[TOOL_RESULTS] {"content": 24, "call_id": "call00002"}[/TOOL_RESULTS]',
    cities: ['Oslo', 'Rome'],
  },
}

/** The calls in a reply that arrives letter by letter. */
function callsIn(reply: string): readonly ToolCall[] {
  const calls = toolCallsOf({ type: 'messages', messages: [QUESTION], tools })!
  const text = [...reply].map((letter) => calls.push(letter)).join('') + calls.finish()
  expect(text).toBe('')
  return calls.found
}

describe.each(Object.entries(FAMILIES))('the tools of %s', (_, family) => {
  const template = new ChatTemplate(family.template)
  const wanted = family.cities.map((city, index) => ({
    id: `call0000${index + 1}`,
    name: 'weather',
    arguments: { city },
    argumentsJson: `{"city": "${city}"}`,
  }))

  test('are called in the family’s format', () => {
    expect(callsIn(family.asked)).toEqual(wanted)
  })

  test('produce exactly the template’s prompt, from which the calls can be parsed again', () => {
    const answers = wanted.map(({ id, name }, index): Message => {
      return { role: 'tool', content: String(12 * (index + 1)), toolCallId: id, name }
    })
    const messages = [QUESTION, { role: 'assistant', content: '', toolCalls: wanted } as const, ...answers]
    expect(renderTurns({ template }, tokenizer, messages, { tools })).toBe(family.prompt(family.told))
    expect(callsIn(family.told)).toEqual(wanted)
  })
})

test('a template that accepts one call at a time reports that', () => {
  const calls = ['Oslo', 'Rome'].map((city) => ({ id: city, name: 'weather', arguments: { city } }))
  const messages = [QUESTION, { role: 'assistant', content: '', toolCalls: calls } as const]
  const template = new ChatTemplate(FAMILIES['Llama 3']!.template)
  expect(() => renderTurns({ template }, tokenizer, messages, { tools })).toThrow(/one call at a time/)
})

test('the digits that the model wrote come back in its prompt', () => {
  const argumentsJson = '{"city": "Oslo", "id": 1234567890123456789, "x": 1.0, "2": [1e2]}'
  const call = { id: 'a', name: 'weather', arguments: JSON.parse(argumentsJson), argumentsJson }
  const messages = [QUESTION, { role: 'assistant', content: '', toolCalls: [call] } as const]
  const template = new ChatTemplate(FAMILIES['Llama 3']!.template)
  expect(renderTurns({ template }, tokenizer, messages, { tools })).toContain(
    `"parameters": ${argumentsJson}}`,
  )
  const other = { ...call, argumentsJson: '{"city": ' }
  const broken = [QUESTION, { role: 'assistant', content: '', toolCalls: [other] } as const]
  expect(renderTurns({ template }, tokenizer, broken, { tools })).toContain('"city": "Oslo"')
})
