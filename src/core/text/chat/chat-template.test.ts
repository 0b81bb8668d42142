// Tests chat templates. In: messages, and templates as models ship them. Out: prompts, ids, and the ids that
// end a turn.
import { describe, expect, test } from 'vitest'
import { isHalfbyteError } from '../../base/errors.ts'
import { strftime } from '../jinja/globals.ts'
import { renderChat } from '../testing/render-chat.ts'
import { byteLevelSpec, byteLevelSpecWith, jsonSpec, spmSpec } from '../testing/tiny.ts'
import { createTokenizer } from '../tokenize/read/create.ts'
import {
  CHATML,
  ChatTemplate,
  chatTemplateOf,
  chatTokens,
  encodeChat,
  PLAIN,
  turnEndIds,
} from './chat-template.ts'

const MESSAGES = [
  { role: 'system', content: 'Be brief.' },
  { role: 'user', content: 'hello' },
]

/** Like Llama 2 and Mistral: roles must alternate, and EOS follows every answer. */
const ALTERNATING =
  "{{ bos_token }}{% for message in messages %}{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}" +
  "{{ raise_exception('Conversation roles must alternate user/assistant') }}{% endif %}" +
  "{% if message['role'] == 'user' %}{{ '[INST] ' + message['content'] | trim + ' [/INST]' }}" +
  "{% elif message['role'] == 'assistant' %}{{ ' ' + message['content'] + ' ' + eos_token }}{% endif %}{% endfor %}"

const DATED =
  "{% if not date_string is defined %}{% set date_string = strftime_now('%d %b %Y') %}{% endif %}" +
  'Today: {{ date_string }}\n{%- if tools is not none %} tools: {{ tools | tojson }}{%- endif %}'

function message(action: () => unknown): string {
  try {
    action()
  } catch (error) {
    if (isHalfbyteError(error) && error.code === 'format') return error.message
    throw error
  }
  throw new Error('nothing was thrown')
}

describe('rendering', () => {
  test('ChatML: one turn per message, and the beginning of the answer', () => {
    expect(renderChat(MESSAGES, { template: CHATML })).toBe(
      '<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nhello<|im_end|>\n<|im_start|>assistant\n',
    )
    expect(renderChat([], { template: CHATML, addGenerationPrompt: false })).toBe('')
  })

  test('plain: the texts, one per line, after BOS', () => {
    expect(renderChat(MESSAGES, { template: PLAIN, bosToken: '<s>' })).toBe('<s>Be brief.\nhello')
  })

  test.each([PLAIN, CHATML])('a prompt continues the previous one and its reply: %s', (template) => {
    const said = [...MESSAGES, { role: 'assistant', content: ' there' }, { role: 'user', content: 'again' }]
    const [first, second] = [MESSAGES, said].map((messages) =>
      renderChat(messages, { template, bosToken: '<s>' }),
    )
    expect(second?.startsWith(`${first} there`)).toBe(true)
    expect(second).toContain('\nagain')
  })

  test('a template sees the date, the tools and every field of a message', () => {
    const now = new Date(2026, 6, 4, 9, 5)
    const template = new ChatTemplate(DATED)
    expect(template.render([], { now })).toBe('Today: 04 Jul 2026')
    expect(template.render([], { now, tools: [{ name: 'f' }] })).toBe(
      'Today: 04 Jul 2026 tools: [{"name": "f"}]',
    )
    const named = new ChatTemplate('{% for m in messages %}{{ m.name | default(m.role) }};{% endfor %}')
    expect(named.render([{ role: 'tool', name: 'f', content: '' }, ...MESSAGES])).toBe('f;system;user;')
  })

  test('dates are in English and support Python\u2019s format fields', () => {
    const date = new Date(2026, 0, 5, 0, 7, 9)
    expect(strftime(date, '%A %a %B %b %d %-d %e %m %Y %y %H %I %-I %M %S %p %% %q')).toBe(
      'Monday Mon January Jan 05 5  5 01 2026 26 00 12 12 07 09 AM % %q',
    )
    expect(strftime(new Date(2026, 0, 5, 13), '%I %p %-H')).toBe('01 PM 13')
  })
})

describe('errors', () => {
  test('a template that rejects the messages says why', () => {
    expect(message(() => renderChat(MESSAGES, { template: ALTERNATING }))).toMatch(
      /must alternate user\/assistant/,
    )
  })

  test('a template that cannot be parsed, uses unknown functions, or never ends', () => {
    expect(message(() => new ChatTemplate('{% if %}'))).toMatch(/cannot be read/)
    expect(message(() => new ChatTemplate('{% for x in y %}'))).toMatch(/cannot be read/)
    expect(message(() => renderChat([], { template: '{{ messages | nonsense }}' }))).toMatch(/cannot render/)
    expect(message(() => renderChat([], { template: '{% for i in range(10**12) %}{% endfor %}' }))).toMatch(
      /1000000000000 elements; the limit is 100000/,
    )
    expect(message(() => new ChatTemplate(' '.repeat((1 << 20) + 1)))).toMatch(
      /1048577 characters; the limit is 1048576/,
    )
  })

  test('range counts like Python’s', () => {
    const template =
      '{{ range(3) | join }} {{ range(1, 3) | join }} {{ range(5, 0, -2) | join }} {{ range(3, 1) | join }}'
    expect(renderChat([], { template })).toBe('012 12 531 ')
  })
})

describe('with a tokenizer', () => {
  const bytes = createTokenizer(byteLevelSpec())

  test('uses the model\u2019s own template, or else ChatML if its tokens exist, or else plain text', () => {
    expect(chatTemplateOf(createTokenizer(byteLevelSpec({ chatTemplate: 'own' })))).toBe('own')
    expect(chatTemplateOf(bytes)).toBe(CHATML)
    expect(chatTemplateOf(createTokenizer(spmSpec(['a'])))).toBe(PLAIN)
    const named = [
      { name: 'tool_use', template: 'tools' },
      { name: 'default', template: 'plain' },
    ]
    expect(chatTemplateOf(createTokenizer(jsonSpec({}, { chat_template: named })))).toBe('plain')
    expect(chatTemplateOf(createTokenizer(jsonSpec({}, { chat_template: 'one' })))).toBe('one')
  })

  test('special tokens of a prompt are recognised, and there is only one BOS', () => {
    const prompt = renderChat(MESSAGES, { template: CHATML })
    const ids = encodeChat(bytes, prompt)
    const start = bytes.idOf('<|im_start|>') as number
    expect(ids.filter((id) => id === start)).toHaveLength(3)
    expect(bytes.decode(ids, { special: true })).toBe(prompt)

    const spm = createTokenizer(spmSpec(['\u2581', 'a'], { addEos: true }))
    const tokens = chatTokens(spm)
    expect(tokens).toEqual({ bosToken: '<s>', eosToken: '</s>' })
    const with2 = encodeChat(
      spm,
      renderChat([{ role: 'user', content: 'a' }], { template: PLAIN, ...tokens }),
    )
    const without = encodeChat(spm, 'a')
    expect(with2).toEqual(without)
    expect(without.filter((id) => id <= 2)).toEqual([1])
  })

  test('the token that a template writes after an answer ends a turn', () => {
    const own = byteLevelSpecWith(['<|stop|>'])
    const tokenizer = createTokenizer({ ...own, eosId: own.bosId })
    const stop = tokenizer.idOf('<|stop|>') as number
    const template = new ChatTemplate(
      "{% for m in messages %}{{ m.role + ': ' + m.content + ' <|stop|>' }}{% endfor %}",
    )
    expect(tokenizer.isEnd(stop)).toBe(false)
    expect(turnEndIds(tokenizer, template)).toEqual(new Set([...tokenizer.endIds, stop]))
    expect(turnEndIds(bytes, new ChatTemplate(CHATML))).toEqual(bytes.endIds)
    // GLM does not mark the end; it begins the user's turn instead.
    const open = new ChatTemplate(
      "{% for m in messages %}{{ '<|stop|>' if m.role == 'user' }}{{ m.content }}{% endfor %}",
    )
    expect(turnEndIds(tokenizer, open)).toEqual(new Set([...tokenizer.endIds, stop]))
    // Text after an answer, or a template that throws, leaves the known ids unchanged.
    expect(turnEndIds(bytes, new ChatTemplate(PLAIN))).toEqual(bytes.endIds)
    expect(turnEndIds(bytes, new ChatTemplate("{{ raise_exception('no') }}"))).toEqual(bytes.endIds)
  })

  test('EOS ends a turn of a template that requires alternating roles', () => {
    const tokenizer = createTokenizer(spmSpec(['\u2581', 'a']))
    expect(turnEndIds(tokenizer, new ChatTemplate(ALTERNATING))).toEqual(new Set([tokenizer.eosId]))
  })
})
