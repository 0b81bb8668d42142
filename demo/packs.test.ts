// The list of packs next to the page. In: folders. Out: which packs are listed, and which are rejected.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { packsIn } from './packs.ts'

const CARD = {
  title: 'One',
  about: 'It talks.',
  languages: 'English',
  licence: 'MIT',
  source: 'Somebody',
  contextLength: 64,
}

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'halfbyte-packs-'))
})
afterEach(() => rmSync(folder, { recursive: true }))
const put = (name: string, content: unknown) =>
  writeFileSync(join(folder, name), typeof content === 'string' ? content : JSON.stringify(content))

test('a pack is listed with its card and size; a pack without a card, or a card without a pack, is not', () => {
  expect(packsIn(join(folder, 'nowhere'))).toEqual([])
  put('b.hbm', '12345')
  put('b.json', CARD)
  put('half-made.hbm', '1')
  put('removed.json', CARD)
  expect(packsIn(folder)).toEqual([{ ...CARD, file: 'packs/b.hbm', sizeBytes: 5 }])
})

test('an incomplete card is rejected with its name and the missing fields', () => {
  put('a.hbm', '1')
  put('a.json', { ...CARD, licence: undefined, contextLength: '64' })
  expect(() => packsIn(folder)).toThrow(/a\.json lacks licence, contextLength; make its pack again/)
  put('a.json', [])
  expect(() => packsIn(folder)).toThrow(/lacks title, about, languages, licence, source/)
})
