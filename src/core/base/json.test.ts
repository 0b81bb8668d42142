// Untrusted JSON. In: values, truncated texts, bombs. Out: the result of JSON.parse, or an error before
// anything large is allocated.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { shown } from './check-options.ts'
import { parseJson } from './json.ts'

const errorOf = (text: string): string => {
  try {
    parseJson(text)
    return 'no error'
  } catch (error) {
    return String(error)
  }
}

describe('parseJson', () => {
  test('returns what JSON.parse returns', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.nat(4), (value, indent) => {
        const text = JSON.stringify(value, null, indent)
        expect(parseJson(text)).toEqual(JSON.parse(text))
      }),
    )
  })

  test('reads Infinity and NaN from Python as values, but not inside strings', () => {
    expect(parseJson('{"Infinity": [-Infinity, NaN, Infinity], "a\\"": "NaN, Infinity"}')).toEqual({
      Infinity: [Number.NEGATIVE_INFINITY, null, Number.POSITIVE_INFINITY],
      'a"': 'NaN, Infinity',
    })
  })

  test.each(['', '{', '"a', '"\\', '[1,]', '{"a": Infinit}', 'N', '"\\"'.repeat(50_000)])(
    'refuses %j',
    (text) => {
      expect(errorOf(text)).toMatch(/^SyntaxError/)
    },
  )

  test('rejects 40 MB of brackets by their depth, before creating a value', () => {
    const before = process.memoryUsage().rss
    expect(errorOf('['.repeat(40 << 20))).toMatch(/more than 128 levels/)
    expect(errorOf('{"a":'.repeat(8 << 20))).toMatch(/more than 128 levels/)
    expect(process.memoryUsage().rss - before).toBeLessThan(200e6)
  })

  test.each(['[],', '{},', '0,', 'NaN', '{"a":[]},'])(
    'rejects 15 MB of %s because there are too many',
    (part) => {
      expect(errorOf(`[${part.repeat(15_000_000 / part.length)}0]`)).toMatch(/more than 4194304 values/)
    },
  )

  test('does not count brackets inside strings', () => {
    expect(parseJson(`["${'['.repeat(1000)}"]`)).toEqual(['['.repeat(1000)])
    expect(parseJson(`${'['.repeat(128)}${']'.repeat(128)}`)).toBeInstanceOf(Array)
  })
})

describe('shown', () => {
  const circle: unknown[] = []
  circle.push(circle)
  let deep: unknown = 1
  for (let level = 0; level < 100_000; level++) deep = [deep]

  test.each<[string, unknown, string]>([
    ['an object instead of text', { toString: 1, valueOf: {} }, '{"toString":1,"valueOf":{}}'],
    ['a circle', circle, 'a list'],
    ['too many levels', deep, 'a list'],
    ['a big number', 10n ** 20n, '1'.padEnd(21, '0')],
    ['no number', Number.NaN, 'NaN'],
    ['nothing', undefined, 'undefined'],
    ['a long text', 'x'.repeat(1e6), `"${'x'.repeat(55)}..."`],
  ])('writes %s', (_, value, text) => {
    expect(shown(value)).toBe(text)
  })
})
