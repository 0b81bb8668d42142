// Shell completion. In: the program's commands, and bash if present. Out: scripts that parse, name every
// command and complete it.
import { execFileSync, spawnSync } from 'node:child_process'
import { Command, Option } from 'commander'
import { expect, test } from 'vitest'
import { halfbyte } from '../testing/program.ts'
import { completionScript } from './completion.ts'

const COMMANDS = [
  new Command('talk')
    .description("Say it: the model's words. More follows.")
    .addOption(new Option('--temperature <n>', 'how random'))
    .option('--json', 'as JSON'),
  new Command('look').description('Look.').option('-q, --quiet', 'say less'),
]

const hasBash = spawnSync('bash', ['--version']).status === 0

/** Bash's completions for a line whose last word is incomplete. */
function offered(script: string, line: readonly string[]): string[] {
  const words = line.map((word) => `'${word}'`).join(' ')
  const asked = `${script}\nCOMP_WORDS=(${words})\nCOMP_CWORD=${line.length - 1}\n_halfbyte\nprintf '%s\\n' "\${COMPREPLY[@]}"`
  return execFileSync('bash', ['-c', asked], { encoding: 'utf8' }).split('\n').filter(Boolean)
}

test.skipIf(!hasBash)('bash completes commands, their options and files', () => {
  const script = completionScript('bash', COMMANDS)
  expect(offered(script, ['halfbyte', ''])).toEqual(['talk', 'look', '--help', '--version'])
  expect(offered(script, ['halfbyte', 'ta'])).toEqual(['talk'])
  expect(offered(script, ['halfbyte', 'talk', '--'])).toEqual(['--temperature', '--json', '--help'])
  expect(offered(script, ['halfbyte', 'look', 'x', '--q'])).toEqual(['--quiet'])
  expect(offered(script, ['halfbyte', 'talk', 'package.js'])).toEqual(['package.json'])
})

test('zsh and fish get descriptions of each command and option', () => {
  const zsh = completionScript('zsh', COMMANDS)
  expect(zsh).toContain(`'talk:Say it\\: the model'\\''s words'`)
  expect(zsh).toContain(`look) offered=('--quiet:say less' '--help:show help for the command') ;;`)
  const fish = completionScript('fish', COMMANDS)
  expect(fish).toContain(`complete -c halfbyte -n __fish_use_subcommand -f -a look -d 'Look'`)
  expect(fish).toContain(
    `complete -c halfbyte -n '__fish_seen_subcommand_from talk' -l temperature -r -d 'how random'`,
  )
})

test('the scripts name every command of the program, and an unknown shell is a usage error', async () => {
  const { out } = await halfbyte('--help')
  const [, list = ''] = out.split('Commands:\n')
  const names = [...list.matchAll(/^ {2}([a-z-]+) /gm)].flatMap(([, name]) =>
    name === 'help' ? [] : [name!],
  )
  expect(names).toEqual(expect.arrayContaining(['generate', 'inspect', 'completion']))
  for (const shell of ['bash', 'zsh', 'fish'] as const) {
    const { out: script } = await halfbyte('completion', shell)
    for (const name of names) expect(script).toMatch(new RegExp(`\\b${name}\\b`))
    expect(script).toContain('temperature')
  }
  const wrong = await halfbyte('completion', 'csh')
  expect(wrong.code).toBe(2)
})
