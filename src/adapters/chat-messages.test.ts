// Messages of other libraries. In: parts with images as clients write them. Out: one text with their
// positions, and their bytes; rejections that name the part.
import { expect, test } from 'vitest'
import { callRequest } from './ai-sdk-request.ts'
import { readMessages } from './openai-request.ts'

const BYTES = Uint8Array.of(137, 80, 78, 71)
const BASE64 = 'iVBORw=='
const bytesOf = async (picture: unknown) => new Uint8Array(await (picture as Blob).arrayBuffer())

test('OpenAI’s images are placed in the text where their parts were', async () => {
  const image = { type: 'image_url', image_url: { url: `data:image/png;base64,${BASE64}` } }
  const [message] = readMessages([
    { role: 'user', content: [{ type: 'text', text: 'a ' }, image, { type: 'text', text: ' b' }, image] },
  ])
  expect(message!.content).toBe('a \uFFFC b\uFFFC')
  expect(message!.images).toHaveLength(2)
  expect((message!.images![0] as Blob).type).toBe('image/png')
  expect(await bytesOf(message!.images![1])).toEqual(BYTES)
})

test.each([
  ['bytes', BYTES],
  ['base64', BASE64],
  ['a data: address', `data:image/png;base64,${BASE64}`],
  ['an URL', new URL(`data:image/png;base64,${BASE64}`)],
  ['an object with bytes', { type: 'data', data: BYTES }],
  ['an object with an address', { type: 'url', url: new URL(`data:image/png;base64,${BASE64}`) }],
])('the AI SDK’s images are read as %s', async (_, data) => {
  const content = [
    { type: 'file', mediaType: 'image/png', data },
    { type: 'text', text: '?' },
  ]
  const { messages } = callRequest({ prompt: [{ role: 'user', content }] }, [])
  expect(messages[0]!.content).toBe('\uFFFC?')
  expect(await bytesOf(messages[0]!.images![0])).toEqual(BYTES)
})

test.each([
  [
    'another address',
    { type: 'image_url', image_url: { url: 'https://example.com/a.png' } },
    /https.*data: URL/,
  ],
  ['no base64', { type: 'image_url', image_url: { url: 'data:image/png;base64,*' } }, /not valid base64/],
  ['no address', { type: 'image_url' }, /"image_url"/],
  ['sound', { type: 'input_audio' }, /"input_audio"/],
])('%s is rejected', (_, part, message) => {
  expect(() => readMessages([{ role: 'user', content: [part] }])).toThrow(
    expect.objectContaining({ code: 'unsupported', message: expect.stringMatching(message) }),
  )
})
