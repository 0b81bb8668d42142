// Foreign text. In: every file in src/. Out: a failure for each place that makes a text, a number or a value
// of what it does not know.
import { readdirSync, readFileSync } from 'node:fs'
import { join, sep } from 'node:path'
import { expect, test } from 'vitest'

/**
 * `String(value)` and `Number(value)` throw a TypeError for what JSON can hold, `{ "toString": 1 }`, and
 * `JSON.parse` takes any depth and size. What comes from outside is read with `parseJson` and `Fields`, and
 * written with `shown`.
 */
const FORBIDDEN: readonly { pattern: RegExp; instead: string; allowed: Readonly<Record<string, number>> }[] =
  [
    {
      pattern: /(?<![.\w])String\(|\.map\(String\)/g,
      instead: 'shown() of base/check-options.ts, or a check of its type before',
      // Numbers, dates, what was thrown, and the doc comment of `shown`.
      allowed: {
        'arch/tensors/names.ts': 2,
        'arch/read-config.ts': 1,
        'base/errors.ts': 1,
        'base/check-options.ts': 3,
        'formats/safetensors/safetensors.ts': 1,
        'formats/splits.ts': 2,
        'store/device/sync-file.ts': 1,
        'text/jinja/globals.ts': 2,
      },
    },
    {
      pattern: /(?<![.\w])Number\(|\.map\(Number\)/g,
      instead: 'a check of its type, Fields.number or Fields.numberList',
      // Digits that a pattern found, numbers and truths by their types, headers of HTTP, and an age whose
      // file may hold anything.
      allowed: {
        'formats/gguf/gguf.ts': 3,
        'formats/gguf/gguf-values.ts': 3,
        'formats/hbm/hbm.ts': 1,
        'formats/json-files.ts': 1,
        'formats/protobuf.ts': 1,
        'formats/splits.ts': 2,
        'formats/safetensors/peft-patterns.ts': 2,
        'formats/safetensors/sentencepiece.ts': 1,
        'formats/safetensors/safetensors.ts': 3,
        'store/address.ts': 3,
        'store/device/opfs.ts': 2,
        'store/device/notes.ts': 1,
        'store/download/request.ts': 7,
        'store/download/retry.ts': 1,
        'store/device/sessions.ts': 1,
        'text/tokenize/read/check-steps.ts': 2,
        'text/chat/python-calls.ts': 1,
        'text/jinja/filters.ts': 3,
        'text/jinja/format-text.ts': 7,
        'text/jinja/list-filters.ts': 1,
        'text/jinja/parser.ts': 3,
        'text/jinja/run.ts': 1,
        'text/jinja/values.ts': 1,
      },
    },
    {
      pattern: /JSON\.parse\(/g,
      instead: 'parseJson() of base/json.ts',
      // What this origin stored itself, and what has been scanned.
      allowed: {
        'base/json.ts': 1,
        'store/device/notes.ts': 1,
        'store/device/load-marks.ts': 1,
      },
    },
  ]

const LAYERS = ['arch', 'base', 'formats', 'state', 'store', 'text']

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
