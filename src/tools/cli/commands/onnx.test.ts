// The command on ONNX models. In: the real program, a tiny model as an ONNX folder. Out: whether each command
// makes the same pack from it as from the same weights under canonical names.
import { copyFile, mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { beforeAll, expect, test } from 'vitest'
import { onnxFiles } from '../../../../lab/bench/perf/onnx/write.ts'
import { randomModel } from '../../../../lab/bench/random-model.ts'
import { TINY } from '../../../../lab/bench/shapes.ts'
import { byteTokenizer } from '../../../../test/conformance/onnx/byte-tokenizer.ts'
import { ggufBytes } from '../../../../test/conformance/testing/writers/gguf-writer.ts'
import { calibrationText } from '../testing/calibration.ts'
import { ended, halfbyte, path, start, testFolder } from '../testing/program.ts'

testFolder()

const { few } = calibrationText('onnx.txt')
const graph = path('graph')
const plain = path('plain.hbm')

beforeAll(async () => {
  const gguf = pathToFileURL(path('tiny.gguf'))
  await writeFile(gguf, await ggufBytes(randomModel(TINY)))
  const { model, data } = await onnxFiles(gguf, TINY, 'f32')
  await mkdir(graph)
  await copyFile(model, join(graph, 'model.onnx'))
  for (const each of data) await copyFile(each, join(graph, basename(each.pathname)))
  const tokenizer = byteTokenizer(TINY.vocabSize)
  await writeFile(join(graph, 'tokenizer.json'), await tokenizer.read(0, tokenizer.size))
  expect(await halfbyte('convert', graph, plain, '--weights', 'f32')).toMatchObject({ code: 0, err: '' })
})

test('the pack of a graph computes the same as the graph', async () => {
  const logits = async (model: string) => {
    const output = `${model}.logits`
    await halfbyte(
      'logits',
      model,
      '--tokens',
      '1,5,9',
      '--weights',
      'f32',
      '--threads',
      '1',
      '--output',
      output,
    )
    return readFile(output)
  }
  expect((await logits(plain)).equals(await logits(graph))).toBe(true)
})

test('a folder in the layout of transformers.js can be opened by its path, its graph and a dtype', async () => {
  const repository = path('repository')
  const graphs = join(repository, 'onnx')
  await mkdir(graphs, { recursive: true })
  for (const name of await readdir(graph)) {
    const isCompanion = name === 'tokenizer.json'
    await copyFile(join(graph, name), join(isCompanion ? repository : graphs, name))
  }
  await copyFile(join(graph, 'model.onnx'), join(graphs, 'model_fp16.onnx'))
  const said = async (model: string) => (await ended(start('tokenize', model), 'THE RIVER')).out
  const due = await said(graph)
  expect(due).not.toBe('')
  for (const model of [repository, graphs, join(graphs, 'model.onnx')]) expect(await said(model)).toBe(due)
  const inspect = (...more: string[]) => halfbyte('inspect', repository, '--weights', 'f32', ...more)
  expect(await inspect('--dtype', 'fp16')).toMatchObject({ code: 0 })
  expect(await inspect('--dtype', 'q4')).toMatchObject({
    code: 1,
    err: expect.stringContaining('they have model.onnx, model_fp16.onnx'),
  })
  const { out } = await inspect('--fit')
  expect(out).toMatch(
    /\n\n--dtype fp16 +onnx\/model_fp16\.onnx: 0\.0 kB to download, [\d.]+ MB needed, fits\n--dtype fp32 +onnx\/model\.onnx: 0\.0 kB to download, about [\d.]+ MB needed, fits\nThe default is onnx\/model_fp16\.onnx: the first /,
  )
})

test.each([
  ['quantize', few],
  ['prune', [...few, '--sparsity', '0.5', '--pattern', 'sv32']],
])(
  '%s writes the same bytes for a graph as for its pack',
  async (command, flags) => {
    const own = path(`${command}-graph.hbm`)
    const due = path(`${command}-pack.hbm`)
    expect((await halfbyte(command, graph, own, ...flags)).code).toBe(0)
    expect((await halfbyte(command, plain, due, ...flags)).code).toBe(0)
    expect((await readFile(own)).equals(await readFile(due))).toBe(true)
  },
  240_000,
)
