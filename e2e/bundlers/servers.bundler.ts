// Servers. In: the packed package in an app that Vite renders on a server, and in a worker as Cloudflare runs
// them. Out: whether the server and its page answer, and what the library says where it cannot run.
import { join } from 'node:path'
import { expect, type Page } from '@playwright/test'
import { EMBEDDED_OPTIONS, EMBEDDED_TURNS, repliesOf } from '../../test/conformance/testing/golden.ts'
import { CROSS_ORIGIN, serveFolder } from '../../test/helpers/http-server.ts'
import { packedTest as test } from '../packed/test.ts'
import { appFolder, runBundler, startServer } from './app-folder.ts'

const PORT = Number(process.env['HALFBYTE_PORT'] ?? 4173) + 20
const VITE = '../../node_modules/vite/bin/vite.js'

/** The server's answer in the page's HTML, and the page's own answer. */
async function answersOf(page: Page, address: string, models: string): Promise<unknown> {
  const problems: string[] = []
  page.on('pageerror', (error) => problems.push(error.message))
  await page.goto(address)
  await page.waitForFunction(() => 'run' in globalThis)
  const reply = await page.evaluate(
    ([model, options]) =>
      (globalThis as unknown as { run(model: string, options: object): Promise<object> }).run(model, options),
    [models, { threads: 2, prompt: EMBEDDED_TURNS[0], reply: EMBEDDED_OPTIONS }] as const,
  )
  expect(problems).toEqual([])
  return { server: await page.locator('#answer').textContent(), ...reply }
}

for (const mode of ['in development', 'built'] as const) {
  test(`a server that renders through Vite answers, and so does its page, ${mode}`, async ({
    page,
    packed,
  }) => {
    const folder = await appFolder(`vite-ssr ${mode}`, 'vite-ssr', packed)
    if (mode === 'built') {
      await runBundler(folder, [VITE, 'build', '--outDir', 'dist/client'])
      await runBundler(folder, [VITE, 'build', '--ssr', 'server-entry.js', '--outDir', 'dist/server'])
    }
    const models = await serveFolder(join(packed.installed, 'dist/models'), CROSS_ORIGIN)
    const env = { DEV: mode === 'built' ? '0' : '1' }
    const server = await startServer(folder, ['server.js', 'PORT'], PORT, 'on', env)
    try {
      const [text] = repliesOf('embedded')
      expect(await answersOf(page, server.address, `${models.address}halfbyte-stories.hbm`)).toMatchObject({
        ...{ server: text, text, threads: 2, pool: 'shared' },
      })
    } finally {
      await server.close()
      await models.close()
    }
  })
}

test("a worker of Cloudflare's kind learns that no engine can run there", async ({ packed }) => {
  const folder = await appFolder('workerd', 'workerd', packed)
  await runBundler(folder, ['build.js', String(PORT + 2)])
  const program = `../../node_modules/workerd/bin/workerd`
  const server = await startServer(folder, [program, 'serve', 'config.capnp'], PORT + 2, 'off')
  try {
    const reason = expect.stringMatching(/^no workers can be started here; load the engine in a page/)
    expect(await (await fetch(server.address)).json()).toEqual({
      supported: false,
      reason,
      failures: [
        { isOwn: true, code: 'unsupported', message: reason },
        { isOwn: true, code: 'unsupported', message: reason },
      ],
      exact: '15% * 240 = 36',
    })
  } finally {
    await server.close()
  }
})
