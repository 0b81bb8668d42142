// The Android measurement command. In: `npm run perf:android` as a process, and the test's adb server. Out:
// its output, stored results and exit code, with a phone, without one, and with one that cannot be measured.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { expect, test } from '@playwright/test'
import type { PhoneResult } from '../../lab/bench/perf/android/measure.ts'
import {
  type FakePhone,
  type FakePhoneOptions,
  fakePhone,
  PHONE,
} from '../../lab/bench/perf/android/testing/adb-server.ts'
import { freePort } from '../../test/helpers/http-server.ts'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const STORED = 'Test-Phone-FAKE0001.json'

let folder: string
let phone: FakePhone | undefined

test.beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'halfbyte-phones-'))
})
test.afterEach(async () => {
  await phone?.close()
  phone = undefined
  await rm(folder, { recursive: true, force: true })
})

interface Ended {
  readonly code: number | null
  readonly output: string
  readonly errors: string
}

async function command(...args: string[]): Promise<Ended> {
  const options = ['--out', folder, '--threads', '1', ...args]
  const child = spawn('npm', ['run', '--silent', 'perf:android', '--', ...options], { cwd: ROOT })
  const ended = once(child, 'close')
  const [output, errors] = await Promise.all([text(child.stdout), text(child.stderr)])
  const [code] = await ended
  return { code, output, errors }
}

/** `minutes`: how long to measure a phone. */
async function commandWith(options: Partial<FakePhoneOptions>, minutes = 0.02): Promise<Ended> {
  phone = await fakePhone({ answers: PHONE, ...options })
  return command('--port', String(phone.port), '--minutes', String(minutes))
}

const stored = async (name = STORED): Promise<PhoneResult> =>
  JSON.parse(await readFile(join(folder, name), 'utf8'))

test('without an adb server, the command says how to start one and exits with 0', async () => {
  const port = await freePort()
  const { code, output } = await command('--port', String(port))
  expect(output).toContain(`No adb server answers on port ${port}; start one with "adb start-server".`)
  expect(output).toContain('none was measured')
  expect(code).toBe(0)
  expect(await readdir(folder)).toEqual([])
})

for (const [name, state, sentence] of [
  ['that is not connected', undefined, 'No phone can be used, so none was measured.'],
  ['that does not trust this machine', 'unauthorized', 'FAKE0001 does not trust this machine yet; allow USB'],
  ['that does not answer adb', 'offline', 'FAKE0001 is offline; connect it again.'],
] as const) {
  test(`a phone ${name} is not measured, and the command exits with 0`, async () => {
    const { code, output } = await commandWith({ state })
    expect(output).toContain(sentence)
    expect(code).toBe(0)
    expect(await readdir(folder)).toEqual([])
    expect(phone?.asked).toEqual(['host:devices'])
  })
}

test('a phone is measured, its results are stored, and compared with earlier ones', async () => {
  const earlier: PhoneResult = {
    serial: 'OLD1',
    facts: { model: 'Earlier Phone', soc: 'OLD1', android: '12', chrome: '120.0', governor: 'walt' },
    battery: { percent: 90, celsius: 25, watts: undefined },
    threads: 2,
    loadMs: 1234,
    samples: [{ seconds: 1, prefillTokensPerSecond: 50, decodeTokensPerSecond: 12.5, celsius: 26 }],
  }
  await writeFile(join(folder, 'Earlier-Phone-OLD1.json'), JSON.stringify(earlier))
  await writeFile(join(folder, 'cut.json'), JSON.stringify(earlier).slice(0, 60))
  const { code, output, errors } = await commandWith({})
  expect(code, errors).toBe(0)
  expect(output).toContain('cut.json')
  expect(output).toContain(
    '| Earlier Phone | OLD1 | 120.0 | walt | 1234 ms | 12.5 tokens/s | 12.5 tokens/s | 26 °C |  |',
  )
  expect(output).toMatch(
    /\| Test Phone \| TEST888 \| 156\.0\.1 \| schedutil \| \d+ ms \| .* tokens\/s \| .* tokens\/s \| 31\.2 °C \| .* mJ \|/,
  )
  const result = await stored()
  expect(result.facts).toMatchObject({ model: 'Test Phone', soc: 'TEST888', governor: 'schedutil' })
  expect(result.problem).toBeUndefined()
  expect(result.samples.length).toBeGreaterThan(0)
  expect((await readdir(folder)).sort()).toEqual(['Earlier-Phone-OLD1.json', STORED, 'cut.json'])
})

for (const [name, answers, sentence] of [
  ['too hot', { 'dumpsys battery': '  level: 80\n  temperature: 441\n' }, 'is 44.1 °C warm; at most 40 °C'],
  ['too old', { 'dumpsys package com.android.chrome': 'versionName=74.0.1' }, 'Chrome 74.0.1; at least 91'],
] as const) {
  test(`if a phone that is ${name} is not measured, the reason is printed and stored`, async () => {
    const { code, output } = await commandWith({ answers: { ...PHONE, ...answers } })
    expect(code).toBe(0)
    expect(output.split(sentence)).toHaveLength(3)
    expect((await stored()).problem).toContain(sentence)
  })
}

test('a phone disconnected during the check is reported, and the command exits', async () => {
  const { code, output, errors } = await commandWith({
    onMessage: (message, phone) => {
      if (message === 'shell:dumpsys battery') phone.unplug('reset')
    },
  })
  expect(code, errors).toBe(0)
  expect(output).toMatch(/Unknown phone \(FAKE0001\) stopped after 0 runs: .* Connect it again and repeat\./)
  expect((await stored('Unknown-phone-FAKE0001.json')).samples).toEqual([])
})

test('a phone disconnected during detection is reported, and the command exits', async () => {
  const { code, output, errors } = await commandWith({
    onMessage: (message, phone) => {
      if (message.startsWith('host:transport:')) phone.unplug('reset')
    },
  })
  expect(code, errors).toBe(0)
  expect(output).toContain('A phone disappeared before it was measured; connect it again and repeat.')
})

test('results measured before a phone was disconnected are stored', async () => {
  let readings = 0
  const { code, output, errors } = await commandWith(
    {
      onMessage: (message, phone) => {
        // The battery is read before the first run and after each run.
        if (message === 'shell:dumpsys battery' && ++readings === 3) phone.unplug('reset')
      },
    },
    10,
  )
  expect(code, errors).toBe(0)
  expect(output).toMatch(/Test Phone \(FAKE0001\) stopped after 1 runs: .* Connect it again and repeat\./)
  const result = await stored()
  expect(result.samples).toHaveLength(1)
  expect(result.problem).toContain('stopped after 1 runs')
})

for (const [args, sentence] of [
  [['--minutes', 'some'], 'above 0 and at most 600'],
  [['--threads', '0'], 'a whole number of at least 1'],
  [['--model', 'no-such.hbm'], 'There is no such file'],
] as const) {
  test(`${args.join(' ')} is rejected before any phone is accessed`, async () => {
    const { code, errors } = await command(...args)
    expect(code).toBe(1)
    expect(errors).toContain(sentence)
  })
}

test('a missing output folder is created', async () => {
  const outer = folder
  folder = join(folder, 'phones')
  try {
    const { code } = await commandWith({ answers: { ...PHONE, 'dumpsys battery': '  level: 3\n' } })
    expect(code).toBe(0)
    expect(await readdir(folder)).toEqual([STORED])
  } finally {
    folder = outer
  }
})
