// Foreign values. In: encoders' files with other values where a string, number or list belongs. Out: settings
// or a typed error.
import { expect, test } from 'vitest'
import { isHalfbyteError } from '../../core/base/errors.ts'
import type { JsonObject } from '../../core/base/values.ts'
import { type InnerPath, pathInside } from '../../core/formats/names/named-files.ts'
import type { MetaValue } from '../../core/formats/tensors.ts'
import { folderSettings, ggufSettings } from './embed-settings.ts'
import { moduleFiles } from './module-files.ts'

/** An object that JSON can express but that cannot be converted to a string or number. */
const NO_TEXT = { toString: 1, valueOf: 2 }
const FOREIGN: readonly unknown[] = [
  NO_TEXT,
  [NO_TEXT],
  [[NO_TEXT]],
  null,
  [],
  {},
  '',
  'x',
  7,
  -1,
  1e300,
  true,
]

async function codeOf(work: () => unknown): Promise<unknown> {
  try {
    await work()
    return 'none'
  } catch (error) {
    return isHalfbyteError(error) && error.code !== 'internal' ? error.code : error
  }
}
const isTyped = (code: unknown) => typeof code === 'string'

const FILES: Readonly<Record<string, unknown>> = {
  'modules.json': [
    { type: 'x.Transformer', path: '' },
    { type: 'x.Pooling', path: '1_Pooling' },
    { type: 'x.Dense', path: '2_Dense' },
  ],
  '1_Pooling/config.json': { pooling_mode_mean_tokens: true, pooling_mode: 'mean', include_prompt: true },
  'sentence_bert_config.json': { max_seq_length: 12 },
  'config_sentence_transformers.json': { prompts: { query: 'q' }, default_prompt_name: 'query' },
}

/** The document with each of its values replaced by `value`, and `value` itself. */
function replaced(document: unknown, value: unknown): unknown[] {
  if (typeof document !== 'object' || document === null) return [value]
  const entries = Object.entries(document)
  const whole = entries.flatMap(([key, part]) =>
    replaced(part, value).map((changed) =>
      Array.isArray(document) ? document.with(Number(key), changed) : { ...document, [key]: changed },
    ),
  )
  return [value, ...whole]
}

test('sentence-transformers files with any value anywhere load or throw a typed error', async () => {
  const codes = new Set<unknown>()
  for (const [name, document] of Object.entries(FILES))
    for (const value of FOREIGN)
      for (const changed of replaced(document, value)) {
        const files = { ...FILES, [name]: changed }
        const readJson = async (path: InnerPath) => files[path] as JsonObject
        const code = await codeOf(() => folderSettings('m', readJson))
        expect(code).toSatisfy(isTyped)
        codes.add(code)
      }
  expect(codes).toEqual(new Set(['none', 'unsupported', 'format']))
})

test('GGUF files with any architecture and pooling load or throw a typed error', async () => {
  for (const value of FOREIGN as MetaValue[])
    for (const [architecture, pooling] of [
      [value, 1],
      ['bert', value],
    ] as [MetaValue, MetaValue][]) {
      const metadata = new Map([
        ['general.architecture', architecture],
        ['bert.pooling_type', pooling],
      ])
      const file = { format: 'gguf', name: 'm', tensors: new Map(), metadata } as const
      expect(await codeOf(() => ggufSettings(file))).toSatisfy(isTyped)
    }
})

test('picked files of Dense modules with any sizes load or throw a typed error', async () => {
  const { signal } = new AbortController()
  const path = pathInside('2_Dense', 'modules.json')
  for (const value of FOREIGN) {
    const header = JSON.stringify({ 'linear.weight': { shape: [value, value] } })
    const length = new BigUint64Array([BigInt(header.length)])
    const files = [
      new File([JSON.stringify({ in_features: value, out_features: value })], 'config.json'),
      new File([length, header], 'model.safetensors'),
    ]
    const open = async () => ({ sources: [], async close() {} })
    const { openDense } = await moduleFiles(files, open, signal)
    expect(await codeOf(() => openDense(path, 32))).toBe('format')
  }
})
