// The command `run`. In: the real program, a small encoder, .npy files. Out: whether outputs are written, and
// plans printed.
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import { bertBytes } from '../../../../lab/bench/graphs/bert.ts'
import { Network } from '../../../network/api/network.ts'
import { tensorOf } from '../../../network/onnx/ir/tensor.ts'
import { halfbyte, path, testFolder } from '../testing/program.ts'
import { npyBytes, readNpy } from '../write/npy.ts'

testFolder()

const SHAPE = { layers: 1, hidden: 16, heads: 2, intermediate: 24, vocabulary: 30, positions: 12 }
const INPUTS = {
  input_ids: tensorOf('i64', [1, 3], [3, 9, 27]),
  attention_mask: tensorOf('i64', [1, 3], [1, 1, 1]),
  token_type_ids: tensorOf('i64', [1, 3], [0, 0, 1]),
}
const model = path('bert.onnx')

beforeAll(async () => {
  await writeFile(model, bertBytes(SHAPE))
  for (const [name, tensor] of Object.entries(INPUTS)) await writeFile(path(`${name}.npy`), npyBytes(tensor))
})

test.each(['1', '2'])('with %s threads, outputs are written as .npy', async (threads) => {
  const folder = path(`outputs-${threads}/new`)
  const given = Object.keys(INPUTS).flatMap((name) => ['--input', `${name}=${path(`${name}.npy`)}`])
  const ended = await halfbyte('run', model, ...given, '--threads', threads, '--output', folder)
  expect(ended).toMatchObject({ code: 0, out: expect.stringContaining('last_hidden_state  f32 [1, 3, 16]') })
  const written = readNpy('x', await readFile(join(folder, 'last_hidden_state.npy')))
  const network = await Network.load(new File([await readFile(model)], 'bert.onnx'))
  expect(written).toEqual((await network.run(INPUTS))['last_hidden_state'])
})

test('without inputs it lists them', async () => {
  const ended = await halfbyte('run', model)
  expect(ended).toMatchObject({ code: 1, err: expect.stringContaining('input_ids (i64 [batch, tokens])') })
})

test("the plan of a graph that is not a decoder is printed as a network's plan", async () => {
  const ended = await halfbyte('inspect', model, '--plan', '--size', 'tokens=5')
  expect(ended).toMatchObject({ code: 0, out: expect.stringContaining('input_ids [1, 5]') })
  expect(ended.out).toMatch(/views +\d+ nodes would move [\d ]+ B as copies, but move 0 B when compiled/)
})

test('.npy files keep dtype, shape and elements; others are rejected', () => {
  for (const tensor of [
    tensorOf('f32', [2, 3], [1, 2, 3, 4, 5, 6.5]),
    tensorOf('i64', [2], [-1, 5]),
    tensorOf('bool', [], [1]),
    tensorOf('u8', [0, 4], []),
  ])
    expect(readNpy('x', npyBytes(tensor))).toEqual(tensor)
  const bytes = npyBytes(tensorOf('f32', [4], [1, 2, 3, 4]))
  for (const length of [0, 5, 12, 60, bytes.length - 1])
    expect(() => readNpy('x', bytes.subarray(0, length))).toThrow(/^x/)
})
