// Writes the bench's model of a shape, a GGUF file of random weights, unless it already exists.
import { execFile } from 'node:child_process'
import { createWriteStream } from 'node:fs'
import { mkdir, rename, stat } from 'node:fs/promises'
import { pipeline } from 'node:stream/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { type GgufContents, writeGguf } from '../../test/conformance/testing/writers/gguf-writer.ts'
import { inHalves, randomModel } from './random-model.ts'
import type { Shape } from './shapes.ts'

/** The folder in which benches keep files between runs. */
export const BENCH_FOLDER = new URL('../../build/bench/', import.meta.url)

export async function modelFile(shape: Shape): Promise<URL> {
  const file = new URL(`${shape.name}.gguf`, BENCH_FOLDER)
  if (await stat(file).catch(() => undefined)) return file
  await mkdir(BENCH_FOLDER, { recursive: true })
  console.log(`writing ${file.pathname}`)
  const part = new URL(`${shape.name}.part`, BENCH_FOLDER)
  await writeModel(part, randomModel(shape))
  await rename(part, file)
  return file
}

/** The same weights with matrices in F16. */
export async function halfFile(shape: Shape): Promise<URL> {
  const file = new URL(`${shape.name}-f16.gguf`, BENCH_FOLDER)
  if (await stat(file).catch(() => undefined)) return file
  await mkdir(BENCH_FOLDER, { recursive: true })
  console.log(`writing ${file.pathname}`)
  const part = new URL(`${shape.name}-f16.part`, BENCH_FOLDER)
  await writeModel(part, inHalves(randomModel(shape)))
  await rename(part, file)
  return file
}

/** Writes a GGUF file. */
export const writeModel = (file: string | URL, contents: GgufContents): Promise<void> =>
  pipeline(writeGguf(contents), createWriteStream(file))

/** The same model as a pack, in the kernels' layout. */
export async function packFile(shape: Shape): Promise<URL> {
  const pack = new URL(`${shape.name}.hbm`, BENCH_FOLDER)
  if (await stat(pack).catch(() => undefined)) return pack
  const model = await modelFile(shape)
  console.log(`writing ${pack.pathname}`)
  const command = fileURLToPath(new URL('../../src/tools/cli/main.ts', import.meta.url))
  await promisify(execFile)(process.execPath, [command, 'convert', fileURLToPath(model), fileURLToPath(pack)])
  return pack
}
