// The bench's model. In: a shape. Out: a GGUF file of random weights of that shape, written once and kept.
import { once } from 'node:events'
import { createWriteStream } from 'node:fs'
import { mkdir, rename, stat } from 'node:fs/promises'
import { finished } from 'node:stream/promises'
import { writeGguf } from '../conformance/support/gguf-writer.ts'
import { randomModel } from './random-model.ts'
import type { Shape } from './shapes.ts'

/** Where benches keep files between runs. */
export const BENCH_FOLDER = new URL('../build/bench/', import.meta.url)

export async function modelFile(shape: Shape): Promise<URL> {
  const file = new URL(`${shape.name}.gguf`, BENCH_FOLDER)
  if (await stat(file).catch(() => undefined)) return file
  await mkdir(BENCH_FOLDER, { recursive: true })
  console.log(`writing ${file.pathname}`)
  const part = new URL(`${shape.name}.part`, BENCH_FOLDER)
  const out = createWriteStream(part)
  for await (const chunk of writeGguf(randomModel(shape))) {
    if (!out.write(chunk)) await once(out, 'drain')
  }
  out.end()
  await finished(out)
  await rename(part, file)
  return file
}
