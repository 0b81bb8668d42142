// Past findings: chat templates.
import type { CorpusEntry } from '../corpus.ts'

const MESSAGES = JSON.stringify({ messages: [{ role: 'user', content: 'hello' }] })

const entry = (title: string, template: string): CorpusEntry => ({
  title,
  input: () => ({ template, messages: MESSAGES }),
})
/** Only a page's own messages reach this branch, not the trial messages of a load. */
const later = (template: string) => `{% if messages[0].content == "hello" %}${template}{% endif %}`
const growing = `{% set ns = namespace(x="a") %}${'{% set ns.x = ns.x.replace("a","aaaaaaaa") %}'.repeat(12)}`
const doubling = `{% set ns = namespace(x="a") %}${'{% set ns.x = ns.x + ns.x %}'.repeat(29)}{{ ns.x }}`
const counting =
  '{% for i in range(65536) %}{% for j in range(65536) %}{% set x = i %}{% endfor %}{% endfor %}'

export const CORPUS: readonly CorpusEntry[] = [
  entry('a text that grows eightfold twelve times', growing),
  entry('a text that grows for real messages only', later(growing)),
  entry('a text that doubles 29 times', doubling),
  entry('a text that is repeated', '{{ "a" * 1000000000 }}'),
  entry('nested loops of 65,536', counting),
  entry('nested loops for real messages only', later(counting)),
  entry('a macro that calls itself', '{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}'),
  entry('a macro that calls itself twice', '{% macro f(n) %}{{ f(n) }}{{ f(n) }}{% endmacro %}{{ f(1) }}'),
  entry('a list that grows', `{% set x = [1] %}${'{% set x = x + x %}'.repeat(40)}{{ x }}`),
  entry('brackets 20,000 deep', `{{ ${'('.repeat(20_000)}1${')'.repeat(20_000)} }}`),
  entry('conditions 5,000 deep', '{% if true %}'.repeat(5000) + '{% endif %}'.repeat(5000)),
  entry('a list 20,000 deep', `{{ ${'['.repeat(20_000)}${']'.repeat(20_000)} }}`),
  entry(
    'a joined list that grows',
    `{% set ns = namespace(x="a") %}${'{% set ns.x = [ns.x, ns.x]|join(ns.x) %}'.repeat(20)}`,
  ),
  entry(
    'indentation that grows',
    `{% set ns = namespace(x="a\\n") %}${'{% set ns.x = (ns.x + ns.x)|indent(1000) %}'.repeat(25)}`,
  ),
]
