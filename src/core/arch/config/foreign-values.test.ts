// Tests foreign values. In: configurations of every family, with wrong values in place of a number, string or
// list. Out: a config or a typed error.
import { expect, test } from 'vitest'
import { isHalfbyteError } from '../../base/errors.ts'
import type { MetaValue } from '../../formats/tensors.ts'
import { FAMILIES, familyFile } from '../families.ts'
import { readConfig } from '../read-config.ts'
import { ggufFile, hbmFile, hfFile, SMALL } from '../testing/files.ts'
import type { Family } from './config.ts'
import { Fields } from './fields.ts'

/** An object that JSON can express but that cannot be converted to a string. */
const NO_TEXT = { toString: 1, valueOf: 2, toJSON: 3 }
const FOREIGN = [
  NO_TEXT,
  [NO_TEXT],
  [[[NO_TEXT]]],
  [],
  {},
  '',
  'other',
  '9'.repeat(400),
  true,
  0,
  -1,
  0.5,
  1e300,
  Number.POSITIVE_INFINITY,
  Number.NaN,
  [1, 2],
  ['a'],
  { type: NO_TEXT },
  ...['linear', 'llama3', 'yarn', 'factors', 'longrope'].flatMap((type) => [
    { type, factor: NO_TEXT, factors: [NO_TEXT], shortFactors: [NO_TEXT], short_factor: [NO_TEXT] },
    { type, rope_type: type, factor: 2, long_factor: [NO_TEXT], longFactors: [NO_TEXT], pairing: 'halves' },
  ]),
] as readonly unknown[] as readonly MetaValue[]

/** The record, and every key read from it, including the keys of nested records. */
function watched(record: Readonly<Record<string, MetaValue>>, asked: Set<string>): Record<string, MetaValue> {
  return new Proxy(record as Record<string, MetaValue>, {
    getOwnPropertyDescriptor(target, key) {
      asked.add(String(key))
      return Reflect.getOwnPropertyDescriptor(target, key)
    },
  })
}

async function codeOf(work: () => unknown): Promise<unknown> {
  try {
    await work()
    return 'none'
  } catch (error) {
    return isHalfbyteError(error) && error.code !== 'internal' ? error.code : error
  }
}

const files = {
  hbm: (family: Family, changes: Record<string, MetaValue>) => hbmFile({ ...SMALL, family }, changes),
  safetensors: (family: Family, changes: Record<string, MetaValue>) =>
    hfFile(SMALL, { architectures: Object.keys(familyFile(family).hf.classes).slice(0, 1), ...changes }),
  gguf: (family: Family, changes: Record<string, MetaValue>) =>
    ggufFile(
      { ...SMALL, family },
      { 'general.architecture': familyFile(family).gguf.architecture, ...changes },
    ),
}

test.each(
  (['gguf', 'safetensors', 'hbm'] as const).flatMap((format) =>
    FAMILIES.filter((family) => format !== 'gguf' || familyFile(family).gguf.architecture !== undefined).map(
      (family) => [format, family] as const,
    ),
  ),
)('%s of %s', async (format, family) => {
  const make = files[format]
  const asked = new Set<string>()
  const look = async (changes: Record<string, MetaValue>) => {
    const file = make(family, changes)
    const metadata = new Map(file.metadata)
    const config = metadata.get('config')
    if (typeof config === 'object')
      metadata.set('config', watched(config as Record<string, MetaValue>, asked))
    const get = (key: string) => {
      asked.add(key)
      return metadata.get(key)
    }
    return readConfig({ ...file, metadata: Object.assign(new Map(metadata), { get }) })
  }
  await codeOf(() => look({}))
  expect(asked.size).toBeGreaterThan(1)
  const wrong: unknown[] = []
  const given = Object.keys(make(family, {}).metadata.get('config') ?? {})
  for (const key of new Set([...asked, ...given])) {
    if (key === 'config') continue
    for (const value of FOREIGN) {
      const code = await codeOf(() => look({ [key]: value }))
      if (typeof code !== 'string') wrong.push(`${key}: ${String(code)}`)
    }
  }
  expect(wrong).toEqual([])
})

test('the error for a key of the wrong type names the key and shows its value, whatever it is', () => {
  const fields = Fields.of('config.json', { a: NO_TEXT, b: [NO_TEXT] })
  expect(() => fields.number('a')).toThrow(
    /a is \{"toString":1,"valueOf":2,"toJSON":3\} but must be a number/,
  )
  expect(() => fields.numberList('b')).toThrow(/b is \[\{"toString":1.* but must be a list of numbers/)
  expect(() => fields.textList('b')).toThrow(/must be a list of strings/)
})
