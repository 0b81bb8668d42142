import { describe, expect, test } from 'vitest'
import { randomFrom } from '../../../../test/helpers/random.ts'
import { jsonSchema } from '../testing/language.ts'
import { validator } from '../testing/validate.ts'
import { randomText } from '../testing/walk.ts'

/** Schemas with texts that they accept and reject; each is also checked with ajv. */
const SCHEMAS: readonly [string, object, readonly string[], readonly string[]][] = [
  ['anything', {}, ['null', '[1,{"a":[]}]', '"x"', '-1.5e-7', '{ "a": true }'], ['', 'nul', '[1', '{"a"}']],
  ['types in a list', { type: ['string', 'null'] }, ['"a"', 'null'], ['1', 'true']],
  ['a const', { const: { a: [1, 'é"'] } }, ['{"a":[1,"é\\""]}', '{ "a": [1, "é\\""] }'], ['{"a":[1]}', '{}']],
  [
    'an enum',
    { enum: ['a', 'ab', 1, null, true, [2]] },
    ['"ab"', '1', 'null', '[ 2]'],
    ['"b"', '12', 'false'],
  ],
  [
    'an enum of numbers with fractions',
    { type: 'object', properties: { a: { type: 'number', enum: [0.5, 1.25, 2] } }, required: ['a'] },
    ['{"a":0.5}', '{"a":1.25}', '{"a":2}'],
    ['{"a":0.25}', '{"a":1}'],
  ],
  [
    'an enum within other limits',
    { enum: ['a', 'abc', 5, 50], type: ['string', 'integer'], minLength: 2, maximum: 10 },
    ['"abc"', '5'],
    ['"a"', '50'],
  ],
  [
    'an integer range',
    { type: 'integer', minimum: -12, maximum: 105 },
    ['-12', '-1', '0', '99', '105'],
    ['-13', '106', '01', '-0', '1.5'],
  ],
  [
    'exclusive bounds',
    { type: 'integer', exclusiveMinimum: 0, exclusiveMaximum: 3 },
    ['1', '2'],
    ['0', '3', '-1'],
  ],
  ['bounds that are not integers', { type: 'integer', minimum: 0.5, maximum: 2.5 }, ['1', '2'], ['0', '3']],
  [
    'fractions next to another case',
    { oneOf: [{ type: 'string' }, { type: 'number', multipleOf: 0.5 }] },
    ['0.5', '-2', '1.0'],
    ['0.3'],
  ],
  [
    'multiples of a whole number and of a fraction',
    { allOf: [{ type: 'number', multipleOf: 2 }, { multipleOf: 0.5 }] },
    ['4', '-2'],
    ['3', '0.5'],
  ],
  ['multiples', { type: 'integer', multipleOf: 7 }, ['0', '7', '-14', '1001'], ['8', '-1']],
  [
    'multiples in a range',
    { type: 'number', multipleOf: 3, minimum: 10, maximum: 20 },
    ['12', '15', '18'],
    ['9', '21', '13'],
  ],
  [
    'a large bound',
    { type: 'integer', minimum: 9007199254740000 },
    ['9007199254740000', '9999999999999999'],
    ['1', '9007199254739999'],
  ],
  [
    'any number',
    { type: 'number' },
    ['0', '-0.5', '1e+21', '1.7e+307', '5e-324', '123456789012345680000'],
    ['.5', '1.', '1e999', '+1'],
  ],
  [
    'a number range',
    { type: 'number', minimum: 0.25, maximum: 1.5 },
    ['0.25', '0.3', '1', '1.5', '1.50', '0.999'],
    ['0.2499', '1.51', '0', '2'],
  ],
  [
    'a negative range',
    { type: 'number', minimum: -1.5, maximum: -0.5 },
    ['-1.5', '-1', '-0.5', '-0.75'],
    ['-0.4', '-1.6', '0', '1'],
  ],
  [
    'a range around zero',
    { type: 'number', exclusiveMinimum: -0.5, exclusiveMaximum: 0.5 },
    ['0', '0.0', '-0.49', '0.499'],
    ['-0.5', '0.5', '0.50'],
  ],
  [
    'a range of one number',
    { type: 'number', minimum: 2.5, maximum: 2.5 },
    ['2.5', '2.500'],
    ['2.4', '2.51', '2'],
  ],
  [
    'an open range',
    { type: 'number', minimum: 1e-7 },
    ['0.0000001', '1', '12345.678'],
    ['0.00000001', '0', '-1'],
  ],
  [
    'string lengths',
    { type: 'string', minLength: 2, maxLength: 3 },
    ['"ab"', '"é漢😀"', '"\\n\\u00e9"', '"\\ud83d\\ude00a"'],
    ['"a"', '"abcd"', '"\\ud83d\\ude00"'],
  ],
  [
    'escapes',
    { type: 'string' },
    ['"\\u0000\\/"', '"\\ud83d\\ude00"'],
    ['"\\ud83d"', '"\\q"', '"\n"', '"\\udc00"'],
  ],
  ['a pattern anywhere', { type: 'string', pattern: 'b+' }, ['"b"', '"abba"'], ['""', '"aca"']],
  [
    'a pattern with escapes',
    { type: 'string', pattern: '^["\\\\\\n]+$' },
    ['"\\"\\\\\\n"'],
    ['"a"', '"\\u0022"'],
  ],
  [
    'a pattern and a length',
    { type: 'string', pattern: '^[A-Z][a-z]*$', maxLength: 4 },
    ['"A"', '"Abcd"'],
    ['"Abcde"', '"a"'],
  ],
  [
    'two patterns',
    { allOf: [{ type: 'string', pattern: '^a' }, { pattern: 'b$' }], maxLength: 3 },
    ['"ab"', '"axb"'],
    ['"a"', '"axxb"', '"b"'],
  ],
  [
    'properties in order',
    {
      type: 'object',
      properties: { a: { type: 'null' }, b: { type: 'null' }, c: { type: 'null' } },
      required: ['b'],
    },
    [
      '{"b":null}',
      '{"a": null, "b":null}',
      '{\n  "b": null,\n  "c": null\n}',
      '{ "a":null,"b":null,"c":null }',
    ],
    ['{}', '{"a":null}', '{"b":null,}', '{"d":null,"b":null}'],
  ],
  [
    'no property',
    { type: 'object', properties: {}, additionalProperties: false },
    ['{}', '{ }'],
    ['{"a":1}'],
  ],
  [
    'other properties',
    { type: 'object', properties: { ab: { type: 'null' } }, additionalProperties: { type: 'integer' } },
    ['{"ab":null,"a":1,"abc":2}', '{"":1}', '{"x\\"y":1}'],
    ['{"ab":1}', '{"a":null}', '{"a":1,"ab":1}', '{"\\u0061b":1}'],
  ],
  [
    'whole numbers beyond JavaScript’s exact range',
    { type: 'array', items: { type: 'integer' } },
    ['[1234567890123456789]', '[-99999999999999999999]', `[${'9'.repeat(40)}]`],
    [`[${'9'.repeat(41)}]`],
  ],
  [
    '64-bit bounds',
    { type: 'integer', minimum: -(2 ** 63), maximum: 2 ** 63 },
    ['9223372036854775807', '-9223372036854775808', '9007199254740993', '0'],
    ['9223372036854775808', '-9223372036854775809', '10000000000000000000'],
  ],
  [
    'unevaluated properties of the parts of allOf',
    {
      allOf: [{ properties: { a: { type: 'integer' } } }],
      properties: { b: { type: 'integer' } },
      unevaluatedProperties: false,
      type: 'object',
    },
    ['{"a":1,"b":2}', '{"b":2}', '{"a":1}', '{}'],
    ['{"b":2,"a":1}', '{"c":1}', '{"b":2,"c":1}', '{"a":"x"}'],
  ],
  [
    'own properties, then those of a reference and of allOf, in the schema’s order',
    {
      $defs: { base: { properties: { c: { type: 'integer' } }, required: ['c'] } },
      properties: { a: { type: 'integer' } },
      required: ['a'],
      allOf: [{ properties: { b: { type: 'integer' } }, required: ['b'] }],
      $ref: '#/$defs/base',
    },
    ['{"a":1,"b":2,"c":3}'],
    ['{"a":1,"c":3,"b":2}', '{"c":3,"a":1,"b":2}', '{"a":1}'],
  ],
  [
    'unevaluated properties of each option',
    {
      type: 'object',
      oneOf: [
        { properties: { kind: { const: 'a' }, x: { type: 'integer' } }, required: ['kind'] },
        { properties: { kind: { const: 'b' }, y: { type: 'integer' } }, required: ['kind'] },
      ],
      unevaluatedProperties: false,
    },
    ['{"kind":"a","x":1}', '{"kind":"b","y":1}'],
    ['{"kind":"a","y":1}', '{"kind":"b","x":1}', '{"kind":"a","z":1}'],
  ],
  [
    'unevaluated properties with a schema',
    {
      type: 'object',
      $ref: '#/$defs/a',
      unevaluatedProperties: { type: 'null' },
      $defs: { a: { properties: { a: true } } },
    },
    ['{"a":1,"b":null}'],
    ['{"a":1,"b":1}'],
  ],
  [
    'a required property that is not described',
    { type: 'object', required: ['k'] },
    ['{"k":[1]}'],
    ['{}', '{"j":1}'],
  ],
  [
    'property name patterns',
    {
      type: 'object',
      patternProperties: { '^n_': { type: 'integer' }, s$: { type: 'string' } },
      additionalProperties: false,
    },
    ['{}', '{"n_1":1}', '{"as":"x","n_":2}'],
    ['{"n_s":1}', '{"n_s":"x"}', '{"x":1}'],
  ],
  [
    'names',
    { type: 'object', propertyNames: { pattern: '^[a-z]$' }, additionalProperties: { type: 'null' } },
    ['{"a":null}', '{}'],
    ['{"A":null}', '{"ab":null}'],
  ],
  [
    'listed property names',
    { type: 'object', propertyNames: { enum: ['x', 'y'] }, additionalProperties: { type: 'null' } },
    ['{"x":null}'],
    ['{"z":null}'],
  ],
  [
    'counts of properties',
    {
      type: 'object',
      properties: { a: { const: 1 }, b: { const: 1 }, c: { const: 1 } },
      minProperties: 1,
      maxProperties: 2,
    },
    ['{"a":1}', '{"a":1,"c":1}'],
    ['{}', '{"a":1,"b":1,"c":1}'],
  ],
  [
    'some property',
    { type: 'object', additionalProperties: { const: 1 }, minProperties: 1, maxProperties: 2 },
    ['{"k":1}', '{"k":1,"l":1}'],
    ['{}', '{"k":1,"l":1,"m":1}'],
  ],
  [
    'items',
    { type: 'array', items: { type: 'integer' }, minItems: 1, maxItems: 3 },
    ['[1]', '[ 1, 2,3 ]', '[\n\t1\n]'],
    ['[]', '[1,2,3,4]', '[1,]', '["a"]'],
  ],
  [
    'a tuple',
    { type: 'array', prefixItems: [{ const: 'a' }, { type: 'null' }], items: false, minItems: 1 },
    ['["a"]', '["a",null]'],
    ['[]', '["a",1]', '["a",null,1]'],
  ],
  [
    'a tuple and further items',
    { type: 'array', prefixItems: [{ const: 'a' }], items: { type: 'null' }, minItems: 2 },
    ['["a",null]', '["a",null,null]'],
    ['["a"]', '["a",1]'],
  ],
  [
    'anyOf',
    { anyOf: [{ type: 'integer' }, { type: 'string', maxLength: 1 }] },
    ['3', '"a"'],
    ['"ab"', 'null'],
  ],
  [
    'anyOf next to other limits',
    {
      type: 'object',
      properties: { a: { type: 'integer' }, b: { type: 'integer' } },
      anyOf: [{ required: ['a'] }, { required: ['b'] }],
    },
    ['{"a":1}', '{"b":1}', '{"a":1,"b":2}'],
    ['{}'],
  ],
  [
    'allOf',
    {
      allOf: [
        { type: 'object', properties: { a: { minimum: 3 } } },
        { properties: { a: { type: 'integer', maximum: 5 } }, required: ['a'] },
      ],
    },
    ['{"a":4}'],
    ['{"a":2}', '{"a":6}', '{}'],
  ],
  [
    'oneOf distinguished by a constant',
    {
      oneOf: [
        { type: 'object', properties: { k: { const: 'a' }, x: { type: 'null' } }, required: ['k', 'x'] },
        { type: 'object', properties: { k: { const: 'b' } }, required: ['k'] },
      ],
    },
    ['{"k":"a","x":null}', '{"k":"b"}'],
    ['{"k":"a"}', '{"k":"c"}'],
  ],
  [
    'oneOf distinguished by which properties are present',
    {
      type: 'object',
      properties: { a: { type: 'null' }, b: { type: 'null' } },
      oneOf: [{ required: ['a'] }, { required: ['b'] }],
    },
    ['{"a":null}', '{"b":null}'],
    ['{}', '{"a":null,"b":null}'],
  ],
  [
    'oneOf of ranges',
    {
      oneOf: [
        { type: 'integer', minimum: 0, maximum: 10 },
        { type: 'integer', minimum: 5, maximum: 15 },
      ],
    },
    ['4', '11'],
    ['5', '10', '16'],
  ],
  [
    'oneOf of texts',
    {
      oneOf: [
        { type: 'string', pattern: '^a' },
        { type: 'string', pattern: 'b$' },
      ],
    },
    ['"ac"', '"cb"'],
    ['"ab"', '"c"'],
  ],
  ['oneOf of constants', { oneOf: [{ const: 'a' }, { enum: ['a', 'b'] }] }, ['"b"'], ['"a"']],
  ['not', { type: 'string', not: { enum: ['no', 'never'] } }, ['"yes"', '"n"', '"nov"'], ['"no"', '"never"']],
  [
    'not a property',
    { type: 'object', properties: { a: { type: 'null' }, b: { type: 'null' } }, not: { required: ['a'] } },
    ['{"b":null}', '{}'],
    ['{"a":null}'],
  ],
  [
    'a list by reference',
    {
      $ref: '#/$defs/list',
      $defs: {
        list: {
          type: 'object',
          properties: {
            v: { type: 'integer' },
            next: { anyOf: [{ $ref: '#/$defs/list' }, { type: 'null' }] },
          },
          required: ['v', 'next'],
        },
      },
    },
    ['{"v":1,"next":{"v":2,"next":null}}'],
    ['{"v":1}', '{"v":1,"next":{"v":2}}'],
  ],
  [
    'a tree by reference to the root',
    { type: 'array', items: { $ref: '#' } },
    ['[]', '[[],[[]]]', `${'['.repeat(300)}${']'.repeat(300)}`],
    ['[1]', '[[]'],
  ],
  [
    'references with escapes and anchors',
    {
      anyOf: [{ $ref: '#/$defs/a~1b%20c' }, { $ref: '#here' }],
      $defs: { 'a/b c': { const: 1 }, x: { $anchor: 'here', const: 2 } },
    },
    ['1', '2'],
    ['3'],
  ],
  [
    'limits next to a reference',
    { $ref: '#/$defs/n', maximum: 3, $defs: { n: { type: 'integer', minimum: 1 } } },
    ['1', '3'],
    ['0', '4'],
  ],
  [
    'parts with an $id',
    {
      $id: 'https://example.org/root.json',
      type: 'array',
      items: {
        anyOf: [{ $ref: 'part.json' }, { $ref: 'part.json#/$defs/two' }, { $ref: 'part.json#three' }],
      },
      $defs: {
        part: {
          $id: 'part.json',
          anyOf: [{ const: 1 }, { $ref: '#/$defs/four' }],
          $defs: { two: { const: 2 }, three: { $anchor: 'three', const: 3 }, four: { const: 4 } },
        },
      },
    },
    ['[1,2,3,4]'],
    ['[5]'],
  ],
  [
    'nothing',
    { type: 'object', properties: { a: { not: {} }, b: { type: 'null' } } },
    ['{"b":null}'],
    ['{"a":1}'],
  ],
  [
    'fractional multiples',
    { type: 'number', multipleOf: 0.25, minimum: -1, maximum: 10.1 },
    ['0', '0.25', '9.75', '10', '10.00', '-0.50', '-1'],
    ['0.3', '10.25', '-1.25', '.25', '0.2500', '-0.0'],
  ],
  [
    'cents',
    { type: 'number', multipleOf: 0.01, minimum: 0 },
    ['3.50', '12', '0.07'],
    ['0.005', '-0.01', '1.5'],
  ],
  [
    'whole multiples of a fraction',
    { type: 'integer', multipleOf: 1.5 },
    ['3', '-6', '0'],
    ['1', '2', '4.5'],
  ],
  [
    'dependencies of a property',
    {
      type: 'object',
      properties: { card: { type: 'integer' }, address: { const: 'x' }, note: { const: 'y' } },
      dependentRequired: { card: ['address'] },
      dependentSchemas: { note: { required: ['card'] } },
    },
    ['{}', '{"address":"x"}', '{"card":1,"address":"x"}', '{"card":1,"address":"x","note":"y"}'],
    ['{"card":1}', '{"note":"y"}', '{"address":"x","note":"y"}'],
  ],
  [
    'a required item',
    { type: 'array', items: { type: 'integer' }, contains: { minimum: 10 }, maxItems: 3 },
    ['[10]', '[12,1,2]'],
    ['[]', '[1]', '[10,1,2,3]'],
  ],
  [
    'required items, and no more',
    { type: 'array', items: { type: 'integer' }, contains: { minimum: 10 }, minContains: 2, maxContains: 2 },
    ['[10,11]', '[12,10,9]'],
    ['[10]', '[10,11,12]'],
  ],
  [
    'unique items',
    { type: 'array', items: { enum: ['red', 'green', 3] }, uniqueItems: true, minItems: 1 },
    ['["red"]', '["green","red"]', '[3, "red", "green"]'],
    ['[]', '["red","red"]', '[3,3]'],
  ],
  [
    'a pattern with a large length',
    {
      type: 'string',
      pattern: '^(?!\\.)(?!.*\\.\\.)([\\w.-]*)\\w@([a-z0-9][a-z0-9-]*\\.)+[a-z]{2,}$',
      format: 'email',
      maxLength: 255,
    },
    ['"ann.b@example.org"'],
    ['".a@ex.org"', '"a..b@ex.org"', `"${'a'.repeat(250)}@ex.org"`],
  ],
  [
    'an address with a length',
    { type: 'string', format: 'uri', minLength: 1, maxLength: 2083 },
    ['"https://ex.org/a?b#c"'],
    ['"ex.org"'],
  ],
  ['an unknown format', { type: 'string', format: 'starts_with', pattern: '^ab' }, ['"abc"'], ['"xbc"']],
  ['a format for another type', { type: 'integer', format: 'int32' }, ['7'], ['"a"']],
]

describe('a schema of', () => {
  test.each(SCHEMAS)('%s', (name, schema, inside, outside) => {
    const language = jsonSchema(schema)
    const isValid = validator(schema)
    for (const text of inside) {
      expect(language.has(text), text).toBe(true)
      expect(isValid(JSON.parse(text)), text).toBe(true)
    }
    for (const text of outside) expect(language.has(text), text).toBe(false)
    const chance = randomFrom(name.length)
    for (let count = 0; count < 12; count++) {
      const text = randomText(language, chance)
      if (text !== undefined) expect(isValid(JSON.parse(text)), text).toBe(true)
    }
  })
})

test('an exclusive bound in draft 4 applies to the other bound', () => {
  const open = jsonSchema({
    type: 'integer',
    minimum: 0,
    exclusiveMinimum: true,
    maximum: 9,
    exclusiveMaximum: false,
  })
  expect(['0', '1', '9', '10'].map((text) => open.has(text))).toEqual([false, true, true, false])
})
