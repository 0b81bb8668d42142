// Foreign text. In: every file in src/. Out: a failure for each place that converts unknown values to strings
// or numbers, or parses unknown text.
import { readdirSync, readFileSync } from 'node:fs'
import { join, sep } from 'node:path'
import { expect, test } from 'vitest'

/**
 * `String(value)` and `Number(value)` throw a TypeError for valid JSON such as `{ "toString": 1 }`, and
 * `JSON.parse` accepts any depth and size. Untrusted input must be read with `parseJson` and `Fields`, and
 * printed with `shown`.
 */
const FORBIDDEN: readonly { pattern: RegExp; instead: string; allowed: Readonly<Record<string, number>> }[] =
  [
    {
      pattern: /(?<![.\w])String\(|\.map\(String\)/g,
      instead: 'shown() of core/base/check-options.ts, or a check of its type before',
      // Numbers, dates, thrown values, and the doc comment of `shown`.
      allowed: {
        'core/arch/tensors/names.ts': 2,
        'core/arch/read-config.ts': 1,
        'core/base/errors.ts': 1,
        'core/base/check-options.ts': 3,
        'core/formats/safetensors/safetensors.ts': 1,
        'core/formats/splits.ts': 2,
        'core/store/device/sync-file.ts': 1,
        'core/text/chat/calls/python-values.ts': 1,
        'core/text/jinja/globals.ts': 2,
        'core/text/jinja/values.ts': 1,
      },
    },
    {
      pattern: /(?<![.\w])Number\(|\.map\(Number\)/g,
      instead: 'a check of its type, Fields.number or Fields.numberList',
      // Digits that a pattern matched, numbers and booleans by type, HTTP headers, and an age from a file
      // with unchecked contents.
      allowed: {
        'core/arch/families/per-layer/tensors.ts': 1,
        'core/formats/gguf/gguf.ts': 3,
        'core/formats/gguf/gguf-values.ts': 3,
        'core/formats/hbm/hbm.ts': 1,
        'core/formats/json-files.ts': 1,
        'core/formats/protobuf.ts': 1,
        'core/formats/splits.ts': 2,
        'core/formats/safetensors/peft-patterns.ts': 2,
        'core/formats/safetensors/sentencepiece.ts': 1,
        'core/formats/safetensors/safetensors.ts': 3,
        'core/store/address.ts': 3,
        'core/store/device/model-store.ts': 2,
        'core/store/device/notes.ts': 1,
        'core/store/download/request.ts': 7,
        'core/store/download/retry.ts': 1,
        'core/store/device/sessions.ts': 1,
        'core/text/tokenize/read/check-steps.ts': 2,
        'core/text/jinja/filters.ts': 3,
        'core/text/jinja/format-text.ts': 7,
        'core/text/jinja/list-filters.ts': 1,
        'core/text/jinja/parser.ts': 3,
        'core/text/jinja/run.ts': 1,
        'core/text/jinja/values.ts': 2,
      },
    },
    {
      pattern: /JSON\.parse\(/g,
      instead: 'parseJson() of core/base/json.ts',
      // Data that this origin stored itself, and data that has been scanned.
      allowed: {
        'core/base/json.ts': 2,
        'core/store/device/notes.ts': 1,
        'core/store/device/load-marks.ts': 1,
      },
    },
  ]

const LAYERS = [
  'core/arch',
  'core/base',
  'core/formats',
  'core/state',
  'core/store',
  'core/text',
  'encoders/families',
]

test.each(FORBIDDEN)('$instead', ({ pattern, instead, allowed }) => {
  const wrong = LAYERS.flatMap((layer) =>
    readdirSync(join(import.meta.dirname, layer), { recursive: true, encoding: 'utf8' })
      .filter((path) => path.endsWith('.ts') && !/\.test\.ts$|(^|[\\/])test(ing)?[\\/]/.test(path))
      .flatMap((path) => {
        const file = `${layer}/${path.split(sep).join('/')}`
        const text = readFileSync(join(import.meta.dirname, file), 'utf8')
        const found = text.match(pattern)?.length ?? 0
        return found > (allowed[file] ?? 0) ? [`${file} has ${found}; use ${instead}`] : []
      }),
  )
  expect(wrong).toEqual([])
})
