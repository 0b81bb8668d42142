// Data for tests and measurements that is too large or not freely licensed enough for test/fixtures:
// downloaded from the Python package index into build/models, with pinned hashes.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { hashOf } from './hash.mjs'
import { fetchFromIndex } from './python-registry.mjs'
import { MODELS } from './real-models.mjs'
import { extractWheelFolder } from './wheel.mjs'

const VOCABULARIES = [
  ...['command-r', 'deepseek-coder', 'deepseek-llm', 'falcon', 'gpt-2', 'llama-bpe', 'llama-spm', 'mpt'],
  ...['phi-3', 'qwen2', 'refact', 'starcoder'],
]

/** `archive`: the file in the index. Its platform does not matter, because only its data is read. */
export const TEST_DATA = {
  'onnx-node-tests': {
    title: 'Node tests of the ONNX standard',
    licence: 'Apache-2.0',
    megabytes: 19,
    archive: 'onnx-1.22.0-cp312-abi3-manylinux_2_27_x86_64.manylinux_2_28_x86_64.whl',
    sha256: '955e02e1f6d385b53d52f9cd7b9cdf5caf417c300bcfe3c64c6d542be763845b',
    extract: (archive, folder) => extractWheelFolder(archive, 'onnx/backend/test/data/node/', folder),
  },
  'llama-vocabularies': {
    title: "llama.cpp's vocabularies, with its token ids",
    licence: 'MIT tests; each vocabulary has its own licence',
    megabytes: 77,
    archive: 'llama_cpp_python-0.3.36.tar.gz',
    sha256: '832db0699007f1be95a7e41ef12e88926b02ba836461e36a36372db2760c1a2e',
    extract: (archive, folder) => {
      const home = 'llama_cpp_python-0.3.36/vendor/llama.cpp/models'
      const members = VOCABULARIES.flatMap((name) =>
        ['', '.inp', '.out'].map((end) => `${home}/ggml-vocab-${name}.gguf${end}`),
      )
      const args = ['-xzf', archive, '-C', folder, '--strip-components', '4', ...members]
      if (spawnSync('tar', args, { stdio: ['ignore', 'inherit', 'inherit'] }).status !== 0)
        throw new Error(`tar cannot read ${archive}`)
    },
  },
}

/** The folder of the data; undefined if it is not set up. */
export function testData(name) {
  const folder = join(MODELS, name)
  return existsSync(folder) ? folder : undefined
}

/** The same folder; if it is missing, throws an error with the command that downloads it. */
export function requireTestData(name) {
  const folder = testData(name)
  if (folder === undefined) throw new Error(`${name} is not set up; run "npm run setup -- ${name}"`)
  return folder
}

/** Resolves to whether the data is available. Prints progress, and the next step on failure. */
export async function fetchTestData(name) {
  const { title, licence, megabytes, archive, sha256, extract } = TEST_DATA[name]
  const folder = join(MODELS, name)
  if (testData(name) === undefined) {
    const path = join(MODELS, archive)
    const draft = `${folder}.draft`
    console.log(`setup: ${title} (${licence}): ${megabytes} MB from the Python package index`)
    try {
      rmSync(draft, { recursive: true, force: true })
      mkdirSync(draft, { recursive: true })
      if (!existsSync(path) || (await hashOf(path, 'sha256', 'hex')) !== sha256)
        await fetchFromIndex({ wheel: archive, sha256 }, path)
      await extract(path, draft)
      if (readdirSync(draft).length === 0) throw new Error(`${archive} does not contain it`)
      // The folder gets its final name only once it is complete.
      renameSync(draft, folder)
      rmSync(path)
    } catch (error) {
      console.error(`setup: ${name}: ${error instanceof Error ? error.message : error}`)
      return false
    }
  }
  console.log(`setup: ${name} is at ${folder}`)
  return true
}
