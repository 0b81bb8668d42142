// Tests rank_pattern and alpha_pattern. In: patterns and names of modules. Out: the value that Python's
// `re.match(rf"(.*\.)?({pattern})$", name)` selects, or an error that names the pattern.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { isHalfbyteError } from '../../base/errors.ts'
import { patternValues } from './peft-patterns.ts'

const valuesOf = (patterns: unknown) => patternValues('a', 'rank_pattern', patterns)
const matches = (pattern: string, module: string) => valuesOf({ [pattern]: 1 })(module) === 1

const failure = (work: () => unknown): string => {
  try {
    return `no error: ${work()}`
  } catch (error) {
    return isHalfbyteError(error) ? `${error.code}: ${error.message}` : `untyped: ${error}`
  }
}

const Q = 'model.layers.10.self_attn.q_proj'

test.each([
  ['q_proj', true],
  ['proj', false],
  ['_proj', false],
  ['self_attn.q_proj', true],
  ['attn.q_proj', false],
  // A dot matches any character.
  ['self.attn.q_proj', true],
  ['layers.10.self_attn.q_proj', true],
  ['layers.0.self_attn.q_proj', false],
  [Q, true],
  [`x${Q}`, false],
  [`^${Q}`, true],
  ['^q_proj', false],
  ['', false],
  ['.*', true],
  ['.*attn.*', true],
  ['[qk]_proj', true],
  ['q_proj|k_proj', true],
  ['k_proj|q_proj', true],
  ['^model|q_proj', true],
  ['^q_proj|k_proj', false],
  ['^q_proj|^model.*', true],
  ['layers\\.(?:[0-9]|10)\\..*', true],
  ['layers\\.\\d\\..*', false],
  ['.*\\.q_proj$', true],
  ['.*q_pro', false],
  ['[^.]+_proj', true],
  ['[]q]_proj', true],
  ['q_pro\\w?j??', true],
  ['q_[a-r-]{3}[^a-i]', true],
  ['q_[a-p-]{4,}', false],
  ['(q|k){1,2}_proj', true],
  ['model\\..{1,}\\d+.+', true],
  ['a|$', false],
  ['.*layers\\.1[0-5]\\.(self_attn|mlp)\\.[a-z]_proj', true],
])('%j', (pattern, isThere) => {
  expect(matches(pattern, Q)).toBe(isThere)
})

test('the first matching pattern gives the value', () => {
  expect(valuesOf({ q_proj: 1, '.*': 2, k_proj: 3 })('a.q_proj')).toBe(1)
  expect(valuesOf({ q_proj: 1, '.*': 2, k_proj: 3 })('a.k_proj')).toBe(2)
  expect(valuesOf({ q_proj: 1 })('a.k_proj')).toBeUndefined()
  for (const none of [undefined, null, {}]) expect(valuesOf(none)('a.q_proj')).toBeUndefined()
})

test('patterns match the same names as JavaScript’s regular expressions', () => {
  const piece = fc.constantFrom('a', 'b', '.', '\\.', '[ab]', 'a*', '(a|b.)', '(?:ab)?', '.*', 'b+', '|', '_')
  const pattern = fc.array(piece, { minLength: 1, maxLength: 6 }).map((pieces) => pieces.join(''))
  const name = fc.array(fc.constantFrom('a', 'b', '.', '_'), { maxLength: 8 }).map((all) => all.join(''))
  fc.assert(
    fc.property(pattern, fc.boolean(), name, (own, isAnchored, module) => {
      const text = isAnchored ? `^${own}` : own
      expect(matches(text, module)).toBe(new RegExp(`^(?:.*\\.)?(?:${text})$`, 'u').test(module))
    }),
    { numRuns: 2000 },
  )
})

describe('are rejected', () => {
  test.each([
    [[1], /^format: .*rank_pattern is \[1\]/],
    [{ q_proj: '4' }, /^format: .*"q_proj" the value "4"/],
    [{ q_proj: null }, /^format: .*the value null/],
    [{ '(q_proj': 4 }, /^unsupported: .*pattern "\(q_proj" of rank_pattern/],
    [{ '(?P<name>q)': 4 }, /^unsupported: .*rank_pattern/],
    [{ '(a)\\1': 4 }, /^unsupported: .*rank_pattern/],
    [{ 'a{3}{4}': 4 }, /^unsupported: .*rank_pattern/],
    [{ 'a++': 4 }, /^unsupported: .*rank_pattern/],
    [{ '*a': 4 }, /^unsupported: .*rank_pattern/],
    [{ 'a)': 4 }, /^unsupported: .*rank_pattern/],
    [{ '[z-a]': 4 }, /^unsupported: .*rank_pattern/],
    [{ '[a': 4 }, /^unsupported: .*rank_pattern/],
    [{ '\\bq_proj': 4 }, /^unsupported: .*rank_pattern/],
    [{ '(?=q)q_proj': 4 }, /^unsupported: .*rank_pattern/],
    [{ ['('.repeat(100_000)]: 4 }, /^unsupported: .*rank_pattern/],
    [{ [`${'('.repeat(300)}.${'*)'.repeat(300)}x`]: 4 }, /^unsupported: .*steps/],
  ])('%j', (patterns, message) => {
    expect(failure(() => valuesOf(patterns)(Q))).toMatch(message)
  })

  test('if they take too many comparisons', () => {
    const rankOf = valuesOf(Object.fromEntries(Array.from({ length: 1000 }, (_, at) => [`x${at}`, at])))
    const all = () => {
      for (let module = 0; module < 10_000; module++) rankOf(`y${module}`)
    }
    expect(failure(all)).toMatch(/^unsupported: .*more than 8388608 steps/)
  })
})

test('a pattern that would backtrack terminates, either without a match or with an error', () => {
  expect(matches('(a|a)*(a+a+)+y', 'a'.repeat(2000))).toBe(false)
  const many = () => matches(`(a*)*${'(.*.*.*)*'.repeat(20)}y`, 'a'.repeat(20_000))
  expect(failure(many)).toMatch(/^(no error: false|unsupported: .*tries)/)
})

test('an adapter with 100 layers may have a pattern for each matrix', () => {
  const names = Array.from({ length: 100 }, (_, layer) =>
    [...'qkvougd'].map((letter) => `model.layers.${layer}.self_attn.${letter}_proj`),
  ).flat()
  const rankOf = valuesOf(Object.fromEntries(names.map((name, at) => [name, at])))
  expect(names.map(rankOf)).toEqual(names.map((_, at) => at))
})
