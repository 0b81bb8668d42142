// The manual's code outside of pages. In: the blocks for Node, for Vite's configuration and for a test
// runner. Out: a failure for each that throws. e2e/guide runs those for pages, and the specs of e2e/start and
// e2e/cdn those that are files of an example.
import { execFile } from 'node:child_process'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { resolveConfig, type UserConfig } from 'vite'
import { expect, test, vi } from 'vitest'
import { packedApp } from '../../../e2e/packed/app.ts'
import * as testing from '../../../src/engine/api/fake/fake-engine.ts'
import * as halfbyte from '../../../src/index.ts'
import { bertFolder, byPath, randomBert } from '../../../test/conformance/testing/random-bert.ts'
import { FILE_SECTIONS } from '../../../test/helpers/guide-files.ts'
import { BLOCKS, type Block, blocksOf, isCode, ROOT, type Runner, runnerOf } from './blocks.ts'

const run = promisify(execFile)
const blocksFor = (runner: Runner) => BLOCKS.filter((block) => runnerOf(block) === runner)
const nameOf = ({ page, line }: Block) => `${page}:${line}`

/** A block as a module. */
const imported = ({ text }: Block) => import(`data:text/javascript,${encodeURIComponent(text)}`)

test("Node's blocks run with the packed package, and the chat says something", async () => {
  const app = await packedApp()
  const models = join(app.folder, 'models')
  const encoder = join(models, 'all-MiniLM-L6-v2')
  await mkdir(join(encoder, '1_Pooling'), { recursive: true })
  for (const [path, file] of byPath(bertFolder(randomBert(1))))
    await writeFile(join(encoder, path), await file.bytes())
  const chat = await readFile(join(app.installed, 'dist/models/halfbyte-stories.hbm'))
  await writeFile(join(models, 'qwen2.5-0.5b-instruct-q4_0.gguf'), chat)
  const blocks = blocksFor('node')
  expect(blocks.length).toBeGreaterThanOrEqual(2)
  for (const block of blocks) {
    await writeFile(join(app.folder, 'block.mjs'), block.text)
    const { stdout, stderr } = await run(process.execPath, ['block.mjs'], { cwd: app.folder })
    expect(stderr, nameOf(block)).toBe('')
    if (block.text.includes('stdout')) expect(stdout, nameOf(block)).toMatch(/\w{3}/)
  }
  await app.remove()
})

test('Vite accepts the blocks of its configuration', async () => {
  const blocks = blocksFor('vite')
  expect(blocks.length).toBeGreaterThanOrEqual(1)
  for (const block of blocks) {
    const { default: config } = (await imported(block)) as { default: UserConfig }
    const { optimizeDeps } = await resolveConfig({ ...config, configFile: false, logLevel: 'error' }, 'serve')
    expect(optimizeDeps.exclude, nameOf(block)).toContain('halfbyte')
  }
})

test('a test runner passes the blocks with a unit test', async () => {
  const blocks = blocksFor('vitest')
  expect(blocks.length).toBeGreaterThanOrEqual(1)
  for (const block of blocks) {
    const bodies: (() => Promise<void>)[] = []
    const own = (_: string, body: () => Promise<void>) => bodies.push(body)
    // The source stands for the package.
    const text = block.text.replaceAll(/^import (\{.*\}) from '(.*)'$/gm, "const $1 = library['$2']")
    new Function('test', 'vi', 'library', text)(own, vi, { halfbyte, 'halfbyte/testing': testing })
    expect(bodies, nameOf(block)).toHaveLength(1)
    await bodies[0]?.()
    vi.restoreAllMocks()
  }
})

/** The page and the section of a block. */
async function sectionOf({ page, line }: Block): Promise<string> {
  const lines = (await readFile(join(ROOT, page), 'utf8')).split('\n').slice(0, line)
  return `${page}: ${lines.findLast((text) => text.startsWith('## '))?.slice(3)}`
}

test('each block of code is run, or says why not; files of an example are in a section that a spec runs', async () => {
  const idle = BLOCKS.filter((block) => isCode(block) && runnerOf(block) === undefined)
  expect(idle.filter(({ whyNotRun = '' }) => whyNotRun.length < 10).map(nameOf)).toEqual([])
  expect(idle.length).toBeLessThanOrEqual(4)
  expect(blocksFor('page').length).toBeGreaterThan(40)
  const sections = new Set(await Promise.all(blocksFor('example').map(sectionOf)))
  expect([...sections].sort()).toEqual(
    FILE_SECTIONS.map(([page, title]) => `docs/guide/${page}: ${title}`).sort(),
  )
})

test('a fence with an unknown note is rejected', () => {
  expect(() => blocksOf('page.md', '```js norun: x\n1\n```\n')).toThrow('page.md:1: unknown note norun: x')
  expect(blocksOf('page.md', '```js no-run: a phone is needed\n1\n```\n')).toEqual([
    { page: 'page.md', line: 2, language: 'js', text: '1\n', whyNotRun: 'a phone is needed' },
  ])
})
