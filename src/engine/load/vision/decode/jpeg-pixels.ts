// The pixels of a JPEG outside a browser, decoded by libjpeg-turbo, as in browsers and Pillow: in
// WebAssembly, with one instance, and so one memory, per image.
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { readJpeg } from '../../../../core/formats/pictures/jpeg.ts'
import type { Pixels } from '../../../../core/formats/pixels.ts'
import { orientationOf, uprightPixels } from './orientation.ts'

/** TurboJPEG's numbers of pixel formats. */
const RGBA = 7
const CMYK = 11

/** The functions of turbojpeg.h that the module exports; pointers and sizes are numbers. */
interface TurboJpeg {
  readonly memory: WebAssembly.Memory
  readonly malloc: (bytes: number) => number
  readonly tjInitDecompress: () => number
  readonly tjDecompress2: (
    handle: number,
    file: number,
    fileBytes: number,
    pixels: number,
    width: number,
    pitch: number,
    height: number,
    format: number,
    flags: number,
  ) => number
}

let compiled: WebAssembly.Module | undefined

/** In the package, next to this script. Bundlers would copy the file if its address were written out here. */
const BUILT = './jpeg-turbo.wasm'

function turboJpegModule(): WebAssembly.Module {
  const file = import.meta.url.endsWith('.ts')
    ? createRequire(import.meta.url).resolve('@cwasm/jpeg-turbo/jpeg-turbo.wasm')
    : new URL(BUILT, import.meta.url)
  compiled ??= new WebAssembly.Module(readFileSync(file))
  return compiled
}

const unused = () => 0

/** An error ends the instance: libjpeg would longjmp to its caller. */
const fail = () => {
  throw new Error('its data is corrupt')
}

function openTurboJpeg(): TurboJpeg {
  const { exports } = new WebAssembly.Instance(turboJpegModule(), {
    env: { setjmp: unused, longjmp: fail },
    wasi_snapshot_preview1: {
      ...{ environ_sizes_get: unused, environ_get: unused, proc_exit: fail },
      ...{ fd_close: unused, fd_seek: unused, fd_write: unused },
    },
  })
  return exports as unknown as TurboJpeg
}

/**
 * The pixels, upright according to the file's orientation. If the file is truncated or damaged, libjpeg fills
 * in the missing part. Throws like `readJpeg`, and an `Error` if nothing can be decoded.
 */
export function jpegPixels(bytes: Uint8Array): Pixels {
  const { width, height, channels, end } = readJpeg(bytes)
  const codec = openTurboJpeg()
  const file = codec.malloc(end)
  const pixels = codec.malloc(4 * width * height)
  if (file === 0 || pixels === 0) throw new Error(`there is no memory for ${width} x ${height} pixels`)
  new Uint8Array(codec.memory.buffer, file, end).set(bytes.subarray(0, end))
  const format = channels === 4 ? CMYK : RGBA
  try {
    codec.tjDecompress2(codec.tjInitDecompress(), file, end, pixels, width, 4 * width, height, format, 0)
  } catch (cause) {
    throw new Error('its data is corrupt', { cause })
  }
  const data = new Uint8ClampedArray(codec.memory.buffer, pixels, 4 * width * height)
  if (format === CMYK) inksToColours(data)
  return uprightPixels({ width, height, data }, orientationOf(bytes))
}

/** Like Pillow, which assumes inverted inks, as Adobe writes them: 255 means none. */
// hot
function inksToColours(data: Uint8ClampedArray): void {
  for (let at = 0; at < data.length; at += 4) {
    const light = data[at + 3]!
    for (let i = 0; i < 3; i++) {
      const product = (255 - data[at + i]!) * light + 128
      data[at + i] = light - (((product >> 8) + product) >> 8)
    }
    data[at + 3] = 255
  }
}
