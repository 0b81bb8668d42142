// Checks the mirror of wasm/core/abi.h. In: the header's text. Out: every constant, code, field and offset
// matches.
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import {
  ABI,
  ACTIVATION,
  KV_FORMAT,
  NORM,
  PAIRING,
  ROWS,
  SELECTOR,
  SEQUENCE,
  SEQUENCE_WORDS,
  STEP,
  STEP_WORDS,
  STORED_TYPE,
  SYNC,
  SYNC_WORDS,
} from './constants.ts'
import { ENCODINGS } from './encodings.ts'
import { FLOAT_FIELDS, OPS, type OpName, opEntry } from './ops.ts'

const header = readFileSync(new URL('../../../wasm/core/abi.h', import.meta.url), 'utf8').replaceAll(
  /\/\*[\s\S]*?\*\//g,
  '',
)

function enumOf(name: string): Record<string, number> {
  const body = new RegExp(`enum ${name}\\s*\\{([^}]*)\\}`).exec(header)?.[1] ?? ''
  return Object.fromEntries(
    [...body.matchAll(/(\w+)\s*=\s*(\d+)/g)].map(([, key, value]) => [key ?? '', Number(value)]),
  )
}

const constants = enumOf('')

/** Fields of a struct in order: name, type, words. */
function structOf(name: string): { name: string; type: string; words: number }[] {
  const body = new RegExp(`struct ${name}\\s*\\{([^}]*)\\}`).exec(header)?.[1]
  if (body === undefined) throw new Error(`no struct ${name} in abi.h`)
  return [...body.matchAll(/(uint32_t|float)\s+([^;]+);/g)].flatMap(([, type = '', names = '']) =>
    names.split(',').map((part) => {
      const [, field = '', size] = /^\s*(\w+)\s*(?:\[(\w+)\])?\s*$/.exec(part) ?? []
      const words = size === undefined ? 1 : (constants[size] ?? Number(size))
      return { name: field, type, words }
    }),
  )
}

function offsetsOf(name: string): { offsets: Record<string, number>; words: number } {
  const offsets: Record<string, number> = {}
  let words = 0
  for (const field of structOf(name)) {
    if (!field.name.startsWith('pad')) offsets[field.name] = words
    words += field.words
  }
  return { offsets, words }
}

test('the anonymous constants match the header', () => {
  expect(ABI).toEqual(constants)
})

test('op codes, row kinds, encodings and pairings match the header', () => {
  const codes = Object.entries(OPS).map(([name, { code }]) => [`OP_${name.toUpperCase()}`, code])
  expect({ ...Object.fromEntries(codes), OP_COUNT: codes.length }).toEqual(enumOf('op_code'))
  expect({ ROWS_TOKENS: ROWS.tokens, ROWS_LOGITS: ROWS.logits, ROWS_ROUTED: ROWS.routed }).toEqual(
    enumOf('rows'),
  )
  const activations = Object.entries(ACTIVATION).map(([name, code]) => [`ACT_${name.toUpperCase()}`, code])
  expect(Object.fromEntries(activations)).toEqual(enumOf('activation'))
  const encodings = Object.entries(ENCODINGS).map(([name, { code }]) => [`ENC_${name.toUpperCase()}`, code])
  expect(Object.fromEntries(encodings)).toEqual(enumOf('encoding'))
  expect({
    BY_ID: SELECTOR.id,
    BY_POSITION: SELECTOR.position,
    BY_KIND: SELECTOR.kind,
    BY_INPUT: SELECTOR.input,
  }).toEqual(enumOf('selector'))
  expect({ PAIR_HALVES: PAIRING.halves, PAIR_INTERLEAVED: PAIRING.interleaved }).toEqual(enumOf('pairing'))
  const norms = Object.entries(NORM).map(([name, bit]) => [`NORM_${name.toUpperCase()}`, bit])
  expect(Object.fromEntries(norms)).toEqual(enumOf('norm_kind'))
  const formats = Object.entries(KV_FORMAT).map(([name, code]) => [`KV_${name.toUpperCase()}`, code])
  expect(Object.fromEntries(formats)).toEqual(enumOf('kv_format'))
  const types = Object.entries(STORED_TYPE).map(([name, code]) => [`STORED_${name}`, code])
  expect(Object.fromEntries(types)).toEqual(enumOf('stored_type'))
})

test.each(Object.keys(OPS) as OpName[])('the fields of the %s record match its struct', (op) => {
  const { struct = op, fields: named, reads, writes } = opEntry(op)
  const fields = structOf(`op_${struct}`)
  for (const field of Object.keys({ ...reads, ...writes })) expect(named).toContain(field)
  expect(['code', 'rows', ...named]).toEqual(fields.map(({ name }) => name))
  for (const { name, type } of fields) expect(FLOAT_FIELDS.has(name)).toBe(type === 'float')
  expect(fields.length * 4).toBeLessThanOrEqual(ABI.OP_BYTES)
})

test('every op struct in the header has a mirror', () => {
  const structs = [...header.matchAll(/struct op_(\w+)/g)].map(([, name]) => name)
  expect(new Set(structs)).toEqual(
    new Set((Object.keys(OPS) as OpName[]).map((name) => opEntry(name).struct ?? name)),
  )
})

test('the offsets of step, sequence and sync match the header', () => {
  expect({ offsets: STEP, words: STEP_WORDS }).toEqual(offsetsOf('step'))
  expect({ offsets: SEQUENCE, words: SEQUENCE_WORDS }).toEqual(offsetsOf('sequence'))
  expect({ offsets: SYNC, words: SYNC_WORDS }).toEqual(offsetsOf('sync'))
})
