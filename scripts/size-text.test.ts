// Sizes in documents. In: sizes. Out: whether documents with different sizes are found and corrected, and
// small growth is tolerated.
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { isAbout, sizeTexts, textBetween, writeSizes, wrongSizes } from './size-text.mjs'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const SIZES = {
  wasm: [178_107, 162_278],
  library: 147_049,
  later: 14_860,
  readers: { 'gguf.js': 11_240, 'safetensors.js': 7823, 'onnx.js': 59_426 },
  widgetScript: 99_000,
  widgetWorkers: 151_500,
  widget: 428_599,
  widgetBudget: 460_800,
}

test('a text may differ by 3 %, and only in its numbers', () => {
  expect(isAbout('429 kB and 8 kB', '440 kB and 9 kB')).toBe(true)
  expect(isAbout('411 kB and 8 kB', '429 kB and 8 kB')).toBe(false)
  expect(isAbout('429 kB and 8 kB', '429 kB and 11 kB')).toBe(false)
  expect(isAbout('429 kB', 'at most 429 kB')).toBe(false)
})

test('documents with different sizes are found and corrected', () => {
  const folder = mkdtempSync(join(tmpdir(), 'halfbyte-sizes-'))
  try {
    const texts = sizeTexts({ ...SIZES, widget: 500_000 })
    for (const path of Object.keys(texts)) {
      mkdirSync(dirname(join(folder, path)), { recursive: true })
      writeFileSync(join(folder, path), readFileSync(join(ROOT, path)))
    }
    expect(wrongSizes(folder, texts)).toEqual(Object.keys(texts))
    writeSizes(folder, texts)
    expect(wrongSizes(folder, texts)).toEqual([])
    expect(textBetween(readFileSync(join(folder, 'README.md'), 'utf8'))).toContain('500 kB')
  } finally {
    rmSync(folder, { recursive: true })
  }
})

test('a document without markers is reported', () => {
  expect(() => textBetween('429 kB')).toThrow(/must have exactly one line <!-- Written by npm run size/)
})
