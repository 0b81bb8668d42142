// Energy counters. In: folders like those of Linux. Out: joules, also after a counter has wrapped around.
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { startEnergy } from './energy.ts'

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'halfbyte-energy-'))
})
afterEach(() => rm(folder, { recursive: true }))

async function setCounter(name: string, microjoules: number): Promise<void> {
  await mkdir(join(folder, name), { recursive: true })
  await writeFile(join(folder, name, 'energy_uj'), `${microjoules}\n`)
  await writeFile(join(folder, name, 'max_energy_range_uj'), '1000000000\n')
}

test('packages are added, and what they contain is not counted again', async () => {
  for (const name of ['intel-rapl:0', 'intel-rapl:0:0', 'intel-rapl:1', 'dtpm']) await setCounter(name, 5e6)
  const used = await startEnergy(folder)
  await setCounter('intel-rapl:0', 7e6)
  await setCounter('intel-rapl:0:0', 6e6)
  await setCounter('intel-rapl:1', 5.5e6)
  expect(await used?.()).toBe(2.5)
})

test('a counter that has wrapped around still counts', async () => {
  await setCounter('intel-rapl:0', 999e6)
  const used = await startEnergy(folder)
  await setCounter('intel-rapl:0', 4e6)
  expect(await used?.()).toBe(5)
})

test('nothing is measured without counters', async () => {
  expect(await startEnergy(join(folder, 'missing'))).toBeUndefined()
  expect(await startEnergy(folder)).toBeUndefined()
  await mkdir(join(folder, 'intel-rapl:0'))
  expect(await startEnergy(folder)).toBeUndefined()
})
