// Foreign text. In: every file in src/. Out: a failure for each place that makes a text, a number or a value of what it does not know.
import { readdirSync, readFileSync } from 'node:fs'
import { join, sep } from 'node:path'
import { expect, test } from 'vitest'

/**
 * `String(value)` and `Number(value)` throw a TypeError for what JSON can hold, `{ "toString": 1 }`, and `JSON.parse` takes any
 * depth and size. What comes from outside is read with `parseJson` and `Fields`, and written with `shown`.
 */
const FORBIDDEN: readonly { pattern: RegExp; instead: string; allowed: Readonly<Record<string, number>> }[] =
  [
    {
      pattern: /(?<![.\w])String\(|\.map\(String\)/g,
      instead: 'shown() of base/options.ts, or a check of its type before',
      // Numbers, dates, what was thrown, and the doc comment of `shown`.
      allowed: {
        'arch/names.ts': 2,
        'arch/read-config.ts': 1,
        'base/errors.ts': 1,
        'base/options.ts': 3,
        'formats/safetensors.ts': 1,
        'formats/splits.ts': 2,
        'store/quota.ts': 1,
        'text/create.ts': 1,
        'text/strftime.ts': 2,
      },
    },
    {
      pattern: /(?<![.\w])Number\(|\.map\(Number\)/g,
      instead: 'a check of its type, Fields.number or Fields.numberList',
      // Digits that a pattern found, numbers of 64 bits, headers of HTTP, and an age whose file may hold anything.
      allowed: {
        'formats/gguf.ts': 3,
        'formats/gguf-values.ts': 3,
        'formats/hbm.ts': 1,
        'formats/hbm-parts.ts': 2,
        'formats/safetensors.ts': 3,
        'store/address.ts': 3,
        'store/notes.ts': 1,
        'store/partial.ts': 2,
        'store/request.ts': 2,
        'store/retry.ts': 1,
        'store/sessions.ts': 1,
      },
    },
    {
      pattern: /JSON\.parse\(/g,
      instead: 'parseJson() of base/json.ts',
      // What this origin stored itself, and what has been scanned.
      allowed: { 'base/json.ts': 1, 'store/folder.ts': 1, 'store/load-marks.ts': 1, 'text/tool-calls.ts': 1 },
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
