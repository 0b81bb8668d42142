// npm run bench:constrain prints the time of a mask on a vocabulary of 151,936 tokens, for each kind of
// constraint.

import { existsSync } from 'node:fs'
import { cpus } from 'node:os'
import { join } from 'node:path'
import { Command } from 'commander'
import { requireTestData } from '../../../scripts/models/test-data.mjs'
import { ConstraintCompiler } from '../../../src/core/constrain/compile.ts'
import type { Chance } from '../../../src/core/constrain/testing/random-schema.ts'
import { writeGrammar } from '../../../src/core/constrain/write-grammar.ts'
import type { ConstraintSpec, TokenConstraint } from '../../../src/core/constrain/written-grammar.ts'
import { randomFrom } from '../../../test/helpers/random.ts'
import { joinedVocabulary } from './vocabulary.ts'

const NAMES = ['deepseek-llm', 'falcon', 'starcoder', 'gpt-2', 'command-r', 'llama-spm']

const options = new Command('bench:constrain')
  .description('Times token masks on a large vocabulary in Node.')
  .option(
    '--tokenizers <folder>',
    'vocabularies of llama.cpp; default: "npm run setup -- llama-vocabularies"',
  )
  .option('--size <n>', 'tokens', Number, 151_936)
  .option('--replies <n>', 'replies per constraint; the first is the warm-up', Number, 20)
  .option('--tokens <n>', 'maximum tokens per reply', Number, 150)
  .parse()
  .opts<{ tokenizers?: string; size: number; replies: number; tokens: number }>()

const text = { type: 'string' }
const short = { type: 'string', maxLength: 60 }
const count = { type: 'integer', minimum: 0, maximum: 9999 }
const object = (properties: object) => ({ type: 'object', properties, required: Object.keys(properties) })
const schema = (value: object): ConstraintSpec => ({ type: 'schema', schema: value })

const CONSTRAINTS: readonly (readonly [string, ConstraintSpec])[] = [
  ['any JSON', schema({ type: ['object', 'array'] })],
  [
    'object of strings and numbers',
    schema(object({ name: text, age: count, mail: text, score: { type: 'number' } })),
  ],
  ['strings of at most 60 characters', schema({ type: 'array', items: short, minItems: 5 })],
  [
    'nested lists of objects',
    schema({
      type: 'array',
      minItems: 3,
      items: object({
        id: count,
        tags: { type: 'array', items: short },
        at: object({ x: { type: 'number' } }),
      }),
    }),
  ],
  [
    'dates and addresses',
    schema({
      type: 'array',
      minItems: 4,
      items: object({ on: { type: 'string', format: 'date' }, mail: { type: 'string', format: 'email' } }),
    }),
  ],
  [
    'pattern and length',
    schema({
      type: 'array',
      minItems: 4,
      items: { type: 'string', pattern: '^[A-Z].*[.!?]$', maxLength: 60 },
    }),
  ],
  ['unique texts', schema({ type: 'array', items: text, uniqueItems: true, minItems: 5 })],
  ['free names', schema({ type: 'object', additionalProperties: count, minProperties: 5 })],
  ['GBNF lines', { type: 'grammar', grammar: 'root ::= ("- " item){5,}\nitem ::= [^\\n]{1,60} "\\n"' }],
  [
    'GBNF words',
    {
      type: 'grammar',
      grammar: 'root ::= sentence+\nsentence ::= word (" " word){2,9} ". "\nword ::= [A-Za-z]{1,12}',
    },
  ],
  ['regular expression', { type: 'pattern', pattern: '([A-Z][a-z]+ ([a-z]+ ){3,12}[a-z]+\\. ?){2,9}' }],
  [
    '1,000 choices',
    { type: 'choices', choices: Array.from({ length: 1000 }, (_, index) => `choice ${index * 7919}`) },
  ],
]

const folder = options.tokenizers ?? requireTestData('llama-vocabularies')
const paths = NAMES.map((name) => join(folder, `ggml-vocab-${name}.gguf`)).filter(existsSync)
if (paths.length === 0) throw new Error(`no vocabularies in ${folder}; name the folder with --tokenizers`)
const vocabulary = await joinedVocabulary(paths, options.size)
const endId = options.size - 1
const compiler = new ConstraintCompiler(vocabulary, options.size, new Set([endId]))
const started = performance.now()
compiler.constrain(writeGrammar({ type: 'choices', choices: ['a'] }))
const trieMs = performance.now() - started

console.log(
  `${cpus()[0]?.model}, Node ${process.version}; ${options.size} tokens, trie in ${trieMs.toFixed(0)} ms\n`,
)
console.log(
  '| constraint | compile ms | first reply: median, most | later: median ms | p90 | p99 | most | tokens |',
)
console.log('|---|--:|--:|--:|--:|--:|--:|--:|')
const all: number[] = []
for (const [name, spec] of CONSTRAINTS) {
  const before = performance.now()
  compiler.constrain(writeGrammar(spec))
  const compileMs = performance.now() - before
  const chance = randomFrom(1)
  const first = reply(compiler.constrain(writeGrammar(spec)), chance)
  const later = Array.from({ length: options.replies - 1 }, () =>
    reply(compiler.constrain(writeGrammar(spec)), chance),
  ).flat()
  all.push(...later)
  const warm = later.toSorted(byTime)
  const cold = first.toSorted(byTime)
  const figures = [0.5, 0.9, 0.99, 1].map((share) => at(warm, share).toFixed(4))
  console.log(
    `| ${name} | ${compileMs.toFixed(1)} | ${at(cold, 0.5).toFixed(3)}, ${at(cold, 1).toFixed(1)} | ${figures.join(' | ')} | ${later.length} |`,
  )
}
console.log(`\nmedian of all later masks: ${at(all.toSorted(byTime), 0.5).toFixed(4)} ms`)

/**
 * The time of each mask of a reply whose tokens are sampled from the masks, with an occasional closing
 * bracket or quote.
 */
function reply(constraint: TokenConstraint, chance: Chance): number[] {
  const times: number[] = []
  while (times.length < options.tokens && !constraint.mustEnd) {
    const start = performance.now()
    const mask = constraint.mask()
    times.push(performance.now() - start)
    const id = draw(mask, chance)
    if (id === endId) break
    constraint.accept(id)
  }
  return times
}

function draw(mask: Uint32Array, chance: Chance): number {
  const closing = [...'"]}\n.'].map((char) => vocabulary.idOf(char)!).filter((id) => isSet(mask, id))
  if (closing.length > 0 && chance() < 0.2) return closing[Math.floor(chance() * closing.length)]!
  const from = Math.floor(chance() * options.size)
  for (let step = 0; step < options.size; step++) {
    const id = (from + step) % options.size
    if (isSet(mask, id)) return id
  }
  throw new Error('the mask is empty')
}

function isSet(mask: Uint32Array, id: number): boolean {
  return ((mask[id >> 5]! >>> (id & 31)) & 1) === 1
}

function at(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))]!
}

function byTime(one: number, other: number): number {
  return one - other
}
