// The source maps of the npm package. In: the packed package. Out: whether a debugger finds each source
// position.
import { execFile } from 'node:child_process'
import { readdir, readFile } from 'node:fs/promises'
import { join, posix } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { eachMapping, TraceMap } from '@jridgewell/trace-mapping'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type PackedApp, packedApp } from '../../e2e/packed/app.ts'

const run = promisify(execFile)
const ROOT = fileURLToPath(new URL('../..', import.meta.url))

interface SourceMap {
  readonly version: number
  readonly sources: readonly string[]
  readonly sourcesContent: readonly (string | null)[]
}

let app: PackedApp
/** Paths from the package's folder. */
let scripts: string[]
let maps: string[]

beforeAll(async () => {
  app = await packedApp()
  const found = await readdir(join(app.installed, 'dist'), { recursive: true })
  const files = found.map((name) => `dist/${name.replaceAll('\\', '/')}`).sort()
  scripts = files.filter((name) => name.endsWith('.js'))
  maps = files.filter((name) => name.endsWith('.map'))
})

afterAll(() => app?.remove())

const textOf = (path: string) => readFile(join(app.installed, path), 'utf8')
const mapOf = async (path: string): Promise<SourceMap> => JSON.parse(await textOf(path))

/** The path of a script's map; undefined if it has none. */
const namedMap = (path: string, script: string): string | undefined => {
  const [, name] = /\n\/\/# sourceMappingURL=(.*)\n?$/.exec(script) ?? []
  return name && posix.join(posix.dirname(path), name)
}

test('scripts name maps that the package contains, unless they only re-export', async () => {
  const named = new Set<string>()
  for (const path of scripts.filter((name) => name !== 'dist/cli.js')) {
    // The bundler's own helpers have no source.
    if (path.startsWith('dist/rolldown-runtime-')) continue
    const script = await textOf(path)
    const map = namedMap(path, script)
    if (path.endsWith('/pdf.worker.js')) expect(map).toBeUndefined()
    else if (map === undefined) expect(script.replaceAll(/^(import|export) .*;$|\s/gm, ''), path).toBe('')
    else named.add(map)
  }
  expect([...named].sort()).toEqual(maps)
  expect(maps).toContain('dist/workers/engine.worker.js.map')
  expect(maps).toContain('dist/cdn/workers/engine.worker.js.map')
})

test('maps contain the text of each source, with its path', async () => {
  for (const path of maps) {
    const { version, sources, sourcesContent } = await mapOf(path)
    expect(version).toBe(3)
    expect(sources.length, path).toBeGreaterThan(0)
    for (const [index, source] of sources.entries()) {
      const place = posix.join(posix.dirname(path), source)
      expect(place, path).toMatch(/^(src|workers|node_modules)\//)
      const text = await readFile(join(ROOT, place), 'utf8')
      expect(
        sourcesContent[index] === text,
        `${path} differs from ${place} in this folder; npm run build writes it again`,
      ).toBe(true)
    }
  }
})

/** Letters, digits and spaces after a quote. */
const literal = (text: string, column: number): string | undefined =>
  /^['"`]([\w ]{4,})/.exec(text.slice(column, column + 40))?.[1]

test.each([
  ['the part that asks the worker', /^dist\/engine-[\w-]+\.js$/],
  ['the part that runs in a worker', /^dist\/service-[\w-]+\.js$/],
  ['the command', /^dist\/command\.js$/],
  ['the library without a bundler', /^dist\/cdn\/halfbyte\.js$/],
  ['the widget without a bundler', /^dist\/cdn\/widget\.js$/],
  ['the worker without a bundler', /^dist\/cdn\/workers\/engine\.worker\.js$/],
  ['a reader next to it', /^dist\/cdn\/readers\/onnx\.js$/],
])('each literal of %s is found at its line and column in the source', async (_what, name) => {
  const [path] = scripts.filter((script) => name.test(script)) as [string]
  const script = await textOf(path)
  const file = namedMap(path, script) as string
  const map = await mapOf(file)
  const lines = script.split('\n')
  const sources = new Map(map.sources.map((source, at) => [source, map.sourcesContent[at]?.split('\n')]))
  let found = 0
  eachMapping(new TraceMap(JSON.stringify(map)), (segment) => {
    if (segment.source === null) return
    const written = literal(lines[segment.generatedLine - 1] ?? '', segment.generatedColumn)
    const line = sources.get(segment.source)?.[segment.originalLine - 1] ?? ''
    const source = literal(line, segment.originalColumn)
    if (written === undefined || source === undefined) return
    // The bundler may have appended a constant.
    expect(written.startsWith(source), `${segment.source}:${segment.originalLine} ${written}`).toBe(true)
    found++
  })
  expect(found).toBeGreaterThan(40)
})

test('Node shows the source line where the installed package throws', async () => {
  const program = `import { Engine } from 'halfbyte'\nawait Engine.load('embedded', { threads: 0 })`
  const failed = await run(
    process.execPath,
    ['--enable-source-maps', '--input-type=module', '--eval', program],
    {
      cwd: app.folder,
    },
  ).catch(({ stderr }: { stderr: string }) => stderr)
  const [, place, line] = /\/halfbyte\/(src\/[\w/.-]+\.ts):(\d+):\d+/.exec(String(failed)) ?? []
  expect(place, String(failed)).toBeDefined()
  const source = await readFile(join(ROOT, place as string), 'utf8')
  expect(source.split('\n')[Number(line) - 1]).toMatch(/HalfbyteError\(|refuse|throw/)
})
