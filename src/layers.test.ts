// Layers. In: the import lines and platform names of every file in src/. Out: a failure for each that breaks
// the order.
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve, sep } from 'node:path'
import { describe, expect, test } from 'vitest'

/**
 * Folders of src/ by level, lowest first; a file may import from its own level and from lower ones. A file
 * belongs to the longest listed path that contains it, or to its own entry.
 */
const LEVELS: readonly (readonly string[])[] = [
  ['core/base'],
  ['core/abi'],
  ['core/constrain', 'core/formats', 'core/store', 'core/text', 'core/graph'],
  ['core/arch'],
  ['core/vision'],
  ['core/weights'],
  ['core/runtime'],
  ['core/state'],
  ['core/generate'],
  ['engine/score'],
  ['engine'],
  ['engine/api'],
  ['index.ts'],
  ['network/onnx'],
  ['network/compile'],
  ['network'],
  ['encoders'],
  ['adapters'],
  ['tools/evaluate', 'tools/shrink', 'tools/tune'],
  ['ui/words'],
  ['ui/chat', 'ui/assist'],
  ['ui/documents'],
  ['ui/widget', 'tools/cli'],
  ['node.ts', 'node-embedder.ts', 'node-network.ts'],
]

/** Names that only some folders or files may use, and the patterns that find them. */
const PLATFORM: readonly { name: string; pattern: RegExp; allowed: readonly string[] }[] = [
  // Image decoders are loaded only outside browsers.
  { name: 'node:*', pattern: /['"]node:/, allowed: ['tools/cli', 'engine/load/vision/decode'] },
  {
    name: 'WebAssembly',
    pattern: /\bWebAssembly\./,
    allowed: ['core/runtime', 'network/compile/run', 'engine', 'tools/shrink', 'tools/cli/node-host.ts'],
  },
  {
    name: 'Worker',
    pattern: /\bnew (?:Shared)?Worker\b/,
    allowed: ['core/runtime', 'engine', 'tools/cli/node-host.ts'],
  },
  { name: 'fetch', pattern: /(?<![.\w])fetch\(/, allowed: ['core/store', 'engine/browser-host.ts'] },
  // Only core/formats/names/named-files.ts may turn names from files into addresses.
  {
    name: 'new URL',
    pattern: /\bnew URL\(/,
    allowed: [
      'core/formats/names/named-files.ts',
      'core/store/hub.ts',
      'core/store/open-address.ts',
      'engine/browser-host.ts',
      'engine/wire',
      'engine/load/open/open-any.ts',
      'engine/load/vision/decode',
      'engine/api/request/load-request.ts',
      'engine/api/interrupted.ts',
      'adapters/openai-server/fetch.ts',
      // The `$id`s of a schema are names in the form of addresses, and are never fetched.
      'core/constrain/schema/references.ts',
      'ui/widget',
      'tools/cli',
    ],
  },
  // Only locations from a page or a user are unchecked.
  {
    name: 'givenPlace',
    pattern: /\bgivenPlace\(/,
    allowed: ['engine/api/request/load-request.ts', 'core/store/address.ts', 'tools/cli'],
  },
  {
    name: 'as Place, as InnerPath',
    pattern: /\bas (?:Place|InnerPath)\b/,
    allowed: ['core/formats/names/named-files.ts'],
  },
  {
    name: 'navigator.storage',
    pattern: /\bnavigator\.storage\b/,
    allowed: ['core/store', 'engine/api/stored.ts'],
  },
  {
    name: 'the DOM',
    pattern: /(?<![.\w])(?:document|window)\??\.|\bextends HTMLElement\b/,
    allowed: ['ui/chat', 'ui/widget'],
  },
]

interface Source {
  /** Path below src/, with forward slashes. */
  readonly path: string
  readonly text: string
}

const SRC = import.meta.dirname
/** Spelled so that no example below counts as a path that leads out of the repository. */
const UP = '../'
const slashed = (path: string) => path.split(sep).join('/')
const NAMED = new Set(LEVELS.flat())
/** The longest listed path that contains a file; its top folder if there is none. */
function folderOf(path: string): string {
  const parts = path.split('/')
  const places = parts.map((_, at) => parts.slice(0, parts.length - at).join('/'))
  return places.find((place) => NAMED.has(place)) ?? (parts[0] as string)
}
const levelOf = (path: string) => LEVELS.findIndex((folders) => folders.includes(folderOf(path)))

function readSources(): Source[] {
  return readdirSync(SRC, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts') && !/\.test\.ts$|(^|[\\/])testing[\\/]/.test(path))
    .map((path) => ({ path: slashed(path), text: readFileSync(join(SRC, path), 'utf8') }))
}

/** The source without its comments; a `//` after a colon inside a string is part of an address and stays. */
const code = (text: string) => text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/(^|[^:'"`])\/\/.*$/gm, '$1')

const importsOf = (text: string) =>
  [...text.matchAll(/(?:\bfrom|\bimport)\s*\(?\s*['"]([^'"]+)['"]/g)].map((match) => match[1] as string)

/** Paths below src/ that a file imports, including types; they begin with `..` outside src/. */
const targetsOf = ({ path, text }: Source) =>
  importsOf(code(text))
    .filter((name) => name.startsWith('.'))
    .map((name) => slashed(relative(SRC, resolve(SRC, dirname(path), name))))

function wrongImports(sources: readonly Source[]): string[] {
  return sources.flatMap((source) =>
    targetsOf(source).flatMap((target) => {
      if (levelOf(source.path) < 0) return [`${source.path} is in no layer`]
      if (levelOf(target) < 0) return [`${source.path} imports ${target}, which is in no layer`]
      return levelOf(target) > levelOf(source.path)
        ? [`${source.path} imports ${target}, a layer above it`]
        : []
    }),
  )
}

/** Cycles in a graph, each as the path that closes it. */
function circles(edges: ReadonlyMap<string, readonly string[]>): string[] {
  const found: string[] = []
  const done = new Set<string>()
  const visit = (node: string, path: readonly string[]) => {
    const at = path.indexOf(node)
    if (at >= 0) found.push([...path.slice(at), node].join(' -> '))
    if (at >= 0 || done.has(node)) return
    for (const next of edges.get(node) ?? []) visit(next, [...path, node])
    done.add(node)
  }
  for (const node of edges.keys()) visit(node, [])
  return found
}

const fileCircles = (sources: readonly Source[]) =>
  circles(new Map(sources.map((source) => [source.path, targetsOf(source)])))

function folderCircles(sources: readonly Source[]): string[] {
  const edges = new Map<string, string[]>()
  for (const source of sources) {
    const from = folderOf(source.path)
    const targets = targetsOf(source)
      .map(folderOf)
      .filter((to) => to !== from)
    edges.set(from, [...new Set([...(edges.get(from) ?? []), ...targets])])
  }
  return circles(edges)
}

/** Cycles among folders with the same parent, at every depth below the layers. */
function roomCircles(sources: readonly Source[]): string[] {
  const edges = new Map<string, Set<string>>()
  for (const { path, text } of sources)
    for (const target of targetsOf({ path, text })) {
      const from = path.split('/').slice(0, -1)
      const to = target.split('/').slice(0, -1)
      const shared = from.findIndex((part, i) => part !== to[i])
      if (shared < 1 || shared >= to.length) continue
      const room = from.slice(0, shared + 1).join('/')
      edges.set(room, (edges.get(room) ?? new Set()).add(to.slice(0, shared + 1).join('/')))
    }
  return circles(new Map([...edges].map(([from, targets]) => [from, [...targets]])))
}

function wrongPlatform(sources: readonly Source[]): string[] {
  return sources.flatMap(({ path, text }) =>
    PLATFORM.filter(({ pattern, allowed }) => {
      const isAllowed = allowed.some((place) => path === place || path.startsWith(`${place}/`))
      return !isAllowed && pattern.test(code(text))
    }).map(({ name }) => `${path} uses ${name}`),
  )
}

describe('the source tree', () => {
  const sources = readSources()

  test('has files to check', () => {
    expect(sources.length).toBeGreaterThan(10)
  })
  test('imports only down the layers', () => {
    expect(wrongImports(sources)).toEqual([])
  })
  test('has no import cycles between files or between folders', () => {
    expect([...fileCircles(sources), ...folderCircles(sources), ...roomCircles(sources)]).toEqual([])
  })
  test('imports offline tools only in the command line', () => {
    const importers = sources.filter((source) =>
      targetsOf(source).some((target) => folderOf(target) === 'tools/shrink'),
    )
    expect(new Set(importers.map(({ path }) => folderOf(path)))).toEqual(
      new Set(['tools/shrink', 'tools/cli']),
    )
  })
  test('ships no test code', () => {
    const outside = sources.flatMap((source) =>
      targetsOf(source).filter((target) => /^\.\.\/test\//.test(target)),
    )
    expect(outside).toEqual([])
  })
  test('uses each platform only in the folders that may use it', () => {
    expect(wrongPlatform(sources)).toEqual([])
  })
})

test('ARCHITECTURE.md names the exceptions', () => {
  const page = readFileSync(join(SRC, '../ARCHITECTURE.md'), 'utf8')
  const [, section = ''] = /\n(No import goes up.*?)\n\n/s.exec(page) ?? []
  const named = [...section.matchAll(/`((?:\w+\/)+[\w-]+\.ts)`/g)].map(([, path]) => path)
  // Addresses occur in many places, which only the table above lists.
  const excepted = PLATFORM.filter(({ name }) => !/URL|Place/.test(name))
    .flatMap(({ allowed }) => allowed)
    .filter((place) => place.endsWith('.ts'))
  expect(named.filter((path) => path !== 'src/layers.test.ts').sort()).toEqual([...new Set(excepted)].sort())
})

/** Every file below `folder` except tests, as a path from src/. */
const readFolder = (folder: string): Source[] =>
  readdirSync(join(SRC, folder), { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts') && !/\.test\.ts$/.test(path))
    .map((path) => slashed(join(folder, path)))
    .map((path) => ({ path, text: readFileSync(join(SRC, path), 'utf8') }))

/**
 * Imports in `sources` from outside `home` that are not among `allowed`: files, or folders that end with a
 * slash.
 */
const reachedBeside = (sources: readonly Source[], home: string, allowed: readonly string[]): string[] =>
  sources.flatMap((source) =>
    targetsOf(source)
      .filter((target) => !/^\.\./.test(target))
      .filter((target) => ![home, ...allowed].some((place) => target === place || target.startsWith(place)))
      .map((target) => `${source.path} imports ${target}`),
  )

/** The contents of a room's README.md: the rooms that it imports, and its files that others may import. */
interface Head {
  readonly imports: readonly string[]
  /** Files by the room, or the folder next to src/, that may import them. */
  readonly open: ReadonlyMap<string, readonly string[] | 'every file'>
}

const ROOMS = readdirSync(SRC, { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name)
const namesIn = (text = '') => [...text.matchAll(/`([^`]+)`/g)].map(([, name]) => name as string)

function readHead(text: string): Head {
  const items = text
    .split(/\n(?=- )/)
    .slice(1)
    .map((item) => item.replace(/\s+/g, ' '))
  const open = items.flatMap((item) => {
    const [, places, files] = /^- Open to ([^:]*): (.*)$/.exec(item) ?? []
    const listed = files?.startsWith('every file') ? ('every file' as const) : namesIn(files)
    return namesIn(places).map((place) => [place, listed] as const)
  })
  return { imports: namesIn(items.find((item) => item.startsWith('- Imports'))), open: new Map(open) }
}

const roomOf = (path: string) =>
  path.startsWith('../') ? `${path.split('/')[1]}/` : path.includes('/') ? (path.split('/')[0] as string) : ''

/** Imports from one room to another that the two READMEs do not allow. */
function wrongDoors(sources: readonly Source[], heads: ReadonlyMap<string, Head>): string[] {
  return sources.flatMap((source) => {
    const from = roomOf(source.path)
    // The entry files next to the rooms re-export names.
    if (from === '') return []
    return targetsOf(source).flatMap((target) => {
      const to = roomOf(target)
      const head = heads.get(to)
      if (head === undefined || to === from) return []
      if (heads.get(from)?.imports.includes(to) === false)
        return [`${source.path} imports ${to}, which the head of ${from} does not name`]
      const open = head.open.get(from) ?? []
      const isOpen = open === 'every file' || open.includes(target.slice(to.length + 1))
      return isOpen ? [] : [`${source.path} imports ${target}, which is not open to ${from}`]
    })
  })
}

/** Permissions in a README that no import needs. */
function unusedDoors(sources: readonly Source[], heads: ReadonlyMap<string, Head>): string[] {
  const used = new Set(
    sources.flatMap((source) =>
      targetsOf(source).flatMap((target) => [
        `${roomOf(source.path)} ${target}`,
        `${roomOf(source.path)} ${roomOf(target)}`,
      ]),
    ),
  )
  return [...heads].flatMap(([room, { imports, open }]) => [
    ...imports.filter((other) => !used.has(`${room} ${other}`)).map((other) => `${room} imports no ${other}`),
    ...[...open].flatMap(([from, files]) =>
      (files === 'every file' ? [] : files)
        .filter((file) => !used.has(`${from} ${room}/${file}`))
        .map((file) => `${room}/${file} is open to ${from}, which does not import it`),
    ),
  ])
}

describe('the rooms', () => {
  const sources = [...readSources(), ...readFolder('../workers')]
  const heads = new Map(
    ROOMS.map((room) => [room, readHead(readFileSync(join(SRC, room, 'README.md'), 'utf8'))]),
  )

  test('are at most eight', () => {
    expect(ROOMS.length).toBeGreaterThan(4)
    expect(ROOMS.length).toBeLessThanOrEqual(8)
  })
  test('import each other only as their READMEs allow', () => {
    expect(wrongDoors(sources, heads)).toEqual([])
  })
  test('have no unused permissions in their READMEs', () => {
    expect(unusedDoors(sources, heads)).toEqual([])
  })
  test('are checked for forbidden files, unnamed rooms and lists that are too long', () => {
    const made = new Map([
      [
        'core',
        readHead('# core\n\n- Imports no other room.\n- Open to `ui`:\n  `base/a.ts`, `base/b.ts`.\n'),
      ],
      ['ui', readHead('# ui\n\n- Imports `core`.\n')],
    ])
    const file = (path: string, text: string): Source => ({ path, text })
    const closed = [file('ui/a.ts', "import '../core/base/a.ts'; import '../core/base/c.ts'")]
    expect(wrongDoors(closed, made)).toEqual(['ui/a.ts imports core/base/c.ts, which is not open to ui'])
    expect(wrongDoors([file('core/base/a.ts', `import '${UP}${UP}ui/a.ts'`)], made)).toHaveLength(1)
    expect(wrongDoors([file('../workers/a.ts', "import '../src/core/base/a.ts'")], made)).toHaveLength(1)
    expect(wrongDoors([file('index.ts', "import './core/base/c.ts'")], made)).toEqual([])
    expect(unusedDoors(closed, made)).toEqual(['core/base/b.ts is open to ui, which does not import it'])
  })
})

describe('what is built on the package', () => {
  const ENTRIES = [
    'index.ts',
    'encoders/embedder/embedder.ts',
    'network/api/network.ts',
    'ui/widget/index.ts',
    'ui/assist/index.ts',
  ]

  test('the page imports only the entries and the shared interface', () => {
    const page = readFolder('../demo')
    expect(page.length).toBeGreaterThan(50)
    expect(reachedBeside(page, '../demo/', [...ENTRIES, 'ui/chat/', 'ui/documents/', 'ui/words/'])).toEqual(
      [],
    )
  })
})

describe('the check itself', () => {
  const file = (path: string, text: string): Source => ({ path, text })

  test('detects an upward import, even if it is dynamic or of a type', () => {
    const upwards = [
      file('core/base/a.ts', "import { b } from '../graph/b.ts'"),
      file('core/arch/c.ts', `const d = await import('${UP}${UP}engine/api/d.ts')`),
      file('core/text/e.ts', "import type { F } from '../state/f.ts'"),
    ]
    expect(wrongImports(upwards)).toHaveLength(3)
    expect(wrongImports([file('engine/api/a.ts', `export { b } from '${UP}${UP}core/base/b.ts'`)])).toEqual(
      [],
    )
  })
  test('detects a folder that has no layer', () => {
    expect(wrongImports([file('utils/a.ts', "import '../core/base/b.ts'")])).toHaveLength(1)
    expect(wrongImports([file('engine/api/a.ts', `import '${UP}${UP}utils/b.ts'`)])).toHaveLength(1)
  })
  test('detects import cycles between files and between folders', () => {
    const files = [file('core/base/a.ts', "import './b.ts'"), file('core/base/b.ts', "import './a.ts'")]
    expect(fileCircles(files)).toEqual(['core/base/a.ts -> core/base/b.ts -> core/base/a.ts'])
    const types = [file('core/base/a.ts', "import type { B } from './b.ts'"), files[1] as Source]
    expect(fileCircles(types)).toHaveLength(1)
    const folders = [
      file('core/text/a.ts', "import '../formats/b.ts'"),
      file('core/formats/c.ts', "import '../text/d.ts'"),
    ]
    expect(fileCircles(folders)).toEqual([])
    expect(folderCircles(folders)).toEqual(['core/text -> core/formats -> core/text'])
  })
  test('detects a forbidden import among allowed ones', () => {
    const page = [
      file('../demo/src/a.ts', `import '${UP}${UP}src/core/base/b.ts'; import '${UP}${UP}src/ui/chat/c.ts'`),
    ]
    expect(reachedBeside(page, '../demo/', ['ui/chat/'])).toEqual(['../demo/src/a.ts imports core/base/b.ts'])
  })
  test('detects platform names in code but not in comments', () => {
    expect(wrongPlatform([file('base/a.ts', "import { readFile } from 'node:fs'")])).toHaveLength(1)
    expect(wrongPlatform([file('text/a.ts', 'await fetch(url); document.title = x')])).toHaveLength(2)
    expect(
      wrongPlatform([file('text/a.ts', '/* WebAssembly.compile */ // new Worker(url)\nthis.fetch(1)')]),
    ).toEqual([])
  })
})

test('test helpers import nothing from the tests that use them', () => {
  const folder = join(SRC, '../test/helpers')
  const names = readdirSync(folder).filter((name) => name.endsWith('.ts'))
  const outside = names.flatMap((name) =>
    importsOf(code(readFileSync(join(folder, name), 'utf8'))).filter(
      (path) => !/^(node:|\.\/[\w-]+\.ts$)/.test(path),
    ),
  )
  expect(names.length).toBeGreaterThan(2)
  expect(outside).toEqual([])
})
