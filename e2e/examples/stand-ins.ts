// Replaces the examples' downloads, so that tests need no network, and the camera and the microphone.
import type { Page } from '@playwright/test'
import { bertFolder, byPath, randomBert } from '../../test/conformance/testing/random-bert.ts'
import {
  colourClassifier,
  columnReader,
  darkDetector,
  loudnessDetector,
  uprightClassifier,
} from './small-networks.ts'

const headers = { 'Access-Control-Allow-Origin': '*' }

/** Replaces the hub with one repository. */
async function serveHub(page: Page, files: ReadonlyMap<string, File>): Promise<void> {
  await page.context().route('https://huggingface.co/**', async (route) => {
    const url = new URL(route.request().url())
    if (url.pathname.startsWith('/api/')) {
      const listing = [...files].map(([path, { size }]) => ({ type: 'file', path, size }))
      return route.fulfill({ headers, json: listing })
    }
    const file = files.get(url.pathname.replace(/^.*\/resolve\/main\//, ''))
    if (file === undefined) return route.fulfill({ status: 404, headers })
    return route.fulfill({ headers, body: Buffer.from(await file.arrayBuffer()) })
  })
}

/** Serves a body at each address that ends like a key. */
async function serveFiles(page: Page, files: Readonly<Record<string, Uint8Array | string>>): Promise<void> {
  for (const [name, body] of Object.entries(files))
    await page.context().route(
      (url) => url.pathname.endsWith(name),
      (route) => route.fulfill({ headers, body: Buffer.from(body) }),
    )
}

/** Replaces the microphone with a tone of a third of a second, played twice. */
async function playTones(page: Page): Promise<void> {
  await page.addInitScript(() => {
    navigator.mediaDevices.getUserMedia = async () => {
      const audio = new AudioContext()
      const tone = audio.createOscillator()
      const volume = new GainNode(audio, { gain: 0 })
      const target = audio.createMediaStreamDestination()
      for (const start of [0.5, 1.2]) {
        volume.gain.setValueAtTime(0.9, audio.currentTime + start)
        volume.gain.setValueAtTime(0, audio.currentTime + start + 0.33)
      }
      tone.connect(volume).connect(target)
      tone.start()
      return target.stream
    }
  })
}

/** By example; called before its page opens. */
export const STAND_INS: Readonly<Record<string, (page: Page) => Promise<void>>> = {
  search: (page) => serveHub(page, byPath(bertFolder(randomBert(9)))),
  labels: (page) =>
    serveHub(
      page,
      byPath([
        new File([new Uint8Array(colourClassifier())], 'onnx/model.onnx'),
        new File(['{ "id2label": { "0": "brick", "1": "grass", "2": "sky" } }'], 'config.json'),
      ]),
    ),
  ocr: (page) =>
    serveFiles(page, {
      'det_small.onnx': darkDetector(),
      'cls_mobile.onnx': uprightClassifier(),
      'rec_small.onnx': columnReader(),
    }),
  async speech(page) {
    await serveFiles(page, { 'silero_vad_v5.onnx': loudnessDetector() })
    await playTones(page)
  },
}

/** Chooses a picture of 320 x 240 pixels with black boxes (left, top, width, height). */
export async function choosePicture(
  page: Page,
  colour: string,
  boxes: readonly (readonly number[])[] = [],
): Promise<void> {
  const address = await page.evaluate(
    ([background, black]) => {
      const canvas = document.createElement('canvas')
      Object.assign(canvas, { width: 320, height: 240 })
      const context = canvas.getContext('2d') as CanvasRenderingContext2D
      context.fillStyle = background
      context.fillRect(0, 0, 320, 240)
      context.fillStyle = 'black'
      for (const [left = 0, top = 0, width = 0, height = 0] of black)
        context.fillRect(left, top, width, height)
      return canvas.toDataURL()
    },
    [colour, boxes] as const,
  )
  const buffer = Buffer.from(address.replace(/^.*,/, ''), 'base64')
  await page.locator('input[type=file]').setInputFiles({ name: 'picture.png', mimeType: 'image/png', buffer })
}
