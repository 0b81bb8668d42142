// The width of comments. In: the C, TypeScript and JavaScript files of the repository. Out: comment lines
// that are wider than the format allows. Biome breaks lines of code, but not comments.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
/** Folders without source, in addition to those whose names begin with a dot. */
const SKIPPED = ['build', 'dist', 'node_modules']
/** Columns of a line. */
const C_WIDTH = 120
const SCRIPT_WIDTH = 110

function* filesIn(folder: string): Generator<string> {
  for (const entry of readdirSync(join(ROOT, folder), { withFileTypes: true })) {
    const path = folder === '' ? entry.name : `${folder}/${entry.name}`
    if (entry.isFile()) yield path
    else if (entry.isDirectory() && !entry.name.startsWith('.') && !SKIPPED.includes(entry.name))
      yield* filesIn(path)
  }
}

function widthOf(path: string): number | undefined {
  if (/\.[ch]$/.test(path)) return C_WIDTH
  return /\.[cm]?[jt]sx?$/.test(path) ? SCRIPT_WIDTH : undefined
}

/** Line numbers of comment lines, and of code with a trailing comment, that are wider than `width`. */
function wideComments(text: string, width: number): number[] {
  let inComment = false
  return text.split('\n').flatMap((line, index) => {
    const hasComment = inComment || /^\s*\/[/*]|[\s;{}(),]\/\/ |\s\/\* .*\*\/$/.test(line)
    if (inComment ? line.includes('*/') : /^\s*\/\*/.test(line)) inComment = !/\*\/\s*$/.test(line)
    return hasComment && line.length > width ? [index + 1] : []
  })
}

test('comment lines are found in both languages', () => {
  const long = 'x'.repeat(20)
  const comments = [
    `// ${long}`,
    `/** ${long} */`,
    `/* ${long}`,
    ` * ${long}`,
    ` ${long} */`,
    `f() // ${long}`,
  ]
  expect(wideComments(comments.join('\n'), 20)).toEqual([1, 2, 3, 4, 5, 6])
  expect(wideComments(`/* one\n * two */\nconst code = '${long}'\n// ${long}`, 30)).toEqual([])
})

test('comment lines are no wider than the format', () => {
  const wide = [...filesIn('')].flatMap((path) => {
    const width = widthOf(path)
    if (width === undefined) return []
    return wideComments(readFileSync(join(ROOT, path), 'utf8'), width).map((line) => `${path}:${line}`)
  })
  expect(wide).toEqual([])
})
