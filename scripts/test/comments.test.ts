// Comments in the source. In: every source file tracked by git. Out: a failure for each file name in a
// comment that does not exist in the repository.
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const FILES = execFileSync('git', ['ls-files'], { cwd: ROOT, encoding: 'utf8' }).trim().split('\n')
const SOURCES = FILES.filter(
  (path) => /\.(?:ts|mts|mjs|c|h|py)$/.test(path) && path !== 'scripts/test/comments.test.ts',
)

/** A line or block comment in TypeScript or C, or a Python comment. The `//` in a URL does not count. */
const COMMENT = { c: /\/\*[\s\S]*?\*\/|(?<![:'"`\w\\/])\/\/.*$/gm, py: /(?<=^|\s)#.*$/gm }
const NAME = /(?<![\w.$*{}<>/-])(?:[\w@.-]+\/)*[\w-][\w.-]*\.(?:ts|mts|mjs|c|h|py|md)\b(?![\w(/*-])/g

/** Files of other projects that comments cite, and files that a build writes. */
const ELSEWHERE = new Set([
  'src/libImaging/Resample.c',
  'convert_lora_to_gguf.py',
  'ggml-quants.c',
  'libexec/emcc.py',
  'modeling_rope_utils.py',
  'preprocess_wikitext.py',
  'build/generated/kernels.h',
  'kernels.h',
  'index.d.ts',
  'embedder.d.ts',
  'readme.md',
  'turbojpeg.h',
])
/** Placeholders, as in `corpus/TARGET.ts`. */
const PLACEHOLDER = /(?:^|\/)[A-Z]+\./

/** File names in comments that are not in `files`. */
function unknownNames(path: string, text: string, files: readonly string[]): string[] {
  const comments = text.match(path.endsWith('.py') ? COMMENT.py : COMMENT.c) ?? []
  const names = comments.flatMap((comment) => comment.match(NAME) ?? [])
  const isKnown = (name: string) => {
    if (ELSEWHERE.has(name) || PLACEHOLDER.test(name)) return true
    const last = name.replace(/^(?:\.{1,2}\/)+/, '')
    return files.some((file) => file === last || file.endsWith(`/${last}`))
  }
  return names.filter((name) => !isKnown(name)).map((name) => `${path}: ${name}`)
}

test('file names in comments exist', () => {
  const wrong = SOURCES.flatMap((path) => unknownNames(path, readFileSync(join(ROOT, path), 'utf8'), FILES))
  expect(wrong).toEqual([])
})

test('the check finds a file name that does not exist', () => {
  const text = "const a = 'x.ts' // see b.ts\n/* and c/d.h, https://host.example/e.ts */"
  expect(unknownNames('a.ts', text, ['src/b.ts'])).toEqual(['a.ts: c/d.h'])
  expect(unknownNames('a.py', 'x = "#"  # as f.py has it', [])).toEqual(['a.py: f.py'])
})
