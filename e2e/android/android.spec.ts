// Android phones. In: an adb server in this process, whose phone is the local Chromium. Out: whether the
// phone is checked, measured and reported, and the message for a phone that is hot, old or disconnected.
import { fileURLToPath } from 'node:url'
import { type AndroidDevice, _android as android, expect, test } from '@playwright/test'
import { measurePhone, type PhoneOrder, type PhoneResult } from '../../lab/bench/perf/android/measure.ts'
import { phoneTable } from '../../lab/bench/perf/android/table.ts'
import { type FakePhone, fakePhone, PHONE } from '../../lab/bench/perf/android/testing/adb-server.ts'
import { openSite, type Site } from '../../lab/bench/perf/host/site.ts'

const MODEL = fileURLToPath(new URL('../../demo/models/halfbyte-stories.hbm', import.meta.url))

let site: Site
let phone: FakePhone
let device: AndroidDevice | undefined

test.beforeAll(async () => {
  site = await openSite()
})
test.afterAll(() => site.close())
test.afterEach(async () => {
  // The client polls the device until the file exists.
  await device?.close().catch(() => undefined)
  await phone.close()
})

async function measure(
  shell: Readonly<Record<string, string>>,
  during?: (phone: FakePhone) => void,
): Promise<PhoneResult> {
  phone = await fakePhone({ answers: { ...PHONE, ...shell } })
  const adb = { host: '127.0.0.1', port: phone.port }
  const found = await android.devices(adb)
  device = found[0]
  if (device === undefined) throw new Error('the phone was not listed')
  const modelUrl = site.add('stories.hbm', MODEL)
  const order: PhoneOrder = {
    adb,
    siteUrl: site.url,
    modelUrl,
    threads: 1,
    seconds: during === undefined ? 1 : 60,
  }
  during?.(phone)
  return measurePhone(device, order)
}

test('a phone is checked, gets the page over its cable, and is measured cold and under sustained load', async () => {
  const result = await measure({})
  expect(result.problem).toBeUndefined()
  expect(result.facts).toEqual({
    model: 'Test Phone',
    soc: 'TEST888',
    android: '15',
    chrome: '156.0.1',
    governor: 'schedutil',
  })
  expect(result.samples.length).toBeGreaterThan(1)
  for (const { prefillTokensPerSecond, decodeTokensPerSecond, celsius, watts } of result.samples) {
    expect(prefillTokensPerSecond).toBeGreaterThan(0)
    expect(decodeTokensPerSecond).toBeGreaterThan(0)
    expect([celsius, watts]).toEqual([31.2, 2])
  }
  const port = new URL(site.url).port
  expect(phone.asked).toContain(`reverse:forward:tcp:${port};tcp:${port}`)
  const table = phoneTable([result])
  expect(table).toMatch(
    /\| Test Phone \| TEST888 \| 156\.0\.1 \| schedutil \| \d+ ms \| .* tokens\/s \| .* \| 31\.2 °C \| .* mJ \|/,
  )
})

for (const [name, shell, sentence] of [
  [
    'hot',
    { 'dumpsys battery': '  level: 80\n  temperature: 441\n  voltage: 4000\n' },
    /is 44\.1 °C warm; at most 40/,
  ],
  [
    'nearly empty',
    { 'dumpsys battery': '  level: 7\n  temperature: 300\n  voltage: 4000\n' },
    /at 7 %; at least 20 %/,
  ],
  [
    'old',
    { 'dumpsys package com.android.chrome': 'versionName=74.0.3729.157' },
    /has Chrome 74\.0.*at least 91/,
  ],
  [
    'without Chrome',
    { 'dumpsys package com.android.chrome': 'Unable to find package' },
    /has no Chrome; install it/,
  ],
] as const) {
  test(`a phone that is ${name} is not measured, and the reason includes the number`, async () => {
    const result = await measure(shell)
    expect(result.problem).toMatch(sentence)
    expect(result.samples).toEqual([])
    expect(phone.asked.some((command) => command.startsWith('shell:am start'))).toBe(false)
    expect(phoneTable([result])).toContain(result.problem)
  })
}

test('disconnecting a phone during a measurement ends the run, and earlier results stay', async () => {
  const result = await measure({}, (unplugged) => {
    const look = setInterval(() => {
      // The battery is read before the first run and after each run.
      if (unplugged.asked.filter((command) => command === 'shell:dumpsys battery').length < 4) return
      clearInterval(look)
      unplugged.unplug()
    }, 20)
  })
  expect(result.problem).toMatch(
    /^Test Phone \(FAKE0001\) stopped after ([2-9]|\d\d+) runs: .* Connect it again and repeat\.$/,
  )
  expect(result.problem).toContain(`after ${result.samples.length} runs`)
})
