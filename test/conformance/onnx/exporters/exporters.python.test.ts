// Freshly exported graphs, one test per exporter. In: tiny random models of transformers. Out: whether the
// graphs give ONNX Runtime's results. Runs a few of each; `npm run conformance:exporters` and
// `conformance:networks` check everything that the scripts can write.
import { spawnSync } from 'node:child_process'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { needsModules, PYTHON } from '../../testing/python.ts'
import { judgeNetwork } from '../networks/judge.ts'
import { exportNames, readExport } from './folder.ts'
import { judgeExport } from './judge.ts'

const MODULES = ['torch', 'onnx', 'onnxruntime', 'transformers']
const EXPORTERS = [
  {
    name: 'torch.export',
    scripts: ['torch_export.py'],
    modules: ['onnxscript'],
    graphs: ['dynamo18-llama-sdpa-f32', 'dynamo23-qwen3', 'dynamo18-gemma3', 'dynamo18-mistral-window'],
  },
  {
    name: 'optimum-onnx and the converter of transformers.js',
    scripts: ['optimum_export.py', 'transformers_js.py'],
    modules: ['optimum'],
    graphs: ['optimum-smollm2-f32', 'optimum-granite-f32'],
  },
  {
    name: "onnxruntime-genai's builder",
    scripts: ['genai.py'],
    modules: ['onnxruntime_genai'],
    graphs: ['qwen2-fp32', 'smollm2-int4-shared', 'qwen3-int8'],
  },
]
const TIMEOUT = { timeout: 1_200_000 }

const parent = await mkdtemp(join(tmpdir(), 'halfbyte-exporters-'))
afterAll(() => rm(parent, { recursive: true }))
const newFolder = () => mkdtemp(join(parent, 'graphs-'))

/** Runs a script, which writes a folder in `folder` for each graph whose name contains one of the parts. */
function write(script: string, folder: string, parts: readonly string[]): void {
  const args = [join(import.meta.dirname, script), folder, ...parts]
  const { status, stderr } = spawnSync(PYTHON, args, { encoding: 'utf8', maxBuffer: 1 << 26 })
  expect(status, stderr).toBe(0)
}

test.for(EXPORTERS)('decoders of $name', TIMEOUT, async ({ scripts, modules, graphs }, context) => {
  needsModules(context, ...MODULES, ...modules)
  const folder = await newFolder()
  for (const script of scripts) write(script, folder, graphs)
  const names = exportNames(folder)
  expect(names.length).toBeGreaterThanOrEqual(graphs.length)
  for (const name of names) {
    expect(await judgeExport(readExport(folder, name)), name).toMatchObject({ is: 'equal' })
  }
})

test('networks of torch, by torch.export and by tracing', TIMEOUT, async (context) => {
  needsModules(context, ...MODULES, 'onnxscript')
  const folder = await newFolder()
  write('../networks/torch_networks.py', folder, ['modernbert', 'shufflenet'])
  const names = await readdir(folder)
  expect(names).toHaveLength(4)
  for (const name of names) {
    const bytes = new Uint8Array(await readFile(join(folder, name, 'model.onnx')))
    const sizes = JSON.parse(await readFile(join(folder, name, 'sizes.json'), 'utf8'))
    expect(await judgeNetwork(bytes, sizes), name).toMatchObject({ is: 'equal' })
  }
})
