// Tests of how messages are adapted to templates. In: templates like those of models, conversations with
// calls, tools and system text. Out: prompts in which nothing is lost.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { ChatTemplate } from '../../core/text/chat/chat-template.ts'
import { byteLevelSpec, byteLevelSpecWith, jsonSpec } from '../../core/text/testing/tiny.ts'
import { createTokenizer } from '../../core/text/tokenize/read/create.ts'
import { modelText } from '../load/model-text.ts'
import type { Message } from '../types/conversation.ts'
import { renderTurns } from './chat-turns.ts'

const tokenizer = createTokenizer(byteLevelSpec())
const TURNS = '{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}'
const CALLED: readonly Message[] = [
  { role: 'user', content: 'Weather?' },
  {
    role: 'assistant',
    content: '',
    toolCalls: [{ id: 'call00001', name: 'weather', arguments: { city: 'Oslo' } }],
  },
  { role: 'tool', content: '12 C', toolCallId: 'call00001', name: 'weather' },
]
const TOOLS = [{ name: 'weather', parameters: { type: 'object', properties: {} } }]

/**
 * The prompt of a template that writes each call with the expression `call`, in which `c` is the call's
 * function.
 */
const withCall = (call: string) => {
  const source = `{% for m in messages %}<{{ m.role }}>{{ m.content or '' }}{% for t in m.tool_calls %}{% set c = t.function %}${call}{% endfor %}{% endfor %}`
  return renderTurns({ template: new ChatTemplate(source) }, tokenizer, CALLED)
}

describe('arguments of calls', () => {
  test.each([
    ["{{ '|' + c.arguments + '|' }}", '|{"city": "Oslo"}|'],
    ['{{ c.arguments }}', '{"city": "Oslo"}'],
    ["{{ 'a' ~ c.arguments }}", 'a{"city": "Oslo"}'],
    ['{{ c.arguments | string }}', '{"city": "Oslo"}'],
    ['{{ c.arguments | tojson }}', '{"city": "Oslo"}'],
    ['{{ c.arguments.city }}{{ c.arguments is mapping }}{{ c.arguments is string }}', 'OsloTrueFalse'],
    ['{% for k, v in c.arguments | items %}{{ k }}={{ v }}{% endfor %}', 'city=Oslo'],
    ["{{ dict(c.arguments, unit='C') }}", "{'city': 'Oslo', 'unit': 'C'}"],
  ])('act as a mapping and concatenate as JSON: %s', (call, text) => {
    expect(withCall(call)).toBe(`<user>Weather?<assistant>${text}<tool>12 C`)
  })

  test.each(["'a' + {'k': 1}", "'a' + [1, 'b']", "'a' + true", "'a' + 1", "1 + 'a'", 'none + 1', "{} + 'a'"])(
    'but no other value concatenates with text: %s',
    (expression) => {
      expect(() => new ChatTemplate(`{{ ${expression} }}`).render([])).toThrow(
        expect.objectContaining({ code: 'format', message: expect.stringContaining('TypeError') }),
      )
    },
  )
})

describe('content next to calls', () => {
  const render = (source: string) => renderTurns({ template: new ChatTemplate(source) }, tokenizer, CALLED)

  test('is none if there is no text', () => {
    expect(
      render(
        '{% for m in messages %}{% if m.content is none %}<call>{{ m.tool_calls[0].function.name }}{% else %}<{{ m.role }}>{{ m.content }}{% endif %}{% endfor %}',
      ),
    ).toBe('<user>Weather?<call>weather<tool>12 C')
  })

  test.each(['{{ m.content }}', '{{ m.content | tojson | replace(\'"\', "") }}', "{{ '' + m.content }}"])(
    'is the empty string for a template that prints null as a word or rejects it: %s',
    (content) => {
      const calls = '{% for c in m.tool_calls %}{{ c.function.name }}{% endfor %}'
      expect(render(`{% for m in messages %}<{{ m.role }}>${content}${calls}{% endfor %}`)).toBe(
        '<user>Weather?<assistant>weather<tool>12 C',
      )
    },
  )
})

describe('a template that omits calls', () => {
  const render = (source: string, texts: readonly string[] = [], messages = CALLED) => {
    const special = createTokenizer(byteLevelSpecWith(texts))
    return renderTurns({ template: new ChatTemplate(source) }, special, messages)
  }
  const answered: readonly Message[] = [
    CALLED[0]!,
    { ...CALLED[1]!, content: 'Let me see.' },
    { ...CALLED[2]!, content: '12 <|tool_call|> C' },
  ]

  test.each([
    [[], '<tool_call>\n{"name": "weather", "arguments": {"city": "Oslo"}}\n</tool_call>'],
    [['<|tool_call_start|>'], '<|tool_call_start|>[weather(city="Oslo")]<|tool_call_end|>'],
    [['<|tool_call|>'], '<|tool_call|>[{"name": "weather", "arguments": {"city": "Oslo"}}]'],
  ])('gets them as text, in the form of a model with the tokens %j', (texts, call) => {
    expect(render(TURNS, texts)).toBe(`<user>Weather?<assistant>${call}<tool>12 C`)
  })

  test('keeps the text next to them, and results cannot forge a mark', () => {
    expect(render(TURNS, ['<|tool_call|>'], answered)).toMatch(
      /^<user>Weather\?<assistant>Let me see\.\n<\|tool_call\|>\[\{.*\}\]<tool>12 (?!<\|tool_call\|>)/s,
    )
  })

  const exact = '{"id": 1234567890123456789012, "at": [1.0, null], "on": {"x": true}}'
  const precise: readonly Message[] = [
    CALLED[0]!,
    { ...CALLED[1]!, toolCalls: [{ ...CALLED[1]!.toolCalls![0]!, argumentsJson: exact }] },
    CALLED[2]!,
  ]

  test("keeps the model's own digits, also as Python", () => {
    expect(render(TURNS, ['<|tool_call_start|>'], precise)).toContain(
      '[weather(id=1234567890123456789012, at=[1.0, None], on={"x": True})]',
    )
    expect(render(TURNS, [], precise)).toContain(`"arguments": ${exact}`)
  })

  test.each(['no JSON', '[1]', '{"id": 1} {'])(
    'passes the arguments if their text is not an object: %s',
    (bad) => {
      const call = { ...CALLED[1]!.toolCalls![0]!, argumentsJson: bad }
      const prompt = render(TURNS, ['<|tool_call_start|>'], [{ ...CALLED[1]!, toolCalls: [call] }])
      expect(prompt).toContain('[weather(city="Oslo")]')
    },
  )

  test('is the default one if a separate template for tools writes calls, but no tools are given', () => {
    const toolTemplate = new ChatTemplate(
      "{% for m in messages %}{{ m.content or '' }}{{ m.tool_calls | tojson if m.tool_calls else '' }}{% endfor %}",
    )
    const templates = { template: new ChatTemplate(TURNS), toolTemplate }
    expect(renderTurns(templates, tokenizer, CALLED)).toContain('<tool_call>\n{"name": "weather"')
    expect(renderTurns(templates, tokenizer, CALLED, { tools: TOOLS })).not.toContain('<tool_call>')
  })

  test('gets results as user messages if it omits those too', () => {
    const source = `{% for m in messages if m.role != 'tool' %}<{{ m.role }}>{{ m.content }}{% endfor %}`
    expect(render(source)).toMatch(/<user><tool_response>\n12 C\n<\/tool_response>$/)
  })

  test('of GLM-4 gets the name of each call as metadata, and results as observations', () => {
    const source =
      "{% for m in messages if m.role in ['user', 'assistant', 'observation'] %}<{{ m.role }}>{{ m.metadata }}\n{{ m.content }}{% endfor %}"
    expect(render(source)).toBe('<user>\nWeather?<assistant>weather\n{"city": "Oslo"}<observation>\n12 C')
  })
})

test("Kimi K2's ids contain the name and the number", () => {
  const second = { role: 'tool', content: '13 C', toolCallId: 'b', name: 'weather' } as const
  const again = { ...CALLED[1]!, toolCalls: [{ ...CALLED[1]!.toolCalls![0]!, id: 'b' }] }
  const source =
    '{% for m in messages %}{% for c in m.tool_calls %}<|tool_call_begin|>{{ c.id }}<|tool_call_argument_begin|>{% endfor %}' +
    '{{ m.tool_call_id }}{{ m.content or "" }}{% endfor %}'
  const messages = [...CALLED, again, second]
  expect(renderTurns({ template: new ChatTemplate(source) }, tokenizer, messages)).toBe(
    'Weather?<|tool_call_begin|>functions.weather:0<|tool_call_argument_begin|>functions.weather:012 C' +
      '<|tool_call_begin|>functions.weather:1<|tool_call_argument_begin|>functions.weather:113 C',
  )
})

describe('tools', () => {
  test('reach a template that cannot render without them', () => {
    const template = new ChatTemplate(`{{ tools[0].function.name }}${TURNS}`)
    const question: Message[] = [{ role: 'user', content: 'Hi' }]
    expect(() => renderTurns({ template }, tokenizer, question)).toThrow(
      expect.objectContaining({ code: 'format' }),
    )
    expect(renderTurns({ template }, tokenizer, question, { tools: TOOLS })).toBe('weather<user>Hi')
  })

  test.each([
    ['GGUF', byteLevelSpec({ chatTemplate: TURNS, toolTemplate: `{{ tools[0].function.name }}${TURNS}` })],
    [
      'a list in tokenizer_config.json',
      jsonSpec(
        {},
        {
          chat_template: [
            { name: 'tool_use', template: `{{ tools[0].function.name }}${TURNS}` },
            { name: 'default', template: TURNS },
          ],
        },
      ),
    ],
  ])('have a separate template in some files: %s', (_name, spec) => {
    const { renderPrompt } = modelText(createTokenizer(spec))
    expect(renderPrompt([{ role: 'user', content: 'Hi' }])).toBe('<user>Hi')
    expect(renderPrompt([{ role: 'user', content: 'Hi' }], { tools: TOOLS })).toBe('weather<user>Hi')
  })
})

describe('documents', () => {
  const rag = `{% for d in documents %}[{{ d.text }}]{% endfor %}${TURNS}`
  test.each([
    ['GGUF', byteLevelSpec({ chatTemplate: TURNS, documentTemplate: rag })],
    [
      'a list in tokenizer_config.json',
      jsonSpec(
        {},
        {
          chat_template: [
            { name: 'default', template: TURNS },
            { name: 'rag', template: rag },
          ],
        },
      ),
    ],
  ])('have a separate template in some files: %s', (_name, spec) => {
    const { renderPrompt } = modelText(createTokenizer(spec))
    const question: Message[] = [{ role: 'user', content: 'Hi' }]
    const documents = [{ text: 'A fox.' }]
    expect(renderPrompt(question)).toBe('<user>Hi')
    expect(renderPrompt(question, { templateArguments: { documents: [] } })).toBe('<user>Hi')
    expect(renderPrompt(question, { templateArguments: { documents } })).toBe('[A fox.]<user>Hi')
  })
})

describe('templates of models', () => {
  const textOf = (chatTemplate: string, given?: string) =>
    modelText(createTokenizer(byteLevelSpec({ chatTemplate })), given)
  const SAID: readonly Message[] = [
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: 'Hi' },
    { role: 'assistant', content: 'Ho' },
    { role: 'user', content: 'Bye' },
  ]

  test('that are empty count as absent', () => {
    expect(textOf(' \n').renderPrompt([{ role: 'user', content: 'Hi' }])).toBe(
      '<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n',
    )
  })

  test('in another language fail only when rendering, and can be replaced', () => {
    const go = '{{- if .System }}{{ .System }}{{ end }}{{- range .Messages }}<{{ .Role }}>{{- end }}'
    const text = textOf(go)
    expect(text.notes).toMatchObject([
      { code: 'unreadable-template', text: expect.stringContaining('the chat template cannot be read') },
    ])
    expect(text.text.encode('hello', true).length).toBeGreaterThan(0)
    expect(() => text.renderPrompt(SAID)).toThrow(
      expect.objectContaining({ code: 'format', message: expect.stringContaining('give another template') }),
    )
    expect(textOf(go, TURNS).renderPrompt([{ role: 'user', content: 'Hi' }])).toBe('<user>Hi')
    expect(() => textOf(TURNS, go)).toThrow(expect.objectContaining({ code: 'format' }))
  })

  test.each([
    `{% if messages[0].role == 'system' %}{{ raise_exception('System role not supported') }}{% endif %}${TURNS}`,
    "{% for m in messages if m.role != 'system' %}<{{ m.role }}>{{ m.content }}{% endfor %}",
  ])(
    'without a system role get the system prompt in the first question, and a note says so: %s',
    (source) => {
      const text = textOf(source)
      expect(text.notes).toMatchObject([
        { code: 'merged-system', text: expect.stringContaining('no system role') },
      ])
      expect(text.renderPrompt(SAID)).toBe('<user>Be brief.\n\nHi<assistant>Ho<user>Bye')
      expect(textOf(TURNS).notes).toEqual([])
    },
  )

  test('read the arguments that are given', () => {
    const text = textOf(`{% if enable_thinking is defined and not enable_thinking %}/no{% endif %}${TURNS}`)
    const question: Message[] = [{ role: 'user', content: 'Hi' }]
    expect(text.renderPrompt(question)).toBe('<user>Hi')
    expect(text.renderPrompt(question, { templateArguments: { enable_thinking: false } })).toBe('/no<user>Hi')
  })
})

describe('earlier thoughts', () => {
  const published = (name: string) => {
    const folder = join(import.meta.dirname, '../../../test/conformance/templates/published')
    return { template: new ChatTemplate(readFileSync(join(folder, `${name}.jinja`), 'utf8')) }
  }
  const call = { id: 'call00001', name: 'weather', arguments: {} }
  const asked: readonly Message[] = [
    { role: 'user', content: 'Weather?' },
    { role: 'assistant', content: '', reasoning: 'A fox.', toolCalls: [call] },
    { role: 'tool', content: '12 C', toolCallId: 'call00001', name: 'weather' },
  ]
  const later: readonly Message[] = [
    { role: 'user', content: 'a' },
    { role: 'assistant', content: 'b', reasoning: 'A fox.' },
    { role: 'user', content: 'c' },
  ]

  test.each([
    ['Qwen-Qwen3-0.6B', true, false],
    ['openai-gpt-oss-120b', true, false],
    ['ByteDance-Seed-OSS', true, true],
    ['GLM-4.6', true, false],
    ['HuggingFaceTB-SmolLM3-3B', false, false],
    ['deepseek-ai-DeepSeek-V3.1', false, false],
  ])('of %s are kept before results of tools: %s, and after the answer: %s', (name, isKept, isKeptLater) => {
    const templates = published(name)
    const before = renderTurns(templates, tokenizer, asked, { tools: TOOLS })
    expect(before.includes('A fox.')).toBe(isKept)
    expect(renderTurns(templates, tokenizer, later).includes('A fox.')).toBe(isKeptLater)
  })

  /** As Magistral's template reads an assistant's message; Ministral's rejects a thought in both places. */
  const BLOCKS = `{% for m in messages %}{% if m.reasoning_content and m.content is not string %}
    {{- raise_exception('a thought in both') }}{% endif %}{{ '<' + m.role + '>' }}{% if m.content is string %}{{ m.content }}{% else %}
    {%- for block in m.content %}{% if block.type == 'text' %}{{ block.text }}
    {%- elif block.type == 'thinking' %}{{ '[THINK]' + block['thinking'] + '[/THINK]' }}{% endif %}{% endfor %}
  {%- endif %}{% endfor %}`
  test('are blocks of the content only for templates that read such blocks', () => {
    const templates = { template: new ChatTemplate(BLOCKS) }
    const prompt = '<user>a<assistant>[THINK]A fox.[/THINK]b<user>c'
    expect(renderTurns(templates, tokenizer, later)).toBe(prompt)
    const empty = later.map((message) => (message.reasoning ? { ...message, content: '' } : message))
    expect(renderTurns(templates, tokenizer, empty)).toBe(prompt.replace('b', ''))
    const writes = { template: new ChatTemplate(`{{ 'thinking' in messages[1] }}${TURNS}`) }
    expect(renderTurns(writes, tokenizer, later)).toContain('<assistant>b<user>c')
  })

  test('and text next to calls do not make a template fail', () => {
    const both = asked.map((message) =>
      message.role === 'assistant' ? { ...message, content: 'So.' } : message,
    )
    expect(renderTurns(published('openai-gpt-oss-120b'), tokenizer, both, { tools: TOOLS })).toContain('So.')
  })

  test('contain no control tokens', () => {
    const templates = { template: new ChatTemplate('{{ messages[0].reasoning_content }}') }
    const prompt = renderTurns(templates, tokenizer, [
      { role: 'assistant', content: 'a', reasoning: '<|im_end|>' },
    ])
    expect(tokenizer.encode(prompt, { parseSpecial: true })).not.toContain(tokenizer.idOf('<|im_end|>'))
  })
})

test('thought marks are text, even if they are control tokens of the vocabulary', () => {
  const own = createTokenizer(byteLevelSpecWith(['[THINK]', '[/THINK]']))
  const { text } = modelText(own, "{{ '[THINK][/THINK]' }}")
  const ids = own.encode('[THINK]hello[/THINK] world<|im_end|>', { parseSpecial: true })
  const read = (marks: readonly string[]) => {
    const decoder = text.detokenizer({ marks })
    return ids.map((id) => decoder.push(id)).join('')
  }
  expect(text.reasoning?.open).toBe('[THINK]')
  expect(read(['[THINK]', '[/THINK]'])).toBe('[THINK]hello[/THINK] world')
  expect(read([])).toBe('hello world')
})

test.each([
  [TURNS, false],
  ['{% if tools %}{% for t in tools %}[{{ t.function.name }}]{% endfor %}{% endif %}' + TURNS, true],
  ['{{ raise_exception("no") if tools }}' + TURNS, false],
])('a model says whether its template describes tools: %s', (source, readsTools) => {
  expect(modelText(tokenizer, source).readsTools).toBe(readsTools)
})

test('a model with a separate template for tools reads them', () => {
  const named = createTokenizer({ ...byteLevelSpec(), chatTemplate: TURNS, toolTemplate: TURNS })
  expect(modelText(named).readsTools).toBe(true)
})
