// Probing a repository of graphs. In: graphs on a server, in the layout of transformers.js. Out: what the
// page learns about each, and its requests.
import { expect } from '@playwright/test'
import { test } from '../golden-server.ts'
import { openLibrary } from '../library-site.ts'
import { tinyOnnx } from '../small-models.ts'

test('a page learns what each graph would cost, and a missing file is requested once', async ({
  page,
  site,
  server,
}) => {
  const files = await tinyOnnx()
  let bytes = 0
  for (const file of files) {
    const isGraph = /\.onnx|\.data$/.test(file.name)
    const content = await file.bytes()
    if (isGraph) bytes += content.byteLength
    server.files.set(`repo/${isGraph ? 'onnx/' : ''}${file.name}`, content)
  }
  const graph = server.files.get('repo/onnx/model.onnx')!
  server.files.set('repo/config.json', new TextEncoder().encode('{}'))
  server.files.set('repo/onnx/model_fp16.onnx', graph)
  await openLibrary(page, site.isolated)
  server.requests.length = 0
  const { graphs, downloadBytes, neededBytes } = await page.evaluate(
    (url) => halfbyte.Engine.probe(url, { cache: 'none', contextLength: 64 }),
    `${server.address}repo/`,
  )
  expect(downloadBytes).toBe(bytes)
  expect(graphs).toMatchObject([
    { file: 'onnx/model_fp16.onnx', dtype: 'fp16', isDefault: true, neededBytes, fits: true },
    { file: 'onnx/model.onnx', dtype: 'fp32', isDefault: false, downloadBytes: graph.byteLength, fits: true },
  ])
  const missed = server.requests.filter((line) => !server.files.has(line.split(' ')[1]!.slice(1)))
  expect(missed.length).toBeGreaterThan(0)
  expect(missed.filter((line, index) => missed.indexOf(line) !== index)).toEqual([])
})
