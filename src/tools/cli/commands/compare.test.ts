// halfbyte compare. In: the real program and two packs of a tiny model. Out: a table, a plot and JSON.
import { readFile, writeFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { halfbyte, model, path, testModels } from '../testing/program.ts'

testModels()

test('compares packs by size, memory, perplexity and speed', async () => {
  const dense = path('compared-dense.hbm')
  const sparse = path('compared-sparse.hbm')
  const text = path('compared.txt')
  await writeFile(text, 'the cat and the hat and a little text that goes on and on. '.repeat(40))
  await halfbyte('convert', model, dense, '--weights', 'w4')
  const asked = [
    '--method',
    'magnitude',
    '--pattern',
    'sv32',
    '--sparsity',
    '0.75',
    '--sparse',
    'sv32',
  ] as const
  await halfbyte('prune', model, sparse, ...asked)
  const own = ['--text', text, '--context', '32', '--chunks', '3', '--threads', '1', '--tokens', '4'] as const
  const files = ['--output', path('table.md'), '--plot', path('plot.svg')] as const
  const { code, out } = await halfbyte('compare', dense, sparse, ...own, '--rounds', '2', ...files)
  expect(code).toBe(0)
  expect(out).toBe(await readFile(path('table.md'), 'utf8'))
  const [, , first = '', second = ''] = out.split('\n')
  const size = async (file: string) => ((await readFile(file)).length / 1e6).toFixed(2)
  expect(first).toContain(`| compared-dense.hbm | ${await size(dense)} |`)
  expect(second).toContain(`| compared-sparse.hbm | ${await size(sparse)} (0.`)
  expect(await readFile(path('plot.svg'), 'utf8')).toContain('decode: tokens/s')
  const json = JSON.parse((await halfbyte('compare', dense, ...own, '--rounds', '3', '--json')).out)
  expect(json).toMatchObject([{ name: 'compared-dense.hbm', prefill: { length: 3 }, cpu: { length: 3 } }])
  const scored = await halfbyte('perplexity', dense, text, '--context', '32', '--chunks', '3', '--json')
  expect(json[0].perplexity.value).toBe(JSON.parse(scored.out).perplexity)
}, 120_000)
