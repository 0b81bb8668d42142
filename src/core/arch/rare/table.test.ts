// Tests the loading of rare families. In: files of common, rare and unknown families. Out: the rare ones are
// loaded with the file's own loader, and only if the file names none of the common ones.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { FAMILIES } from '../families.ts'
import { hbmFile, SMALL } from '../testing/files.ts'
import { RARE_FAMILIES } from './table.ts'

/** Fresh modules, with no rare family loaded yet. */
async function fresh() {
  vi.resetModules()
  const [{ readConfig }, { familyFile }] = await Promise.all([
    import('../read-config.ts'),
    import('../families.ts'),
  ])
  const loadFamilies = vi.fn(() => import('./table.ts'))
  const read = (family: string) => readConfig({ ...hbmFile({ ...SMALL, family }), loadFamilies })
  return { read, familyFile, loadFamilies }
}

test('a common family does not load the rare ones', async () => {
  const { read, familyFile, loadFamilies } = await fresh()
  expect((await read('llama')).family).toBe('llama')
  expect(loadFamilies).not.toHaveBeenCalled()
  expect(() => familyFile('gpt2')).toThrow('the family gpt2 is not loaded')
})

test('the rare families are loaded once, all together', async () => {
  const { read, familyFile, loadFamilies } = await fresh()
  expect((await read('gpt2')).family).toBe('gpt2')
  expect((await read('gpt_neox')).family).toBe('gpt_neox')
  expect(loadFamilies).toHaveBeenCalledTimes(1)
  for (const family of FAMILIES) expect(familyFile(family)).toBeDefined()
})

test('a model fails if the script cannot be loaded, and the next one requests it again', async () => {
  const { read, loadFamilies } = await fresh()
  loadFamilies.mockRejectedValueOnce(new Error('offline'))
  await expect(read('gpt2')).rejects.toThrow('offline')
  expect((await read('gpt2')).family).toBe('gpt2')
})

test('the script of the rare families does not include the decoder', () => {
  const folder = join(import.meta.dirname, '../families')
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  const sources = files.filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'))
  const bringing = sources.filter((name) =>
    /^import (?!type).*\/decoder\.ts'|\bgraphBuilder\b/m.test(readFileSync(join(folder, name), 'utf8')),
  )
  expect(sources.length).toBeGreaterThan(20)
  expect(bringing).toEqual([])
})

test('an unknown family is rejected once both tables have been searched', async () => {
  const { read, loadFamilies } = await fresh()
  await expect(read('constructor')).rejects.toMatchObject({ code: 'architecture' })
  expect(loadFamilies).toHaveBeenCalledTimes(1)
  expect(Object.keys(RARE_FAMILIES).every((family) => FAMILIES.includes(family))).toBe(true)
})
