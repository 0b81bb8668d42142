// The npm package. In: dist, packed and installed in an empty app. Out: whether programs, types and files
// arrive intact.
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { access, readdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { runInNewContext } from 'node:vm'
import { type Analysis, checkPackage, createPackageFromTarballData } from '@arethetypeswrong/core'
import { publint } from 'publint'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { filesOf, type PackedApp, packedApp } from '../e2e/packed/app.ts'
import { TRANSLATED } from '../src/ui/words/languages.ts'

const run = promisify(execFile)
const ROOT = fileURLToPath(new URL('..', import.meta.url))
const NEWEST = join(ROOT, 'node_modules/typescript/bin/tsc')
const OLDEST = join(ROOT, 'e2e/types/node_modules/typescript/bin/tsc')

let app: PackedApp
let files: string[]
let manifest: Record<string, unknown> & {
  readonly engines: { readonly node: string }
  readonly exports: Record<string, string | Record<string, string>>
}

beforeAll(async () => {
  app = await packedApp()
  files = await filesOf(app)
  manifest = JSON.parse(await readFile(join(app.installed, 'package.json'), 'utf8'))
})

afterAll(() => app?.remove())

test('the package contains the files that it needs and no others', () => {
  const outside = files.filter((name) => !/^(?:dist|docs\/guide)\//.test(name)).sort()
  expect(outside).toEqual(['CHANGELOG.md', 'LICENSE', 'README.md', 'package.json'])
  expect(files).toContain('dist/cli.js')
  expect(files).toContain('dist/compute-worker.js')
  expect(files).toContain('dist/solve-worker.js')
  expect(files).toContain('dist/picture-worker.js')
  expect(files).toContain('dist/workers/engine.worker.js')
  expect(files).toContain('dist/workers/compute.worker.js')
  const modules = files.filter((name) => name.endsWith('.wasm'))
  expect(modules.filter((name) => name.startsWith('dist/cdn/wasm/'))).toHaveLength(4)
  expect(modules.filter((name) => !name.startsWith('dist/cdn/wasm/')).sort()).toEqual([
    'dist/jpeg-turbo.wasm',
    'dist/solve/halfbyte-solve.wasm',
  ])
  expect(files.filter((name) => name.endsWith('.ts') && !name.endsWith('.d.ts'))).toEqual([])
})

test('the package contains every document named in a message', async () => {
  const named = new Set<string>()
  for (const name of files.filter((name) => /^dist\/.*\.js$/.test(name))) {
    const source = (await readFile(join(app.installed, name), 'utf8')).replaceAll(
      /^ *(?:\/?\*|\/\/).*$/gm,
      '',
    )
    for (const [path] of source.matchAll(/\bdocs\/[\w/-]+\.md\b/g)) named.add(path)
  }
  expect([...named]).toContain('docs/guide/bundlers.md')
  for (const path of named) expect(files).toContain(path)
})

test('the notices include the licence of each package that the library and the widget import', async () => {
  const notices = await readFile(join(app.installed, 'dist/THIRD_PARTY_NOTICES.md'), 'utf8')
  const sections = notices.split(/^## /m).slice(1)
  const imported = new Set<string>()
  for (const name of await readdir(join(ROOT, 'src'), { recursive: true })) {
    if (!/\.ts$/.test(name) || /\.test\.ts$|(^|\/)(cli|testing)\//.test(name)) continue
    const source = await readFile(join(ROOT, 'src', name), 'utf8')
    for (const [, from] of source.matchAll(
      /^import (?!type )[^;']*?from '(?!node:)((?:@[\w-]+\/)?[a-z][\w.-]*)[^']*'/gm,
    ))
      imported.add(from!)
  }
  expect([...imported]).toContain('comlink')
  for (const name of imported) {
    const [notice] = sections.filter((section) => section.startsWith(`${name} `))
    expect(notice?.length, name).toBeGreaterThan(400)
  }
})

test('each entry has one declaration file, and no others are shipped', () => {
  const declared = Object.values(manifest.exports).flatMap((target) =>
    typeof target === 'object' && target['types'] !== undefined ? [target['types'].replace('./', '')] : [],
  )
  expect(declared).toContain('dist/index.d.ts')
  expect(files.filter((name) => name.endsWith('.d.ts')).sort()).toEqual(declared.sort())
})

test('the package has no duplicate files', async () => {
  const byHash = new Map<string, string[]>()
  for (const name of files) {
    const bytes = await readFile(join(app.installed, name))
    if (bytes.byteLength < 10_000) continue
    const hash = createHash('sha256').update(bytes).digest('hex')
    byHash.set(hash, [...(byHash.get(hash) ?? []), name])
  }
  expect(byHash.size).toBeGreaterThan(20)
  expect([...byHash.values()].filter((names) => names.length > 1)).toEqual([])
})

/** The part of the library in which bundlers find the URLs of modules and readers. */
const ADDRESSES = /^dist\/cdn\/browser-host-[\w-]+\.js$/

test('only scripts in the folder of modules and readers contain their URLs, as if they were next to a bundle', async () => {
  const naming = new Map<string, string[]>()
  for (const name of files.filter((name) => name.endsWith('.js'))) {
    const source = await readFile(join(app.installed, name), 'utf8')
    const named = [...source.matchAll(/["'`]([./\w-]*(?:halfbyte-\w+-\w+\.wasm|readers\/\w+\.js))["'`]/g)]
    if (named.length > 0) naming.set(name, [...new Set(named.map(([, path]) => dirname(path!)))])
  }
  const workers = ['embedder', 'engine', 'network'].map((name) => `dist/cdn/workers/${name}.worker.js`)
  const [own] = [...naming.keys()].filter((name) => ADDRESSES.test(name))
  expect([...naming.keys()].sort()).toEqual([own, 'dist/cdn/network.js', ...workers].sort())
  expect(naming.get(own!)).toEqual(['./wasm', './readers'])
  expect(naming.get('dist/cdn/network.js')).toEqual(['./wasm'])
  for (const worker of workers) expect(naming.get(worker)).toEqual(['../wasm', '../readers'])
})

/** What scripts in dist/cdn import on demand: an encoder, and the package for the option `fallback`. */
const CDN_IMPORTS: Readonly<Record<string, readonly string[]>> = {
  'widget.js': [
    ...['assist', 'documents', 'embedder'].map((name) => `import(\`./${name}.js`),
    ...TRANSLATED.map((code) => `import(\`./languages/${code}.js`),
    'import(`./pictures.js',
  ],
  'network.js': ['import(`onnxruntime-web/wasm'],
  'workers/network.worker.js': ['import(`onnxruntime-web/wasm'],
  // Occurs in the source text of a worker that pdf.js would start in a page.
  // biome-ignore lint/suspicious/noTemplateCurlyInString: it is that text
  'workers/pdf.worker.js': ['import("${e}'],
}

test('scripts for pages without a bundler import only what a page requests, and their hashes are listed', async () => {
  const at = (name: string) => join(app.installed, 'dist/cdn', name)
  const hashes = JSON.parse(await readFile(at('integrity.json'), 'utf8')) as Record<string, string>
  const isChunk = (name: string) => ADDRESSES.test(name) || /^dist\/cdn\/pdf-script-[\w-]+\.js$/.test(name)
  const shipped = files.filter((name) => /^dist\/cdn\/.*\.(js|wasm)$/.test(name) && !isChunk(name))
  expect(Object.keys(hashes)).toEqual(shipped.map((name) => name.slice('dist/cdn/'.length)).sort())
  for (const [name, hash] of Object.entries(hashes)) {
    const bytes = await readFile(at(name))
    expect(hash).toBe(`sha384-${createHash('sha384').update(bytes).digest('base64')}`)
    if (name.endsWith('.wasm')) continue
    const imports = bytes.toString().match(/(?:^|[;}\s])(?:import|from)\s*["']|\bimport\(["'`][^"'`]*/g)
    // The widget imports several parts in several places.
    expect(imports && [...new Set(imports)].sort(), name).toEqual(CDN_IMPORTS[name]?.toSorted() ?? null)
  }
  expect(Object.keys(hashes).filter((name) => name.endsWith('.js'))).toEqual([
    'ai-sdk.js',
    'assist.js',
    'documents.js',
    'embedder.js',
    'halfbyte.js',
    ...TRANSLATED.map((code) => `languages/${code}.js`),
    'network.js',
    'openai.js',
    'pictures.js',
    'prompt-api.js',
    'readers/encoders.js',
    'readers/families.js',
    'readers/gguf.js',
    'readers/onnx.js',
    'readers/safetensors.js',
    'readers/vision.js',
    'tabs.js',
    'widget.js',
    'workers/compute.worker.js',
    'workers/embedder.worker.js',
    'workers/engine.worker.js',
    'workers/network.worker.js',
    'workers/pdf.worker.js',
  ])
})

test('the embedded model comes with its licence and credits', async () => {
  expect(files.filter((name) => name.endsWith('.hbm'))).toEqual(['dist/models/halfbyte-stories.hbm'])
  expect(files).toContain('dist/models/CREDITS.md')
  expect(await readFile(join(app.installed, 'dist/models/README.md'), 'utf8')).toMatch(/licen[cs]e/i)
})

test('every file in the manifest exists, types come first, and files with side effects are listed', async () => {
  for (const [name, target] of Object.entries(manifest.exports)) {
    if (typeof target !== 'string') expect(Object.keys(target)[0]).toBe('types')
    for (const path of typeof target === 'string' ? [target] : Object.values(target)) {
      if (name.includes('*')) await access(join(app.installed, path.replace('*', '')))
      else await access(join(app.installed, path))
    }
  }
  const { halfbyte } = manifest['bin'] as { halfbyte: string }
  expect(await readFile(join(app.installed, halfbyte), 'utf8')).toMatch(/^#!\/usr\/bin\/env node\n/)
  const effects = manifest['sideEffects'] as string[]
  expect(effects).toEqual(
    expect.arrayContaining(['./dist/workers/*.js', './dist/cli.js', './dist/command.js']),
  )
})

test('publint reports nothing, not even suggestions', async () => {
  const { messages } = await publint({ pkgDir: app.installed, pack: false, strict: true })
  expect(messages).toEqual([])
})

test('types match the programs under every module resolution', async () => {
  const packed = createPackageFromTarballData(await readFile(app.tarball))
  const { problems } = (await checkPackage(packed)) as Analysis
  // The package has ES modules only: Node 22 can `require` them, and Node 10's resolution does not know
  // `exports`.
  const expected = new Set(['NoResolution node10', 'CJSResolvesToESM node16-cjs'])
  const found = problems.map((problem) =>
    'resolutionKind' in problem ? `${problem.kind} ${problem.resolutionKind}` : problem.kind,
  )
  expect(found.filter((problem) => !expected.has(problem))).toEqual([])
})

test.each([
  'index',
  'openai',
  'ai-sdk',
  'prompt-api',
  'embedder',
  'network',
  'assist',
  'tabs',
  'testing',
  'widget',
])('the exports of %s match docs/api', async (entry) => {
  const declared = await readFile(join(app.installed, `dist/${entry}.d.ts`), 'utf8')
  const bare = declared.replaceAll(/^ *\/\*\*[\s\S]*?\*\/\n/gm, '').replaceAll(/^ *\/\/.*\n/gm, '')
  // After a deliberate change: npx vitest run --project unit scripts/package.test.ts -u
  await expect(bare).toMatchFileSnapshot(join(ROOT, `docs/api/${entry}.txt`))
})

test('no file contains a path of the machine that built it', async () => {
  for (const name of files) {
    const text = (await readFile(join(app.installed, name))).toString('latin1')
    expect(text.includes(ROOT), name).toBe(false)
  }
})

test('the installed command generates on two threads', async () => {
  const command = join(app.installed, 'dist/cli.js')
  const asked = [
    'generate',
    'embedded',
    '--prompt',
    'Hello',
    '--temperature',
    '0',
    '--max-tokens',
    '8',
    '--json',
  ]
  const [one, two] = await Promise.all(
    ['1', '2'].map(async (threads) =>
      JSON.parse((await run(process.execPath, [command, ...asked, '--threads', threads])).stdout),
    ),
  )
  expect(one.tokens.length).toBeGreaterThan(0)
  expect(two.tokens).toEqual(one.tokens)
})

test('the installed command prints its version', async () => {
  const command = join(app.installed, 'dist/cli.js')
  const { stdout } = await run(process.execPath, [command, '--version'])
  expect(stdout).toBe(`${manifest['version']}\n`)
})

test('the installed command lists the model in the package, and says where to find the other one', async () => {
  const command = join(app.installed, 'dist/cli.js')
  const { stdout } = await run(process.execPath, [command, 'models', '--json'])
  const listed: { id: string; isEmbedded: boolean }[] = JSON.parse(stdout)
  expect(listed.filter(({ isEmbedded }) => isEmbedded).map(({ id }) => id)).toEqual(['embedded'])
  await expect(run(process.execPath, [command, 'inspect', 'embedded-mamba'])).rejects.toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^format: .* does not contain halfbyte-mamba\.hbm; clone/),
  })
})

test('an old Node gets a one-sentence error, in syntax that it can parse', async () => {
  const launcher = await readFile(join(app.installed, 'dist/cli.js'), 'utf8')
  expect(launcher).not.toMatch(/=>|`|\b(?:const|let|class|async|await)\b|^(?:import|export)\s/m)
  const oldest = 22
  const tell = (node: string) => {
    let said = ''
    const stderr = { write: (text: string) => (said += text) }
    const process = { versions: { node }, stderr, exitCode: 0 }
    runInNewContext(launcher.replace(/import\(.*\)/, 'process.exitCode = 3'), { process })
    return { said, exitCode: process.exitCode }
  }
  const last = `${oldest - 1}.9.0`
  expect(tell(last)).toEqual({
    said: `unsupported: halfbyte needs Node ${oldest} or newer but runs under ${last}; install a newer Node\n`,
    exitCode: 1,
  })
  expect(tell('8.0.0').exitCode).toBe(1)
  expect(tell(`${oldest}.0.0`)).toEqual({ said: '', exitCode: 3 })
})

test('package managers that check `engines` install it under Node 20, with all its dependencies', async () => {
  const oldestOf = ({ engines }: { engines?: { node?: string } }) =>
    Number.parseInt(engines?.node?.replace(/^\D+/, '') ?? '0', 10)
  const dependencies = Object.keys(manifest['dependencies'] as object)
  expect(dependencies).toEqual(['@huggingface/tokenizers', 'comlink'])
  expect(oldestOf(manifest)).toBe(20)
  for (const name of dependencies) {
    const own = JSON.parse(await readFile(join(ROOT, 'node_modules', name, 'package.json'), 'utf8'))
    expect(own.dependencies ?? {}, name).toEqual({})
    expect(oldestOf(own), name).toBeLessThanOrEqual(20)
  }
})

/** Two files that must compile, and a file that must not. */
const PROGRAMS = ['consumer.mts', 'entries.mts', 'misuse.mts']

/** A program that imports the types of every entry, except those that need a framework's types. */
const entries = () =>
  Object.keys(manifest.exports)
    .filter((name) => typeof manifest.exports[name] === 'object' && !/widget\/./.test(name))
    .map((name) => `import type {} from '${name.replace('.', 'halfbyte')}'\n`)
    .join('')

// `esnext` declares the disposal types; the package declares them for older libs.
test.each([
  ['the newest', 'bundler', 'esnext', 'esnext,dom,dom.iterable,dom.asynciterable'],
  ['the newest', 'nodenext', 'nodenext', 'es2022,dom,dom.iterable,dom.asynciterable'],
  ['the newest', 'bundler', 'esnext', 'es2020,dom'],
  ['the oldest', 'bundler', 'esnext', 'es2022,dom,dom.iterable'],
  ['the oldest', 'nodenext', 'nodenext', 'es2020,dom'],
])(
  'a strict consumer compiles with %s TypeScript, %s resolution, module %s and lib %s',
  async (age, resolution, module, lib) => {
    const isOldest = age === 'the oldest'
    const { stdout: version } = await run(process.execPath, [isOldest ? OLDEST : NEWEST, '--version'])
    expect(version).toMatch(isOldest ? /^Version 5\.0\./ : /^Version (?!5\.)/)
    for (const name of PROGRAMS) {
      const isEntries = name === 'entries.mts'
      const text = isEntries ? entries() : await readFile(join(ROOT, 'e2e/types', name), 'utf8')
      // `await using` came with TypeScript 5.2.
      await writeFile(join(app.folder, name), isOldest ? text.replace('await using', 'const') : text)
    }
    const flags = `--noEmit --strict --exactOptionalPropertyTypes --noUncheckedIndexedAccess --skipLibCheck false --target ${lib.slice(0, 6)} --lib ${lib} --moduleResolution ${resolution} --module ${module}`
    const asked = [isOldest ? OLDEST : NEWEST, ...flags.split(' '), ...PROGRAMS]
    const compiled = run(process.execPath, asked, { cwd: app.folder })
    await expect(compiled.catch(({ stdout }) => stdout)).resolves.toMatchObject({ stdout: '' })
  },
)
