// Images in the Prompt API. In: a random vision model, images in the forms that Node has. Out: the replies of
// `send`, and the errors that browsers throw.
import { encode } from 'fast-png'
import { expect, test } from 'vitest'
import { promptApi } from '../../../src/adapters/prompt-api.ts'
import { ggufFile } from '../testing/model-files.ts'
import { openEngine } from '../testing/node-engine.ts'
import { randomLlama } from '../testing/random-llama.ts'
import { randomTower, towerFile } from './random-tower.ts'

const SIZE = { width: 30, height: 20 }
const data = Uint8Array.from({ length: 4 * SIZE.width * SIZE.height }, (_, at) =>
  at % 4 === 3 ? 255 : (at * 7) % 251,
)
const png = Uint8Array.from(encode({ ...SIZE, data, channels: 4 }))
const sees = { samplingMode: 'most-predictable', expectedInputs: [{ type: 'image' }] } as const

const TEMPLATE = '{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}'
const MODEL = randomLlama({ seed: 38, gain: 1.5, speaks: true, contextLength: 512 })

async function opened() {
  const width = MODEL.config.hidden_size
  const tower = randomTower(1, { width, projector: 'mlp', merge: 1, grid: 4, patch: 3 })
  const metadata = { 'tokenizer.chat_template': ['string', TEMPLATE] as const }
  return openEngine([await ggufFile(MODEL, 'F32', { metadata })], { vision: [await towerFile(tower)] })
}
const asked = (value: unknown) => [
  {
    role: 'user',
    content: [
      { type: 'text', value: 'What is ' },
      { type: 'image', value },
      { type: 'text', value: '?' },
    ],
  },
]

test('an image in any form is read as by `send`', async () => {
  await using engine = await opened()
  const LanguageModel = promptApi(async () => engine)
  expect(await LanguageModel.availability(sees)).toBe('downloadable')
  const content = [
    { type: 'text', text: 'What is ' },
    { type: 'image', data: png },
    { type: 'text', text: '?' },
  ] as const
  const greedy = { temperature: 0, maxTokens: 64 } as const
  const wanted = await engine.createSession().send({ role: 'user', content }, greedy).result
  expect(wanted.text.length).toBeGreaterThan(20)
  const room = new ArrayBuffer(png.length + 7)
  new Uint8Array(room, 5).set(png)
  const forms = [png, png.slice().buffer, new Blob([png]), new DataView(room, 5, png.length)]
  for (const value of forms) {
    const session = await LanguageModel.create(sees)
    expect((await session.prompt(asked(value))).startsWith(wanted.text)).toBe(true)
  }
  expect(await LanguageModel.availability(sees)).toBe('available')
})

test('images count, may come first, and are rejected where browsers reject them', async () => {
  await using engine = await opened()
  const LanguageModel = promptApi(async () => engine)
  const session = await LanguageModel.create({ ...sees, initialPrompts: asked(png) })
  const blind = await LanguageModel.create({ samplingMode: 'most-predictable' })
  expect(await session.measureContextUsage(asked(png))).toBe(session.contextUsage)
  expect(session.contextUsage).toBeGreaterThan((await session.measureContextUsage('What is ?')) + 3)
  const unsupported = { name: 'NotSupportedError' }
  await expect(blind.prompt(asked(png))).rejects.toMatchObject({
    ...unsupported,
    message: expect.stringContaining('expectedInputs'),
  })
  const said = [{ ...asked(png)[0]!, role: 'assistant' }]
  await expect(session.append(said)).rejects.toMatchObject(unsupported)
  for (const value of ['a text', 5, undefined, { width: 4, height: 4 }])
    await expect(session.prompt(asked(value))).rejects.toThrow(TypeError)
})
