// In: files of all kinds. Out: whether texts and images are read, and all others rejected with a message.
import { expect, test, vi } from 'vitest'
import { MAX_BYTES, MAX_DOCUMENTS } from '../../../../src/ui/documents/kinds.ts'
import { MAX_HEAVY_BYTES, readFiles } from './read-files.ts'

const file = (name: string, content: BlobPart, type = '') => new File([content], name, { type })
const read = async (files: readonly File[], taken = 0) => (await readFiles(files, taken, false)).attachments

test('large files, too many files and non-text files are rejected with their numbers', async () => {
  const large = file('long.txt', 'x'.repeat(MAX_BYTES.text + 1))
  await expect(read([large])).rejects.toMatchObject({
    code: 'unsupported',
    message: expect.stringContaining('long.txt is 4.0 MB'),
    detail: { bytes: MAX_BYTES.text + 1, document: 'large' },
  })
  const many = Array.from({ length: MAX_DOCUMENTS }, () => file('a.txt', 'a'))
  await expect(read(many, 1)).rejects.toMatchObject({ code: 'unsupported', detail: { count: 9 } })
  for (const content of [Uint8Array.of(0xff, 0xfe, 0xfd), 'a\0b'])
    await expect(read([file('a.txt', content)])).rejects.toMatchObject({ detail: { document: 'kind' } })
  expect(await read([file('a b.txt', 'one\r\ntwo\n')])).toEqual([{ name: 'a b.txt', text: 'one\ntwo' }])
})

test('an image is read if the browser decodes it and the model has vision', async () => {
  const close = vi.fn()
  vi.stubGlobal('createImageBitmap', async (blob: Blob) => {
    if ((await blob.text()) !== 'pixels') throw new TypeError('no picture')
    return { close }
  })
  const photo = file('my fox.png', 'pixels', 'image/png')
  const [attachment] = await read([photo])
  expect(attachment).toMatchObject({ name: 'my fox.png', file: { type: 'image/png', size: 6 } })
  expect(close).toHaveBeenCalledOnce()
  await expect(read([file('a.heic', 'other', 'image/heic')])).rejects.toMatchObject({
    code: 'format',
    message: expect.stringContaining('cannot show a.heic'),
  })
  await expect(readFiles([photo], 0, true)).rejects.toMatchObject({
    code: 'unsupported',
    message: expect.stringContaining('cannot see pictures'),
  })
  const heavy = { name: 'a.png', type: 'image/png', size: MAX_HEAVY_BYTES + 1 } as File
  await expect(read([heavy])).rejects.toMatchObject({
    detail: { size: heavy.size, most: MAX_HEAVY_BYTES },
  })
  expect(await read([file('a.svg', '<svg/>', 'image/svg+xml')])).toEqual([{ name: 'a.svg', text: '<svg/>' }])
  vi.unstubAllGlobals()
})

test('an image whose header claims too much is rejected before the browser decodes it', async () => {
  const decode = vi.fn()
  vi.stubGlobal('createImageBitmap', decode)
  const gif = Uint8Array.of(...new TextEncoder().encode('GIF89a'), 0xff, 0xff, 0xff, 0xff, 0, 0, 0)
  await expect(read([file('a.gif', gif, 'image/gif')])).rejects.toMatchObject({ code: 'format' })
  expect(decode).not.toHaveBeenCalled()
  vi.unstubAllGlobals()
})

test('an animated image is reported', async () => {
  class ImageDecoder {
    tracks = { ready: Promise.resolve(), selectedTrack: { animated: true } }
    close(): void {}
  }
  vi.stubGlobal('createImageBitmap', async () => ({ close: () => undefined }))
  const gif = file('a.gif', 'pixels', 'image/gif')
  expect((await readFiles([gif], 0, false)).note).toBe('')
  vi.stubGlobal('ImageDecoder', ImageDecoder)
  expect((await readFiles([gif], 0, false)).note).toMatch(/first frame/)
  vi.unstubAllGlobals()
})
