// The npm package's tarball. In: dist, packed. Out: whether its size, links, licences and settings are those
// that its users count on.
import { execFile } from 'node:child_process'
import { access, readFile, stat, writeFile } from 'node:fs/promises'
import { join, posix } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { build } from 'vite'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { filesOf, type PackedApp, packedApp } from '../../e2e/packed/app.ts'
import { blocksOf } from './guide/blocks.ts'

const run = promisify(execFile)
const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const TSC = join(ROOT, 'node_modules/typescript/bin/tsc')

let app: PackedApp
/** Paths from the package's folder. */
let files: string[]
let manifest: Record<string, unknown>

beforeAll(async () => {
  app = await packedApp()
  files = await filesOf(app)
  manifest = JSON.parse(await readFile(join(app.installed, 'package.json'), 'utf8'))
})

afterAll(() => app?.remove())

test('documents link only to files of the package, or to the repository', async () => {
  const dead: string[] = []
  let count = 0
  for (const name of files.filter((name) => /\.(?:md|d\.ts)$/.test(name))) {
    const text = await readFile(join(app.installed, name), 'utf8')
    const links = [...text.matchAll(/\]\(([^)\s]+)\)|<(?:img|a)\b[^>]*(?:src|href)="([^"]+)"/g)]
    for (const [, link, address] of links) {
      const [target = ''] = (link ?? address ?? '').split('#')
      count++
      if (target === '' || /^[a-z]+:/.test(target)) continue
      const path = posix.join(posix.dirname(name), target).replace(/\/$/, '')
      if (!files.some((file) => file === path || file.startsWith(`${path}/`))) dead.push(`${name}: ${target}`)
    }
  }
  expect(dead).toEqual([])
  expect(count).toBeGreaterThan(200)
})

test('links to the repository lead to existing files', async () => {
  const home = String(manifest['homepage']).replace('#readme', '')
  const targets = new Set<string>()
  for (const name of files.filter((name) => name.endsWith('.md'))) {
    const text = await readFile(join(app.installed, name), 'utf8')
    for (const [, target = ''] of text.matchAll(/\/(?:blob|tree|raw)\/HEAD\/([^)#"\s]+)/g))
      targets.add(target)
    expect(text.split(`${home}/`).length, name).toBe(text.split(/\/(?:blob|tree|raw)\/HEAD\//).length)
  }
  expect(targets.size).toBeGreaterThan(20)
  for (const target of targets) await access(join(ROOT, target))
})

test('the package stays within its budget, and contains no source maps', async () => {
  const { size: packed } = await stat(app.tarball)
  const sizes = await Promise.all(
    files.map(async (name) => ({ name, size: (await stat(join(app.installed, name))).size })),
  )
  const sum = (of: RegExp) => sizes.reduce((total, { name, size }) => total + (of.test(name) ? size : 0), 0)
  const measured = { packed, unpacked: sum(/./), model: sum(/\.hbm$/), other: packed - sum(/\.hbm$/) }
  const { package: budget } = JSON.parse(await readFile(join(ROOT, 'budget.json'), 'utf8'))
  for (const [name, bytes] of Object.entries(measured))
    expect(bytes, `${name} in ${JSON.stringify(measured)}`).toBeLessThanOrEqual(budget[name])
  expect(files.filter((name) => name.endsWith('.map'))).toEqual([])
  for (const name of files.filter((name) => name.endsWith('.js')))
    expect(await readFile(join(app.installed, name), 'utf8'), name).not.toContain('sourceMappingURL=')
})

test('a stack trace names the function of the readable script', async () => {
  const program = `import { Engine } from 'halfbyte'\nawait Engine.load('embedded', { threads: 0 })`
  const failed = await run(process.execPath, ['--input-type=module', '--eval', program], {
    cwd: app.folder,
  }).catch(({ stderr }: { stderr: string }) => stderr)
  const [, path = '', line] =
    /\((?:file:\/\/)?(\/.*\/halfbyte\/dist\/[\w-]+\.js):(\d+):\d+\)/.exec(String(failed)) ?? []
  expect(path, String(failed)).not.toBe('')
  expect((await readFile(path, 'utf8')).split('\n')[Number(line) - 1]).toMatch(/HalfbyteError\(|throw/)
})

/** Licences that require no more than their text, which the notices contain. */
const LICENCES = ['MIT', 'ISC', 'Apache-2.0', 'BSD-2-Clause', 'BSD-3-Clause']

test('all code in the package, and all that it depends on, has a permissive licence', async () => {
  const notices = await readFile(join(app.installed, 'dist/THIRD_PARTY_NOTICES.md'), 'utf8')
  const contained = [...notices.matchAll(/^## (\S+ \S+) \((.+)\)$/gm)].map(([, name, licence]) => [
    name,
    licence,
  ])
  const needed = await Promise.all(
    Object.keys(manifest['dependencies'] as object).map(async (name) => {
      const text = await readFile(join(ROOT, 'node_modules', name, 'package.json'), 'utf8')
      const { version, license } = JSON.parse(text)
      return [`${name} ${version}`, license]
    }),
  )
  expect(contained.length).toBeGreaterThan(15)
  expect([...contained, ...needed].filter(([, licence]) => !LICENCES.includes(licence as string))).toEqual([])
})

test('it is published to everyone, with provenance', () => {
  expect(manifest['publishConfig']).toEqual({ access: 'public', provenance: true })
  const { repository, license } = manifest as { repository: { type: string; url: string }; license: string }
  expect([repository.type, license]).toEqual(['git', 'Apache-2.0'])
})

test('a page can import the URL of a model in the package, with the types that the guide names', async () => {
  const entry = join(app.folder, 'page.js')
  await writeFile(
    entry,
    `import model from 'halfbyte/models/halfbyte-stories.hbm?url'\ndocument.title = model\n`,
  )
  const built = await build({
    root: app.folder,
    configFile: false,
    logLevel: 'silent',
    build: { write: false, rolldownOptions: { input: entry } },
  })
  const { output } = built as Exclude<typeof built, unknown[] | { close(): unknown }>
  const model = output.find(({ fileName }) => fileName.endsWith('.hbm'))
  const [script] = output
  expect(script.code).toContain(model?.fileName)
  const shipped = await readFile(join(app.installed, 'dist/models/halfbyte-stories.hbm'))
  expect(model?.type === 'asset' && shipped.equals(model.source as Uint8Array)).toBe(true)

  const { text: declaration = '' } =
    blocksOf('docs/guide/bundlers.md').find(({ text }) => text.startsWith('declare module')) ?? {}
  await writeFile(join(app.folder, 'assets.d.ts'), declaration)
  await writeFile(
    join(app.folder, 'page.mts'),
    `import model from 'halfbyte/models/halfbyte-stories.hbm?url'\nexport const address: string = model\n`,
  )
  const flags = '--ignoreConfig --noEmit --strict --module esnext --moduleResolution bundler'
  const compile = (...files: string[]) =>
    run(process.execPath, [TSC, ...flags.split(' '), ...files], { cwd: app.folder }).then(
      () => '',
      ({ stdout }) => stdout,
    )
  expect(await compile('page.mts')).toContain('TS2307')
  expect(await compile('page.mts', 'assets.d.ts')).toBe('')
})
