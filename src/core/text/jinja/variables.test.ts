// Tests the variables of templates. In: templates. Out: the names that a caller can set.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ChatTemplate } from '../chat/chat-template.ts'

const PUBLISHED = join(import.meta.dirname, '../../../../test/conformance/templates/published')
const published = (name: string) =>
  new ChatTemplate(readFileSync(join(PUBLISHED, `${name}.jinja`), 'utf8')).variables()

test.each([
  ['a name that is never set', '{% if a %}b{% endif %}{{ c.d }}', ['a', 'c']],
  [
    'a name that is set only if the caller did not',
    '{% if a is not defined %}{% set a = 1 %}{% endif %}{{ a }}',
    ['a'],
  ],
  ['a name with a default', "{% set a = a | default('b') %}{% set c = c or 'd' %}{{ a + c }}", ['a', 'c']],
  [
    'names of loops, macros and blocks',
    '{% macro m(p, q=1) %}{{ p + q + n }}{% endmacro %}{% set n = 2 %}{% for a, b in messages if a %}{{ m(a) ~ loop.index }}{% endfor %}{% with w = v %}{{ w }}{% endwith %}',
    ['v'],
  ],
  ['a name that is set first', '{% set a = 1 %}{% set ns = namespace(b=a) %}{{ ns.b ~ a }}', []],
  [
    'names that every template gets',
    '{{ bos_token ~ tools ~ messages ~ range(3) ~ raise_exception("a") }}',
    [],
  ],
])('%s', (_what, source, names) => {
  expect(new ChatTemplate(source).variables()).toEqual(names)
})

test.each([
  ['Qwen-Qwen3-0.6B', ['enable_thinking']],
  ['deepseek-ai-DeepSeek-V3.1', ['thinking']],
  ['openai-gpt-oss-120b', ['reasoning_effort']],
  ['HuggingFaceTB-SmolLM3-3B', ['enable_thinking']],
  ['ByteDance-Seed-OSS', ['thinking_budget']],
  ['mistralai-Mistral-Nemo-Instruct-2407', []],
])('%s', (name, names) => {
  expect(published(name)).toEqual(expect.arrayContaining(names))
  // Without the names that only the template itself sets.
  expect(published(name).filter((each) => /^(ns|m|message|loop|tool)$/.test(each))).toEqual([])
})
