// Tests measurements whose requirements are missing: each prints the command that installs them, in one line
// and before doing any work.
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { realModel } from '../../scripts/models/real-models.mjs'

const ROOT = join(import.meta.dirname, '../..')
const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
const NOWHERE = join(ROOT, 'no-such-browser')

test.each([
  'roofline',
  ...['bench:embeddings', 'bench:loading', 'bench:pools', 'bench:sampler', 'bench:scheduler', 'bench:state'],
  ...['perf', 'perf:first-word', 'perf:real -- --model minilm --text package.json'],
  'measure-costs -- --model a.gguf --output a.json',
])('npm run %s says how to get Chromium', (command) => {
  const [name = '', flags = ''] = command.split(' -- ')
  const args = [...scripts[name].split(' ').slice(1), ...flags.split(' ').filter(Boolean)]
  const { status, stderr, stdout } = spawnSync(process.execPath, args, {
    cwd: ROOT,
    encoding: 'utf8',
    env: { ...process.env, HALFBYTE_CHROMIUM: NOWHERE },
  })
  const lines = [`Chromium is missing (${NOWHERE}); run "npm run setup -- chromium"`]
  if (name === 'bench:embeddings' && realModel('minilm') === undefined)
    lines.push('minilm is not set up; run "npm run setup -- minilm"')
  expect([status, stdout, stderr]).toEqual([1, '', `${lines.join('\n')}\n`])
})
