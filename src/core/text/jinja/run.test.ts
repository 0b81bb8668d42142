// Tests of template runs. In: expressions, histories, templates that never end. Out: the output of jinja2
// 3.1.6 (its sandbox with trim_blocks, lstrip_blocks and Transformers' `tojson`), or a typed error within the
// limit.
import { describe, expect, test } from 'vitest'
import { ChatTemplate } from '../chat/chat-template.ts'

const VALUES = {
  none: null,
  yes: true,
  no: false,
  text: 'it\'s "q"',
  list: [1, 'a', null, true, [2.5], { k: null }],
  map: { a: 1, b: [true, null], c: 'x\ny\u00a0é' },
}

const rendered = (template: string) =>
  new ChatTemplate(template).render([{ role: 'user', content: '\n  hi \n', v: VALUES }])
const v = 'messages[0].v'

test.each([
  // Python's strip removes exactly the given characters.
  ["{{ '\\n  a b \\n'.strip('\\n') }}|", '  a b |'],
  ["{{ '\\n  a b \\n'.lstrip('\\n') }}|", '  a b \n|'],
  ["{{ '\\n  a b \\n'.rstrip('\\n') }}|", '\n  a b |'],
  ["{{ messages[0].content.strip() }}|{{ messages[0].content | trim('\\n') }}|", 'hi|  hi |'],
  ["{{ 'xyaxy'.strip('yx') }}{{ '\\ufeffa'.strip() | length }}", 'a2'],
  // Python's string forms of values.
  ['{{ true }} {{ false }} {{ none }} {{ nothing }}|', 'True False None |'],
  [`{{ ${v}.list }}`, "[1, 'a', None, True, [2.5], {'k': None}]"],
  [`{{ ${v}.map | string }}`, "{'a': 1, 'b': [True, None], 'c': 'x\\ny\\xa0é'}"],
  [`{{ ${v}.none | string }} {{ ${v}.yes | string }} {{ [${v}.text] }}`, "None True ['it\\'s \"q\"']"],
  ["{{ 'a' ~ nothing ~ 1.0 ~ none ~ true ~ ['b'] }}", "a1.0NoneTrue['b']"],
  ["{{ [none, 'a', 1, true] | join('-') }}", 'None-a-1-True'],
  [`{% for k, w in ${v}.map | items %}{{ k }}={{ w }};{% endfor %}`, 'a=1;b=[True, None];c=x\ny\u00a0é;'],
  [`{{ ${v}.list | tojson }}`, '[1, "a", null, true, [2.5], {"k": null}]'],
  // Python's equality.
  [
    "{{ '' == false }} {{ 0 == false }} {{ '1' == 1 }} {{ [] == '' }} {{ none == nothing }}",
    'False True False False False',
  ],
  ["{{ [1, 2] == [1, 2] }} {{ {'a': 1} == {'a': 1} }} {{ {'a': 1} != {'b': 1} }}", 'True True True'],
  [
    "{{ none in [none] }} {{ 'x' not in {'x': 1} }} {{ 1 in [true] }} {{ '' in [false] }}",
    'True False True False',
  ],
  [`{{ ${v}.map is iterable }} {{ ${v}.yes is number }} {{ [] | first }}|`, 'True True |'],
])('%s', (template, text) => {
  expect(rendered(template)).toBe(text)
})

test('qwen3, smollm3: earlier answers keep their indentation', () => {
  const template = new ChatTemplate(
    "{%- for message in messages %}{%- set content = message.content %}{%- if '</think>' in content %}" +
      "{%- set thought = content.split('</think>')[0].rstrip('\\n').split('<think>')[-1].lstrip('\\n') %}" +
      "{%- set content = content.split('</think>')[-1].lstrip('\\n') %}{{- '<think>\\n' + thought.strip('\\n') + '\\n</think>\\n\\n' }}{%- endif %}" +
      "{{- content.lstrip('\\n') }}{%- endfor %}",
  )
  const content = '<think>\n    if x:\n        y \n</think>\n\n    def f():\n        pass\n'
  expect(template.render([{ role: 'assistant', content }])).toBe(
    '<think>\n    if x:\n        y \n</think>\n\n    def f():\n        pass\n',
  )
})

test('qwen3-coder: arguments other than strings are written as in Python', () => {
  const template = new ChatTemplate(
    '{%- macro extra(fields, known) %}{%- for key in fields if key not in known %}' +
      "{{- '\\n<' ~ key ~ '>' ~ (fields[key] | string) ~ '</' ~ key ~ '>' }}{%- endfor %}{%- endmacro %}" +
      '{%- for message in messages %}{%- for call in message.tool_calls %}{%- for name, value in call.arguments | items %}' +
      '{%- set value = value | tojson | safe if value is mapping or (value is sequence and value is not string) else value | string %}' +
      "{{- '<parameter=' + name + '>\\n' }}{{- value }}{{- '\\n</parameter>\\n' }}{%- endfor %}{{- extra(call, ['arguments']) }}{%- endfor %}{%- endfor %}",
  )
  const call = {
    arguments: { a: null, b: true, c: [1, null], d: 'x', e: 2 },
    strict: false,
    type: ['a', 'b'],
  }
  expect(template.render([{ role: 'assistant', content: '', tool_calls: [call] }])).toBe(
    '<parameter=a>\nNone\n</parameter>\n<parameter=b>\nTrue\n</parameter>\n<parameter=c>\n[1, null]\n</parameter>\n' +
      "<parameter=d>\nx\n</parameter>\n<parameter=e>\n2\n</parameter>\n\n<strict>False</strict>\n<type>['a', 'b']</type>",
  )
})

const EIGHT = (step: string) => `{% set ns = namespace(x="a") %}${step.repeat(40)}{{ ns.x }}`
const BIG = `{% set s = "${'a'.repeat(4096)}" %}${'{% set s = s + s %}'.repeat(8)}`

describe('a template that would never end is stopped', () => {
  test.each([
    ['letters that are doubled repeatedly', EIGHT('{% set ns.x = ns.x.replace("a", "aaaaaaaa") %}')],
    ['the same with a filter', EIGHT('{% set ns.x = ns.x | replace("a", "aaaaaaaa") %}')],
    ['doubling', EIGHT('{% set ns.x = ns.x + ns.x %}')],
    ['doubling with ~', EIGHT('{% set ns.x = ns.x ~ ns.x %}')],
    ['lists of lists', EIGHT('{% set ns.x = [ns.x, ns.x] %}')],
    [
      'lists of lists as JSON',
      `${EIGHT('{% set ns.x = [ns.x, ns.x] %}').replace('{{ ns.x }}', '{{ ns.x | tojson }}')}`,
    ],
    ['a list that contains itself', '{% set ns = namespace() %}{% set ns.x = [ns] %}{{ ns.x }}'],
    [
      'a membership test of lists',
      `${EIGHT('{% set ns.x = [ns.x, ns.x] %}').replace('{{ ns.x }}', '{{ raise_exception(ns.x) }}')}`,
    ],
    [
      'equal lists',
      `${EIGHT('{% set ns.x = [ns.x, ns.x] %}{% set ns.y = [ns.y, ns.y] %}')}{{ ns.x == ns.y }}`,
    ],
    ['nested loops', '{% for i in range(65536) %}{% for j in range(65536) %}{% endfor %}{% endfor %}'],
    [
      'unknown names',
      '{% for i in range(65536) %}{% for j in range(65536) %}{{ x }}{% endfor %}{% endfor %}',
    ],
    ['a macro that calls itself', '{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}'],
    [
      'a macro that calls itself twice',
      '{% macro f(n) %}{% if n %}{{ f(n - 1) }}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(200) }}',
    ],
    ['wide indents', '{{ "a\\nb" | indent(500000000) }}'],
    ['wide JSON', '{{ [[1]] | tojson(indent=500000000) }}'],
    ['long separators', `${BIG}{{ range(60000) | join(s) }}`],
    ['a long search', `${BIG}{% set t = "b" + s %}{% for i in range(9) %}{{ t in s ~ s }}{% endfor %}`],
    ['splitting into single letters', `${BIG}{{ s.split("a") | length }}`],
    ['slices of long texts', `${BIG}{% for i in range(99) %}{% set t = s[1:] %}{% endfor %}`],
    [
      'dates',
      '{{ strftime_now("%A" ~ "%A%A%A%A%A%A%A%A" | replace("%", "%B%B%B%B%B%B%B%B%B%B%B%B%B") | replace("%", "%A%A%A%A%A%A%A%A%A%A%A%A%A%A%A%A%A%A")) }}',
    ],
    [
      'sorted copies of a long text',
      `${BIG}{% set l = namespace(x=[s]) %}${'{% set l.x = l.x + l.x %}'.repeat(14)}{{ l.x | sort | length }}`,
    ],
  ])('%s', (_name, source) => {
    expect(() => new ChatTemplate(source).render([])).toThrow(
      expect.objectContaining({
        code: 'format',
        message: expect.stringMatching(/^the chat template (exceeds|rejects|cannot .*call stack)/),
      }),
    )
  })

  test('long runs of spaces are read in one pass', () => {
    expect(new ChatTemplate(' '.repeat(1 << 20)).render([])).toHaveLength(1 << 20)
  })
})

test('a long conversation uses a small part of its limit', () => {
  const template = new ChatTemplate(
    "{%- for m in messages %}{%- if '</think>' in m.content and messages[loop.index0 - 1].role == 'user' %}{%- set c = m.content.split('</think>')[-1].lstrip('\\n') %}" +
      "{%- else %}{%- set c = m.content | trim %}{%- endif %}{{- '<|im_start|>' + m.role + '\\n' + c + '<|im_end|>\\n' }}{%- endfor %}",
  )
  const content = 'A word of an answer. '.repeat(500)
  const messages = Array.from({ length: 3000 }, (_, at) => ({ role: at % 2 ? 'assistant' : 'user', content }))
  expect(template.render(messages).length).toBeGreaterThan(30_000_000)
})
