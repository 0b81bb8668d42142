// The manual's code. In: its TypeScript and JavaScript blocks, including HTML module scripts, and the
// declarations in dist. Out: a failure for each block that does not compile, with its page and line.
import { execFile } from 'node:child_process'
import { cp, mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { BLOCKS, type Block, blocksOf, ROOT, scriptsOf } from './blocks.ts'

const TSC = join(ROOT, 'node_modules/typescript/bin/tsc')
const SCRIPTS = BLOCKS.flatMap((block) => (block.language === 'html' ? scriptsOf(block) : block))
/** Declarations that the manual gives its readers hold for all blocks. */
const isDeclaration = ({ text }: Block) => text.startsWith('declare module')
const DECLARATIONS = BLOCKS.filter(isDeclaration)
const TYPED = BLOCKS.filter((block) => block.language === 'ts' && !isDeclaration(block))
const UNTYPED = SCRIPTS.filter(({ language }) => /^jsx?$/.test(language))

/** A program made of blocks: its options, and the declarations that blocks assume. */
const STRICT = { options: { strict: true }, given: ['given.d.ts'] }
/** JavaScript blocks have no types, so only their calls and property reads are checked. */
const LOOSE = {
  options: { checkJs: true, strict: false, noImplicitReturns: false },
  given: ['given.d.ts', 'loose.d.ts'],
}

/** URLs from which pages import the package without a bundler. */
const ADDRESSES = {
  '/halfbyte/halfbyte.js': ['../../../dist/index.d.ts'],
  '/halfbyte/openai.js': ['../../../dist/openai.d.ts'],
}

/** The name of a block's file, without its extension. */
const stemOf = ({ page, line }: Block) => `${page.replaceAll(/\W/g, '-')}-${line}`

/** Compiles blocks as modules of one program. Resolves to the compiler's errors, by page and line. */
async function compiled(
  name: string,
  blocks: readonly Block[],
  { options, given }: typeof STRICT | typeof LOOSE,
): Promise<string[]> {
  // A folder inside the repository, where the package can resolve itself by name.
  const folder = join(ROOT, 'build/guide-code', name)
  await rm(folder, { recursive: true, force: true })
  await mkdir(join(folder, 'halfbyte'), { recursive: true })
  for (const file of given) await cp(join(import.meta.dirname, file), join(folder, file))
  for (const block of DECLARATIONS) await writeFile(join(folder, `${stemOf(block)}.d.ts`), block.text)
  await writeFile(join(folder, 'halfbyte/halfbyte.d.ts'), "export * from 'halfbyte'\n")
  const files = blocks.map((block) => ({ file: `${stemOf(block)}.${block.language}`, page: block.page }))
  // The lines of a file have the same numbers as in its page.
  for (const [index, { line, text }] of blocks.entries())
    await writeFile(join(folder, files[index]!.file), `${'\n'.repeat(line - 1)}${text}\nexport {}\n`)
  const config = {
    extends: '../../../tsconfig.json',
    compilerOptions: {
      ...{ noUncheckedIndexedAccess: false, noUnusedLocals: false, noUnusedParameters: false },
      ...{ allowJs: true, jsx: 'preserve', rootDir: '../../..', types: ['node'], paths: ADDRESSES },
      ...options,
    },
    include: ['*'],
    exclude: [],
  }
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify(config))
  const { stdout } = await promisify(execFile)(process.execPath, [TSC, '-p', '.', '--pretty', 'false'], {
    cwd: folder,
  }).catch((failure) => failure)
  const lines = stdout.split('\n').filter((line: string) => line !== '')
  return lines.map((line: string) => {
    const found = files.find(({ file }) => line.startsWith(file))
    return found === undefined ? line : line.replace(found.file, found.page)
  })
}

test('TypeScript blocks compile in a strict program', async () => {
  expect(TYPED.length).toBeGreaterThan(20)
  expect(await compiled('ts', TYPED, STRICT)).toEqual([])
})

test('JavaScript blocks call functions that exist', async () => {
  expect(UNTYPED.length).toBeGreaterThan(15)
  expect(await compiled('js', UNTYPED, LOOSE)).toEqual([])
})

test('the check finds wrong options, names and imports, with their line', async () => {
  const page = [
    '```js',
    "await Engine.load('model.gguf', { thread: 2 })",
    'session.ask(engine.model.title)',
    '```',
    '```js',
    "import { Engines } from 'halfbyte'",
    '```',
  ]
  const wrong = blocksOf('page.md', page.join('\n'))
  const found = await compiled('wrong', wrong, LOOSE)
  expect(found.map((line) => line.replace(/:.*/, ''))).toEqual([
    'page.md(2,35)',
    'page.md(3,9)',
    'page.md(3,26)',
    'page.md(6,10)',
  ])
})
