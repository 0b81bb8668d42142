// The examples with a bundler. In: each example, built as its README says, with the packed package. Out:
// whether its page answers, reports failures, and stops when its component is removed.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { packedTest as test } from '../packed/test.ts'
import { exampleFolder, runScript, startServer } from './app-folder.ts'
import { tryExample } from './example-page.ts'

const EXAMPLES = fileURLToPath(new URL('../../examples', import.meta.url))
const PORT = Number(process.env['HALFBYTE_PORT'] ?? 4173) + 4

const vite = ['../../node_modules/vite/bin/vite.js', 'preview', '--host', '127.0.0.1', '--strictPort']
const next = ['../../node_modules/next/dist/bin/next', 'start', '--hostname', '127.0.0.1']

/**
 * The examples whose built page is served. The others are applications, which applications.bundler.ts runs.
 */
const names = readdirSync(EXAMPLES, { recursive: true, encoding: 'utf8' })
  .filter((path) => /^[\w-]+\/package\.json$/.test(path))
  .filter((path) => {
    const { preview, start } = JSON.parse(readFileSync(join(EXAMPLES, path), 'utf8')).scripts
    return (preview ?? start) !== undefined
  })
  .map((path) => path.split('/')[0]!)

for (const [at, name] of names.entries()) {
  test(`the example ${name} answers, even after a failure`, async ({ page, packed }) => {
    const folder = await exampleFolder(name, packed)
    await runScript(folder, 'build')
    const args = [...(name === 'next' ? next : vite), '--port', 'PORT']
    const server = await startServer(folder, args, PORT + at, 'on')
    try {
      await tryExample(page, server.address)
    } finally {
      await server.close()
    }
  })
}
