// Facts in the documents. In: every Markdown file tracked by git, the source. Out: a failure for a file, line
// or link that does not exist, and for counts, codes and names that differ from the source.
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { dirname, join, posix } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { FAMILIES } from '../../src/core/arch/families.ts'
import { SAMPLER_DEFAULTS } from '../../src/core/generate/sampler/sampler-options.ts'
import { CATALOGUE } from '../../src/core/store/catalogue.ts'
import { PASSING } from '../../src/core/store/download/retry.ts'
import { OLDEST_OPSET } from '../../src/network/onnx/older-forms.ts'
import { PASSES } from '../../src/network/onnx/passes.ts'
import { EXIT_CODES } from '../../src/tools/cli/terminal/failure.ts'
import { TARGETS } from '../../test/fuzz/target.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const FILES = execFileSync('git', ['ls-files'], { cwd: ROOT, encoding: 'utf8' }).trim().split('\n')
const KNOWN = new Set([...FILES, ...FILES.flatMap(foldersOf)])
const DOCUMENTS = FILES.filter((path) => path.endsWith('.md') && !path.startsWith('demo/models/'))
/** A path that begins with one of these folders belongs to this repository. */
const TOP = new Set(FILES.filter((path) => path.includes('/')).map((path) => path.split('/')[0] as string))
const SOURCE = /\w\.(?:ts|mts|mjs|c|h|py)$/
/** Files of lm-evaluation-harness and of GPTQ, which a guide cites as the source of its rules. */
const FOREIGN = /^lm_eval\/|^datautils\.py$/

function foldersOf(path: string): string[] {
  const parts = path.split('/').slice(0, -1)
  return parts.map((_, at) => parts.slice(0, at + 1).join('/'))
}

const read = (path: string) => readFileSync(join(ROOT, path), 'utf8')
const withoutBlocks = (text: string) => text.replace(/^```.*?^```/gms, '')
const lineCount = (path: string) => read(path).split('\n').length

/** A path as written in documents, optionally with lines; without blanks, patterns or placeholders. */
const PATH = /^([\w@.-]+(?:\/[\w@.-]+)*)\/?(?::(\d+)(?:-(\d+))?)?$/

/** Typical searches on the site, whose search matches words of its pages. */
const SOUGHT = [
  ...['Angular', 'React', 'Vue', 'Svelte', 'Next.js', 'Electron', 'browser extension'],
  ...[
    'CORS',
    'memory',
    'iPhone',
    'Safari',
    'offline',
    'service worker',
    'privacy',
    'WebGPU',
    'Content-Security-Policy',
  ],
  ...[
    'wllama',
    'transformers.js',
    'web-llm',
    'Prompt API',
    'unit tests',
    'tool',
    'JSON Schema',
    'embeddings',
  ],
]

/** Placeholders, as in `corpus/TARGET.ts`. */
const PLACEHOLDER = /(?:^|\/)[A-Z]+(?:\.[a-z]+|\/|$)/

/** Returns what is wrong with a name between backticks, if it names a file. */
function wrongName(name: string, folder: string): string[] {
  const [, path, from, to] = PATH.exec(name) ?? []
  if (path === undefined || FOREIGN.test(path) || PLACEHOLDER.test(path)) return []
  const isOfTree = path.includes('/') && TOP.has(path.split('/')[0] as string)
  if (!isOfTree && !SOURCE.test(path)) return []
  const meant = [path, posix.join(folder, path), `src/${path}`].find((each) => KNOWN.has(each))
  // A file may also be named by its last path parts if the surrounding text names the folder.
  const found = meant ?? (isOfTree ? undefined : FILES.find((file) => file.endsWith(`/${path}`)))
  if (found === undefined) return [`${name} does not exist`]
  const last = Number(to ?? from ?? 0)
  return last > 0 && last > lineCount(found) ? [`${name}: the file has ${lineCount(found)} lines`] : []
}

/** Dead links within the repository; the site's own test checks anchors. */
function wrongLinks(text: string, folder: string): string[] {
  const targets = [...text.matchAll(/\]\((?![a-z]+:)([^)#\s]+)/g)].map(([, target]) => target as string)
  return targets.filter((target) => !KNOWN.has(posix.join(folder, target).replace(/\/$/, '')))
}

/** Links such as [`send`](src/engine/api/session.ts) whose file does not declare that name. */
function undeclared(text: string, folder: string): string[] {
  const links = [...text.matchAll(/\[`(\w+)`\]\(([^)#\s]+\.(?:ts|c|h))\)/g)].map(([, ...link]) => link)
  return links
    .filter(([, target]) => KNOWN.has(posix.join(folder, target as string)))
    .filter(([name, target]) => {
      const typescript = `(?:function\\*?|class|const|interface|type) ${name}\\b`
      // A line for the build declares a kernel; a type, a name and an opening parenthesis declare a C
      // function.
      const c = `kernel: OP_\\w+ ${name}\\b|^[a-z_].*\\b${name}\\([^;]*$`
      const form = new RegExp(target?.endsWith('.ts') ? typescript : c, 'm')
      return !form.test(read(posix.join(folder, target as string)))
    })
    .map(([name, target]) => `${target} does not declare ${name}`)
}

describe.each(DOCUMENTS)('%s', (document) => {
  const text = withoutBlocks(read(document))
  const folder = dirname(document)

  test('names only files and lines that exist', () => {
    const names = [...text.matchAll(/`([^`\n]+)`/g)].map(([, name]) => name as string)
    expect(names.flatMap((name) => wrongName(name, folder))).toEqual([])
  })

  test('links only to files that exist', () => {
    expect(wrongLinks(text, folder)).toEqual([])
  })

  test('links functions and classes to the files that declare them', () => {
    expect(undeclared(text, folder)).toEqual([])
  })

  test('runs TypeScript with the pinned Node, which strips types', () => {
    const commands = [...read(document).matchAll(/(\w+ )?\bnode ((?:\w[\w-]*\/)+[\w-]+\.ts)/g)]
    expect(commands.filter(([, before]) => before !== 'npx ').map(([command]) => command)).toEqual([])
  })

  test('shows only models that the package contains', () => {
    const models = [...read(document).matchAll(/[/ ]models\/(halfbyte-\w+\.hbm)/g)].map(([, name]) => name)
    expect(models.filter((name) => !KNOWN.has(`demo/models/${name}`))).toEqual([])
  })
})

test('the check finds files, lines and names that do not exist', () => {
  expect(wrongName('src/core/base/nothing.ts', '.')).toHaveLength(1)
  expect(wrongName('nothing-of-the-kind.ts', 'docs')).toHaveLength(1)
  expect(wrongName('src/layers.test.ts:100000', '.')).toHaveLength(1)
  expect(wrongName('src/layers.test.ts:2', '.')).toEqual([])
  expect(wrongLinks('[a](nowhere.md) [b](../README.md#x) [c](https://host.example/d)', 'docs')).toEqual([
    'nowhere.md',
  ])
  expect(undeclared('[`posix`](documents.test.ts) [`KNOWN`](documents.test.ts)', 'scripts/test')).toEqual([
    'documents.test.ts does not declare posix',
  ])
  const kernels = '[`rmsnorm`](rmsnorm.c) [`nothing`](rmsnorm.c) [`rows_of`](quantize.c)'
  expect(undeclared(kernels, 'wasm/rows')).toHaveLength(2)
})

test('the tour follows a token through at least twenty files', () => {
  const files = [...read('docs/tour.md').matchAll(/\[`\w+`\]\(\.\.\/([^)]+)\)/g)].map(([, file]) => file)
  expect(new Set(files).size).toBeGreaterThanOrEqual(20)
})

describe('the six walks', () => {
  const page = read('docs/walks.md')
  const walks = page
    .split('\n## ')
    .slice(1)
    .map((section) => {
      const [title = ''] = section.split('\n')
      const files = [...section.matchAll(/^\d+\. `([^`]+)`$/gm)].map(([, file]) => file as string)
      return { title, files }
    })

  test.each(walks)('$title', ({ title, files }) => {
    const changes = files.filter((file, at) => at > 0 && dirname(file) !== dirname(files[at - 1] as string))
    const [, most] = /at most (\d+) files$/.exec(title) ?? []
    expect(title).toContain(`: ${files.length} files, ${changes.length} folder change`)
    expect(files.length).toBeLessThanOrEqual(Number(most))
    expect(files.filter((file) => !KNOWN.has(file))).toEqual([])
  })

  test('there are six of them', () => {
    expect(walks).toHaveLength(6)
  })
})

test.each(SOUGHT)('a search for %s finds a page of the guide', (word) => {
  const guide = FILES.filter((path) => path.startsWith('docs/guide/')).map(read)
  expect(guide.some((text) => text.toLowerCase().includes(word.toLowerCase()))).toBe(true)
})

describe('numbers of the source', () => {
  const WORDS = ['', 'one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine', 'ten']
  const word = (count: number) => [...WORDS, 'eleven', 'twelve', 'thirteen', 'fourteen'][count]
  const flat = (path: string) => read(path).replaceAll(/\s+/g, ' ')

  test('README.md counts the small models and gives their sizes', () => {
    const sizes = CATALOGUE.map(({ sizeBytes }) => Math.round(sizeBytes / 1e6))
    const said = `one of ${word(CATALOGUE.length)} small open models by name, ${sizes[0]} to ${sizes.at(-1)} MB`
    expect(flat('README.md')).toContain(said)
  })

  test('README.md gives the size of the model in the package', () => {
    const bytes = readFileSync(join(ROOT, 'demo/models/halfbyte-stories.hbm')).byteLength
    expect(flat('README.md')).toContain(`// ${(bytes / 1e6).toFixed(1)} MB, part of the package`)
  })

  test('README.md counts the options of the sampler', () => {
    const count = Object.keys(SAMPLER_DEFAULTS).length + 2
    expect(Number(/has up to (\d+) options/.exec(flat('README.md'))?.[1])).toBeGreaterThanOrEqual(count)
  })

  test('README.md has the exit codes', () => {
    const [sentence = ''] = /The exit code is [^.]*\./.exec(flat('README.md')) ?? []
    expect([...sentence.matchAll(/\d+/g)].map(Number)).toEqual(Object.values(EXIT_CODES))
  })

  test('loading.md lists the statuses that are retried', () => {
    const [sentence = ''] = /the statuses [^.]* are retried/.exec(flat('docs/guide/loading.md')) ?? []
    expect([...sentence.matchAll(/\d+/g)].map(Number)).toEqual([...PASSING])
  })

  test('fuzzing.md has a row for every target', () => {
    const [, table = ''] = /## Targets\n(.*?)\n\n[^|\n]/s.exec(read('docs/internals/fuzzing.md')) ?? []
    const rows = [...table.matchAll(/^\| `(\w+)` \|/gm)].map(([, name]) => name)
    expect(rows.sort()).toEqual([...TARGETS].sort())
  })

  test('fuzzing.md counts the families that it generates headers for', () => {
    expect(flat('docs/internals/fuzzing.md')).toContain(`headers of ${FAMILIES.length} families`)
  })

  test('onnx.md lists the passes, files.md has the oldest opset', () => {
    const page = flat('docs/internals/onnx.md')
    const [, list = ''] = /until none changes the graph: ([^.]*)\./.exec(page) ?? []
    expect(list.split(', ')).toHaveLength(PASSES.length)
    expect(flat('docs/guide/files.md')).toContain(`(opset ${OLDEST_OPSET} or later)`)
  })

  test('soak.md counts the loaded models and the engines that stay open', () => {
    const page = flat('docs/internals/soak.md')
    const [, models = ''] = /\n {2}return \[\n(.*?)\n {2}\]\n/s.exec(read('test/soak/models.ts')) ?? []
    const [, resident = ''] = /RESIDENTS[^=]*= \[(.*?)\]/s.exec(read('test/soak/run.ts')) ?? []
    const count = models.match(/^ {4}(?:\{|await )/gm)?.length ?? 0
    expect(page).toContain(`rounds, ${word(count)} tiny models are loaded`)
    const stay = word(resident.match(/'\w[\w-]*'/g)?.length ?? 0) ?? ''
    expect(page.toLowerCase()).toContain(`${stay} engines stay`)
  })

  test('recipes.md gives the same numbers of files in its text as in its tables', () => {
    const page = read('docs/internals/recipes.md')
    const rows = (title: string) => {
      const [, section = ''] = page.split(`## A new ${title}\n`)
      return (
        section
          .split('\n## ')[0]
          ?.split('To compare it')[0]
          ?.match(/^\| \d+ \|/gm) ?? []
      ).length
    }
    for (const recipe of ['op', 'weight format', 'family', 'sampler stage']) {
      const counted = new RegExp(`^\\| ${recipe}\\b[^|]*\\|[^|]*\\| (\\d+) \\|`, 'm').exec(page)?.[1]
      expect([recipe, rows(recipe)]).toEqual([recipe, Number(counted)])
    }
    const most = /MAX_FILES = (\d+)/.exec(read('scripts/test/folders.test.ts'))?.[1]
    expect(page).toContain(`excluding data (a test) | 61 | at most ${most} |`)
  })

  test.each(['ARCHITECTURE.md', 'docs/internals/glossary.md', 'docs/internals/arm.md'])(
    '%s names the sparse formats with products',
    (path) => {
      const files = FILES.filter((file) => /^wasm\/sparse\/sparse-\w+\.c$/.test(file))
      const formats = files.filter((file) => /^\/\* forms: .*\bproducts\b/m.test(read(file)))
      const names = formats.map((file) => `\`${/sparse-(\w+)\.c/.exec(file)?.[1]}\``)
      expect(names.length).toBeGreaterThan(0)
      expect(flat(path)).toMatch(new RegExp(`dense kernels[^.;]*, those of ${names.join(' and ')}`))
    },
  )
})

test('commands.md lists every command that developers run by hand', () => {
  const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> }
  const commands = [...read('docs/internals/commands.md').matchAll(/`(?:npm (?:run )?)?([\w:-]+)/g)]
  const shown = new Set(commands.map(([, name]) => name))
  const names = Object.keys(scripts).filter((name) => !/^(?:pre|post)/.test(name))
  expect(names.filter((name) => !shown.has(name))).toEqual([])
})
