// The manual's commands, run. In: the shell blocks, and small files under the names that they use. Out: a
// failure for each command that ends with an error.
import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { tensorOf } from '../../../src/network/onnx/ir/tensor.ts'
import { NodeWriter, TYPE } from '../../../src/network/onnx/testing/node-writer.ts'
import { modelBytes } from '../../../src/network/onnx/testing/write-model.ts'
import { MAIN } from '../../../src/tools/cli/testing/program.ts'
import { npyBytes } from '../../../src/tools/cli/write/npy.ts'
import { packOf } from '../../../test/conformance/testing/families/matrix-families.ts'
import { ggufFile, safetensorsFiles } from '../../../test/conformance/testing/model-files.ts'
import { bertFolder, bertGguf, byPath, randomBert } from '../../../test/conformance/testing/random-bert.ts'
import { randomLlama } from '../../../test/conformance/testing/random-llama.ts'
import { BLOCKS, type Block } from './blocks.ts'
import { commandsOf, wordsOf } from './shell.ts'

const run = promisify(execFile)
const SHELL = BLOCKS.filter(({ language }) => language === 'sh')
const RUN = SHELL.filter(({ whyNotRun }) => whyNotRun === undefined)

type Content = string | Uint8Array | Promise<Uint8Array>

const lines = (...values: object[]) => values.map((value) => JSON.stringify(value)).join('\n')
const chat = {
  messages: [
    { role: 'user', content: 'a cat' },
    { role: 'assistant', content: 'a hat' },
  ],
}
const TEXT = 'a little text that says a thing or two about the cat and the hat. '.repeat(200)

/** A graph that doubles an input, and adds a second one if it has one. */
function graph(names: readonly string[], type: number, dims: readonly (string | number)[]): Uint8Array {
  const to = new NodeWriter()
  to.node('Add', [names[0]!, names.at(-1)!], ['y'])
  const inputs = names.map((name) => ({ name, type, dims }))
  return modelBytes({ nodes: to.nodes, constants: to.constants, inputs, outputs: [{ name: 'y', type }] })
}

/** The data of an evaluation, one item each. */
const TASKS: Readonly<Record<string, Content>> = {
  'wiki.test.raw': ` = Cats = \n \n ${TEXT}\n`,
  'lambada_test.jsonl': lines({ text: 'The cat wore a hat' }),
  'valid.jsonl': lines({ goal: 'warm a cat', sol1: 'a hat', sol2: 'a river' }),
  'valid-labels.lst': '0\n',
  'test.jsonl': lines({ question: 'What is 2 + 3?', answer: 'It is 5.\n#### 5' }),
  'input_data.jsonl': lines({
    ...{ key: 1, prompt: 'Write without commas.', kwargs: [{}] },
    instruction_id_list: ['punctuation:no_comma'],
  }),
}
const CALL = {
  id: 'x_0',
  question: [[{ role: 'user', content: 'What is the area?' }]],
  function: [{ name: 'area', description: 'Area', parameters: { type: 'dict', properties: {} } }],
}
const CALLS: Readonly<Record<string, Content>> = {
  'BFCL_v4_simple_python.json': lines(CALL),
  'possible_answer/BFCL_v4_simple_python.json': lines({ id: 'x_0', ground_truth: [{ area: {} }] }),
  'BFCL_v4_irrelevance.json': lines(CALL),
}
const TEXTS: Readonly<Record<string, Content>> = {
  'text.jsonl': lines({ text: TEXT }, { text: TEXT }),
  'chats.jsonl': lines(...new Array<object>(200).fill(chat)),
  'other-text.txt': TEXT,
  'english.txt': TEXT,
  'lines.txt': 'a cat\na dog\n',
  'passages.txt': 'the cat\nthe sea\n',
}

/** By page, because pages use the same names for different kinds of models. */
async function filesFor(page: string): Promise<Readonly<Record<string, Content>>> {
  const llama = randomLlama({ seed: 5, gain: 1.6, speaks: true, contextLength: 16_384 })
  const gguf = async () => (await ggufFile(llama)).bytes()
  const pack = async () => (await packOf(safetensorsFiles(llama), 'auto')).bytes()
  const below = async (folder: string, files: Iterable<readonly [string, File]>) =>
    Object.fromEntries(
      await Promise.all([...files].map(async ([name, file]) => [`${folder}/${name}`, await file.bytes()])),
    )
  if (page.endsWith('networks.md'))
    return {
      'model.onnx': graph(['input_ids', 'attention_mask'], TYPE.i64, ['batch', 'tokens']),
      'detector.onnx': graph(['image'], TYPE.f32, [1, 3, 4, 4]),
      'ids.npy': npyBytes(tensorOf('i64', [1, 3], [3, 9, 27])),
      'mask.npy': npyBytes(tensorOf('i64', [1, 3], [1, 1, 1])),
      'image.npy': npyBytes(tensorOf('f32', [1, 3, 4, 4], new Array(48).fill(0.5))),
    }
  if (page.endsWith('embeddings.md'))
    return {
      ...TEXTS,
      'model.gguf': (await bertGguf(randomBert(9))).bytes(),
      ...(await below('all-MiniLM-L6-v2', byPath(bertFolder(randomBert(9))))),
      ...(await below('ms-marco-MiniLM-L6-v2', byPath(bertFolder(randomBert(9, { isReranker: true }))))),
    }
  const folder = safetensorsFiles(llama).map((file) => [file.name, file] as const)
  return {
    ...{ ...TEXTS, ...TASKS, ...CALLS },
    // The guide to files converts a folder to this name.
    ...(!page.endsWith('files.md') && { 'model.gguf': gguf() }),
    ...(page.endsWith('evaluation.md') && { 'model.hbm': pack(), 'smaller.hbm': pack() }),
    ...(await below('folder', folder)),
  }
}

/** The arguments of a `halfbyte` command. */
function argumentsOf(command: string): string[] {
  const words = wordsOf(command)
  const at = words.indexOf('halfbyte')
  expect(at, `${command} isn't a halfbyte command; run it here, or give its fence a reason`).not.toBe(-1)
  return words.slice(at + 1).filter((word) => word !== '--')
}

let root: string
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'halfbyte-shell-'))
})
afterAll(() => rm(root, { recursive: true }))

/** An environment whose folders for stored models and for state are in `folder`. */
const environmentIn = (folder: string): NodeJS.ProcessEnv => ({
  ...process.env,
  ...{ HOME: folder, LOCALAPPDATA: folder, XDG_STATE_HOME: '', HALFBYTE_HOME: join(folder, 'store') },
})

async function runBlock({ page, line, text }: Block): Promise<string[]> {
  const cwd = await mkdtemp(join(root, 'block-'))
  for (const [name, content] of Object.entries(await filesFor(page))) {
    await mkdir(join(cwd, dirname(name)), { recursive: true })
    await writeFile(join(cwd, name), await content)
  }
  const faults: string[] = []
  for (const command of commandsOf(text.replaceAll(/^.*# fetched from the hub.*\n/gm, ''))) {
    const child = run(process.execPath, [MAIN, ...argumentsOf(command)], { cwd, env: environmentIn(cwd) })
    child.child.stdin?.end()
    await child.catch(({ stderr }) => faults.push(`${page}:${line}: ${command}: ${stderr}`))
  }
  return faults
}

test.each(RUN.map((block) => [`${block.page}:${block.line}`, block] as const))(
  'the commands at %s run',
  async (_, block) => {
    expect(await runBlock(block)).toEqual([])
  },
)

test('each shell block is run, or says why not', () => {
  expect(RUN.length).toBeGreaterThanOrEqual(8)
  expect(SHELL.filter(({ whyNotRun = 'absent' }) => whyNotRun.length < 6)).toEqual([])
})
