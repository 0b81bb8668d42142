// Tests the host's modules in Node. In: a folder of modules. Out: one module for all engines, or the reason
// why there is none.
import { copyFile, mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { nodeHost } from '../../tools/cli/node-host.ts'

test('hosts share a module, and the next load looks again for a missing one', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'halfbyte-host-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const wasm = pathToFileURL(`${folder}/modules/`)
  const load = () => nodeHost({ wasm }).loadModule('simd128', 'plain')
  await expect(load()).rejects.toMatchObject({ code: 'internal', message: expect.stringContaining(folder) })
  await mkdir(wasm)
  const name = 'halfbyte-simd128-plain.wasm'
  await copyFile(new URL(`../../../dist/wasm/${name}`, import.meta.url), new URL(name, wasm))
  const module = await load()
  expect(module).toBeInstanceOf(WebAssembly.Module)
  expect(await load()).toBe(module)
})
