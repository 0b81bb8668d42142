// Pictures as tensors. In: pixels. Out: elements, and how points map back.
import { expect, test } from 'vitest'
import type { Pixels } from '../../core/formats/pixels.ts'
import { type PictureOptions, pictureTensor } from './picture-tensor.ts'

/** A picture whose pixel (x, y) is [10 x, 10 y, 255]. */
function gradient(width: number, height: number, alpha = 255): Pixels {
  const data = new Uint8ClampedArray(width * height * 4)
  for (let at = 0; at < width * height; at++)
    data.set([10 * (at % width), 10 * Math.trunc(at / width), 255, alpha], at * 4)
  return { width, height, data }
}

const BYTES = { std: 1 / 255 }
const valuesOf = async (options: PictureOptions, picture = gradient(2, 2)) => {
  const { tensor } = await pictureTensor(picture, options)
  return [...tensor.data].map((value) => Math.round(value * 1e4) / 1e4)
}

test('a picture of the right size keeps its bytes, one plane per channel', async () => {
  expect(await valuesOf({ size: 2, ...BYTES })).toEqual([0, 10, 0, 10, 0, 0, 10, 10, 255, 255, 255, 255])
})

test('nhwc and bgr change the order of the elements', async () => {
  const options = { size: 2, layout: 'nhwc', channels: 'bgr', ...BYTES } as const
  expect(await valuesOf(options)).toEqual([255, 0, 0, 255, 0, 10, 255, 10, 0, 255, 10, 10])
  const { tensor } = await pictureTensor(gradient(2, 3), { size: [4, 5], layout: 'nhwc' })
  expect(tensor.dims).toEqual([1, 5, 4, 3])
})

test('mean and std are in units of the full range and in the order of the tensor', async () => {
  const options = { size: 1, mean: [0.5, 0.25, 0], std: [0.5, 0.25, 2] }
  const white = { width: 1, height: 1, data: Uint8Array.of(255, 255, 255, 255) }
  expect(await valuesOf(options, white)).toEqual([1, 3, 0.5])
  const blue = { width: 1, height: 1, data: Uint8Array.of(0, 0, 255, 255) }
  expect(await valuesOf({ ...options, channels: 'bgr' }, blue)).toEqual([1, -1, 0])
})

test('transparent pixels show white', async () => {
  expect(await valuesOf({ size: 2, ...BYTES }, gradient(2, 2, 0))).toEqual(Array(12).fill(255))
})

test('a letterbox has bars of the colour, and scale and offset map its corners back', async () => {
  const options = { size: 8, fit: 'letterbox', pad: [1, 2, 3], ...BYTES } as const
  const { tensor, scale, offset, width, height } = await pictureTensor(gradient(4, 2), options)
  expect([width, height, ...scale, ...offset]).toEqual([4, 2, 2, 2, 0, 2])
  const plane = (channel: number) => [...tensor.data.subarray(channel * 64, channel * 64 + 64)]
  for (const [channel, byte] of [1, 2, 3].entries()) {
    const rows = plane(channel)
    expect([...rows.slice(0, 16), ...rows.slice(48)].map(Math.round)).toEqual(Array(32).fill(byte))
  }
  expect(plane(2).slice(16, 48).map(Math.round)).toEqual(Array(32).fill(255))
  expect((8 - offset[0]) / scale[0]).toBe(4)
  expect((6 - offset[1]) / scale[1]).toBe(2)
  const mirrored = await valuesOf({ ...options, channels: 'bgr' }, gradient(4, 2))
  expect(mirrored[0]).toBe(3)
})

test('a crop takes the center, whatever the aspect ratio', async () => {
  const { tensor, scale, offset } = await pictureTensor(gradient(6, 2), { size: 2, fit: 'crop', ...BYTES })
  expect([...tensor.data.subarray(0, 4)].map(Math.round)).toEqual([20, 30, 20, 30])
  expect([...scale, ...offset]).toEqual([1, 1, -2, 0])
  const thin = { width: 16_384, height: 1, data: new Uint8Array(4 * 16_384).fill(255) }
  const tall = await pictureTensor(thin, { size: [1, 16_384], fit: 'crop' })
  expect(Math.min(...tall.tensor.data)).toBe(1)
})

test('random shapes map each corner of the picture within a pixel of where it is drawn', async () => {
  for (let seed = 1; seed < 200; seed++) {
    const [w, h, width, height] = [seed % 13, seed % 17, seed % 11, seed % 19].map((side) => side + 1) as [
      number,
      number,
      number,
      number,
    ]
    const picture = { width: w, height: h, data: new Uint8Array(w * h * 4).fill(255) }
    const { tensor, scale, offset } = await pictureTensor(picture, {
      size: [width, height],
      fit: 'letterbox',
    })
    const white = [...tensor.data.subarray(0, width * height)].reduce((sum, value) => sum + value, 0)
    const [wide, high] = [w * scale[0], h * scale[1]]
    expect(Math.round(white)).toBe(Math.round(wide) * Math.round(high))
    expect(tensor.data[offset[1] * width + offset[0]]).toBe(1)
  }
})

test('invalid pictures and options are rejected by name', async () => {
  const rejects = (picture: unknown, options: unknown) =>
    expect(pictureTensor(picture as never, options as never)).rejects
  const fine = gradient(2, 2)
  await rejects(fine, {}).toThrow(/size is .* \[width, height\]/)
  await rejects(fine, { size: 0 }).toThrow('0 x 0')
  await rejects(fine, { size: [2, 2.5] }).toThrow('size is')
  await rejects(fine, { size: 1 << 20 }).toThrow('16384')
  await rejects(fine, { size: 2, std: 0 }).toThrow('std is 0')
  await rejects(fine, { size: 2, mean: [1, 2] }).toThrow('mean is [1,2]')
  await rejects(fine, { size: 2, pad: 300 }).toThrow('pad is 300')
  await rejects(fine, { size: 2, fits: 'crop' }).toThrow('the nearest is fit')
  await rejects({ ...fine, width: 3 }, { size: 2 }).toThrow('3 x 2 pixels in 16 bytes')
  await rejects('a.png', { size: 2 }).toThrow('the picture is "a.png"')
  await rejects(new Blob(['x']), { size: 2 }).toMatchObject({
    code: expect.stringMatching(/format|unsupported/),
  })
})
