// The program for tests. In: arguments. Out: runs of the real halfbyte command on tiny models, in a folder
// that is deleted after a file's tests.
import { type ChildProcess, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll } from 'vitest'
import { ggufFile, safetensorsFiles } from '../../../../test/conformance/testing/model-files.ts'
import { randomLlama } from '../../../../test/conformance/testing/random-llama.ts'

const built = process.env['HALFBYTE_COMMAND']
/** The command's source, or the built command that `npm test` names because it starts faster. */
export const MAIN =
  built === undefined ? fileURLToPath(new URL('../main.ts', import.meta.url)) : resolve(built)

/** Test files of one process share it, one after another. */
export const folder = join(tmpdir(), `halfbyte-cli-${randomUUID()}`)
export const path = (name: string): string => join(folder, name)
/** A random model of 16,384 positions that generates text; `folder` holds the same as safetensors. */
export const model = path('random.gguf')
/** Flags of a short greedy completion without a template. */
export const GREEDY = ['--raw', '--prompt', 'ab', '--temperature', '0', '--max-tokens', '12'] as const

/** Creates the folder before the tests of the calling file, and deletes it after them. */
export function testFolder(): void {
  beforeAll(() => mkdir(folder))
  afterAll(() => rm(folder, { recursive: true }))
}

/** The same, with the models in it. */
export function testModels(): void {
  testFolder()
  beforeAll(async () => {
    const speaker = randomLlama({ seed: 5, gain: 1.6, speaks: true, contextLength: 16_384 })
    await writeFile(model, await (await ggufFile(speaker)).bytes())
    await mkdir(path('folder'))
    for (const file of safetensorsFiles(speaker))
      await writeFile(join(path('folder'), file.name), await file.bytes())
  })
}

export interface Ended {
  readonly code: number | null
  readonly out: string
  readonly err: string
}

export function start(...args: readonly string[]): ChildProcess {
  return spawn(process.execPath, [MAIN, ...args], { stdio: ['pipe', 'pipe', 'pipe'] })
}

export async function ended(child: ChildProcess, input = ''): Promise<Ended> {
  child.stdin?.end(input)
  const exit = new Promise<number | null>((resolve) => child.on('close', resolve))
  const [out, err, code] = await Promise.all([text(child.stdout!), text(child.stderr!), exit])
  return { code, out, err }
}

export const halfbyte = (...args: readonly string[]): Promise<Ended> => ended(start(...args))
