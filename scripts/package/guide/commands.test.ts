// The manual's command lines. In: its shell blocks and the commands between backticks. Out: a failure for
// each one that the command's own parser rejects, and for scripts missing from package.json.
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Command } from 'commander'
import { expect, test } from 'vitest'
import { newProgram } from '../../../src/tools/cli/program.ts'
import { BLOCKS, PAGES, ROOT } from './blocks.ts'
import { commandsOf, wordsOf } from './shell.ts'

const scriptsIn = (path: string) => Object.keys(JSON.parse(readFileSync(join(ROOT, path), 'utf8')).scripts)
const SCRIPTS = scriptsIn('package.json')
/** npm commands that need no script. */
const OF_NPM = ['ci', 'i', 'init', 'install', 'pack', 'start', 'test']

/** The program, with commands that only parse their arguments. */
function parser(): Command {
  const program = newProgram()
  for (const command of [program, ...program.commands]) {
    command.configureOutput({ writeErr: () => undefined, writeOut: () => undefined })
    if (command !== program) command.action(() => undefined)
  }
  return program
}

/** The parser's error for a command line; undefined if it is valid. */
async function refusal(words: readonly string[]): Promise<string | undefined> {
  try {
    await parser().parseAsync([...words], { from: 'user' })
    return undefined
  } catch (error) {
    const { code, message } = error as Error & { code: string }
    return code === 'commander.helpDisplayed' ? undefined : message
  }
}

/** Returns what is wrong with a shell command. */
async function fault(command: string): Promise<string | undefined> {
  const [first = '', ...words] = wordsOf(command)
  if (first === 'halfbyte') return refusal(words)
  if (first === 'npx' && words[0] === 'halfbyte') return refusal(words.slice(1))
  if (first !== 'npm') return undefined
  const [verb = '', script = '', dashes, ...others] = words
  if (verb !== 'run') return OF_NPM.includes(verb) ? undefined : `npm has no ${verb}`
  if (!SCRIPTS.includes(script)) return `package.json has no script ${script}`
  if (script !== 'halfbyte') return undefined
  return dashes === '--' ? refusal(others) : 'npm takes options before --'
}

const SHELL = BLOCKS.filter(({ language }) => language === 'sh')

test("the blocks' commands are accepted by their parsers", async () => {
  const wrong: string[] = []
  let count = 0
  for (const { page, line, text } of SHELL)
    for (const command of commandsOf(text)) {
      count++
      const said = await fault(command)
      if (said !== undefined) wrong.push(`${page}:${line}: ${command}: ${said}`)
    }
  expect(wrong).toEqual([])
  expect(count).toBeGreaterThan(30)
})

test('commands between backticks name existing commands and options', () => {
  const { commands } = newProgram()
  const wrong: string[] = []
  let count = 0
  for (const page of PAGES) {
    const text = readFileSync(join(ROOT, page), 'utf8').replaceAll(/^```[\s\S]*?^```$/gm, '')
    for (const [span, name = '', rest = ''] of text.matchAll(/`(?:npx )?halfbyte ([a-z][a-z-]*)([^`]*)`/g)) {
      count++
      const command = commands.find((each) => each.name() === name)
      const flags = rest.match(/(?<=\s|\[)--[a-z][a-z-]*/g) ?? []
      const unknown = flags.filter((flag) => !command?.options.some(({ long }) => long === flag))
      if (command === undefined || unknown.some((flag) => flag !== '--help'))
        wrong.push(`${page}: ${span.replaceAll(/\s+/g, ' ')}`)
    }
  }
  expect(wrong).toEqual([])
  expect(count).toBeGreaterThan(15)
})

test('scripts between backticks exist in package.json or in an example', () => {
  const examples = globSync('examples/*/package.json', { cwd: ROOT })
  const known = new Set([...SCRIPTS, ...examples.flatMap(scriptsIn)])
  const wrong = PAGES.flatMap((page) =>
    [...readFileSync(join(ROOT, page), 'utf8').matchAll(/`npm run ([\w:-]+)/g)]
      .filter(([, script = '']) => !known.has(script))
      .map(([span]) => `${page}: ${span}`),
  )
  expect(wrong).toEqual([])
})

test('the check finds wrong commands, options, values and scripts', async () => {
  expect(await fault('halfbyte quantify a b')).toContain('quantify')
  expect(await fault('halfbyte inspect model.gguf --plam')).toContain('--plam')
  expect(await fault('npx halfbyte generate')).toContain('model')
  expect(await fault("halfbyte generate a 'b c' --temperature hot")).toContain('hot')
  expect(await fault('npm run halfbyte -- chat embedded --hot')).toContain('--hot')
  expect(await fault('npm run nothing')).toContain('nothing')
  expect(await fault('halfbyte inspect model.gguf --plan')).toBeUndefined()
  expect(commandsOf('a \\\n  b # c\nd && e\n')).toEqual(['a  b', 'd', 'e'])
})
