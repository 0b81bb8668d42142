// Options in error messages. In: the messages in the source. Out: a failure for each one that recommends an
// option or a value that does not exist.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { checkedLoad } from './engine/api/request/load-options.ts'
import { newProgram } from './tools/cli/program.ts'

const SRC = import.meta.dirname
const filesIn = (folder: string) =>
  readdirSync(join(SRC, folder), { recursive: true, encoding: 'utf8' }).filter(
    (path) => path.endsWith('.ts') && !/\.test\.ts$|(^|[\\/])testing[\\/]/.test(path),
  )
const withoutComments = (text: string) =>
  text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/(^|[^:'"`])\/\/.*$/gm, '$1')

interface Sentence {
  readonly path: string
  readonly text: string
}

/** Strings with spaces, as written in the source. The formatter leaves each on its own line. */
const sentencesOf = (path: string, source: string): Sentence[] =>
  [...withoutComments(source).matchAll(/`[^`\n]*`|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'/g)]
    .map(([text]) => ({ path, text: text.slice(1, -1) }))
    .filter(({ text }) => /\w \w/.test(text))

const SENTENCES = filesIn('.').flatMap((path) => sentencesOf(path, readFileSync(join(SRC, path), 'utf8')))

/** Options of `Engine.load` and their values: `name: 'value'` or `name: 2`. */
const LOAD = /\b(threads|pool|weights|cache|build|contextLength|stateBytes): (?:\\?['"](\w+)\\?['"]|(\d+))/g

const wrongValues = ({ path, text }: Sentence): string[] =>
  [...text.matchAll(LOAD)].flatMap(([whole, name = '', word, number]) => {
    try {
      checkedLoad({ [name]: word ?? Number(number) }, 'onProgress')
      return []
    } catch {
      return [`${path}: ${whole} is refused`]
    }
  })

/** Flags of every command of the command line. */
function flagsOfCommands(): Set<string> {
  const { commands } = newProgram()
  expect(commands.length).toBeGreaterThan(12)
  const own = commands.flatMap(({ options }) => options.map(({ long }) => long ?? ''))
  return new Set([...own, '--help', '--version'])
}

const FLAG = /(?<![\w-])--[a-z][a-z-]*/g
/** Flags of other programs. */
const FOREIGN = new Set(['gguf-split --merge'])

describe('an error message', () => {
  test('recommends only existing values of load options', () => {
    expect(SENTENCES.length).toBeGreaterThan(1000)
    expect(SENTENCES.flatMap(wrongValues)).toEqual([])
  })

  test('names only existing flags', () => {
    const flags = flagsOfCommands()
    const named = SENTENCES.flatMap(({ path, text }) =>
      [...text.matchAll(FLAG)]
        .filter(
          ({ index, 0: flag }) => ![...FOREIGN].some((it) => text.slice(0, index).concat(flag).endsWith(it)),
        )
        .map(([flag]) => ({ path, flag })),
    )
    expect(named.length).toBeGreaterThan(20)
    expect(named.filter(({ flag }) => !flags.has(flag))).toEqual([])
  })

  test('is found, and so are its mistakes', () => {
    const [found] = sentencesOf('a.ts', "throw refused(`no room; let it be stored (cache: 'auto')`)")
    expect(wrongValues(found as Sentence)).toEqual(["a.ts: cache: 'auto' is refused"])
    expect(sentencesOf('a.ts', "// cache: 'auto' is not a value\nopen({ cache: 'none' })")).toEqual([])
  })
})
