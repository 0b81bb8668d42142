// Writes a Llama with rotated weights as a folder of F32 safetensors; rotate-model.ts has the mathematics.
//
//   npx node lab/bench/bits/rotate.ts MODEL FOLDER [--seed 1]
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Command } from 'commander'
import { openModel } from '../../../src/core/arch/open-model.ts'
import { prepareModel } from '../../../src/engine/load/prepare.ts'
import { openModelFiles } from '../../../src/tools/cli/files.ts'
import { whole } from '../../../src/tools/cli/options.ts'
import { modelFolder } from '../../../src/tools/shrink/folder/model-folder.ts'
import { rotateModel } from './rotate-model.ts'

const command = new Command('rotate')
  .argument('<model>', 'model')
  .argument('<folder>', 'folder to write')
  .option('--seed <n>', 'seed of the rotations', whole(0), 1)
  .parse()
const [model = '', folder = ''] = command.args
const { seed } = command.opts<{ readonly seed: number }>()
const { signal } = new AbortController()

const files = await openModelFiles(model, { signal, onProgress: () => undefined })
const prepared = await prepareModel(await openModel(files.sources, signal), {
  weights: 'f32',
  forPack: true,
  signal,
})
const rotated = await rotateModel(prepared, seed, signal)
const { json, chunks } = await modelFolder({ ...prepared, ...rotated }, { dtype: 'F32', signal })
await mkdir(folder, { recursive: true })
for (const [name, value] of json) await writeFile(join(folder, name), JSON.stringify(value))
await writeFile(join(folder, 'model.safetensors'), chunks)
await files.close()
