// A newcomer's first hour. In: the tarball, an empty folder, and the network for one `npm install`. Out:
// whether a program, the command and the guide's first page answer once the network is gone.
import { execFile, spawnSync } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect } from '@playwright/test'
import { EMBEDDED_OPTIONS, EMBEDDED_TURNS, repliesOf } from '../../test/conformance/testing/golden.ts'
import { writeGuideFiles } from '../../test/helpers/guide-files.ts'
import { ISOLATION, serveFolder } from '../../test/helpers/http-server.ts'
import { packedTest } from '../packed/test.ts'
import { pressUntil } from '../start/press-until.ts'
import { PATH } from './app-folder.ts'

const run = promisify(execFile)
const [STORY = ''] = repliesOf('embedded')

/** The command that starts a process without a network; empty where this user cannot do that. */
const CUT = spawnSync('unshare', ['-rn', 'true']).status === 0 ? ['unshare', '-rn'] : []

/** Commands in the newcomer's folder, with this process's Node. */
class Folder {
  readonly path: string

  constructor(path: string) {
    this.path = path
  }

  async online(...command: string[]): Promise<string> {
    return this.#run(command, {})
  }

  /** Without a network where the system allows it, and with a registry that does not answer. */
  async offline(...command: string[]): Promise<string> {
    return this.#run([...CUT, ...command], { npm_config_registry: 'http://127.0.0.1:9' })
  }

  async #run([program = '', ...args]: string[], own: Record<string, string>): Promise<string> {
    const store = { HALFBYTE_HOME: join(this.path, 'store') }
    const env = { ...process.env, ...store, ...own, PATH, NODE_ENV: undefined }
    const { stdout } = await run(program, args, { cwd: this.path, env, timeout: 200_000 })
    return stdout
  }
}

const test = packedTest.extend<{ newcomer: Folder }>({
  async newcomer({ packed }, use) {
    const path = await mkdtemp(join(tmpdir(), 'halfbyte-newcomer-'))
    const folder = new Folder(path)
    const { devDependencies } = JSON.parse(await readFile(new URL('package.json', import.meta.url), 'utf8'))
    await writeFile(join(path, 'package.json'), '{ "private": true, "type": "module" }\n')
    const packages = [packed.tarball, `vite@${devDependencies.vite}`]
    const fault = await folder.online('npm', 'install', '--no-audit', '--no-fund', ...packages).then(
      () => undefined,
      ({ stderr }) => String(stderr),
    )
    packedTest.skip(/E(?:AI_AGAIN|NOTFOUND|NETUNREACH|CONNREFUSED)/.test(fault ?? ''), 'there is no network')
    expect(fault).toBeUndefined()
    await use(folder)
    await rm(path, { recursive: true })
  },
})

test('after one install, a program, the command and a page answer without a network', async ({
  page,
  newcomer,
}) => {
  await test.step('a program', async () => {
    const asked = JSON.stringify(EMBEDDED_TURNS[0])
    await writeFile(
      join(newcomer.path, 'story.js'),
      `import { Engine } from 'halfbyte'
await using engine = await Engine.load('embedded')
const session = engine.createSession()
for await (const { text } of session.send(${asked}, ${JSON.stringify(EMBEDDED_OPTIONS)})) process.stdout.write(text)
`,
    )
    expect(await newcomer.offline('node', 'story.js')).toBe(STORY)
  })

  await test.step('the command', async () => {
    const halfbyte = (...args: string[]) => newcomer.offline('npx', '--no-install', 'halfbyte', ...args)
    expect(await halfbyte('--version')).toMatch(/^\d+\.\d+\.\d+\n$/)
    const listed: { id: string; isEmbedded: boolean }[] = JSON.parse(await halfbyte('models', '--json'))
    expect(listed.find(({ id }) => id === 'embedded')?.isEmbedded).toBe(true)
    expect(await halfbyte('inspect', 'embedded')).toMatch(/llama/i)
    const generated = await halfbyte(
      ...['generate', 'embedded', '--prompt', 'Once upon a time', '--temperature', '0', '--max-tokens', '12'],
    )
    expect(generated).toMatch(/there was a little girl/)
  })

  await test.step("the guide's first page", async () => {
    await writeGuideFiles('page.md', 'A first page', newcomer.path)
    await newcomer.offline('npx', '--no-install', 'vite', 'build')
    const server = await serveFolder(join(newcomer.path, 'dist'), ISOLATION)
    const elsewhere: string[] = []
    await page.context().route(
      (url) => url.hostname !== '127.0.0.1',
      (route) => {
        elsewhere.push(route.request().url())
        return route.abort()
      },
    )
    await page.goto(server.address)
    await page.waitForFunction(() => document.querySelector('form')?.onsubmit)
    await pressUntil(page, 'Send', /^Once upon a time.{100,}/s)
    await pressUntil(page, '12 * 7', /^\[calculate: 84\] .*84/s)
    expect(elsewhere).toEqual([])
    await server.close()
  })
})

test('an offline process cannot reach the network', async ({ newcomer }) => {
  test.skip(CUT.length === 0, 'this user cannot start a process without a network here')
  await writeFile(
    join(newcomer.path, 'reach.js'),
    "await fetch('http://127.0.0.1:4999').catch(({ cause }) => console.log(cause.code))",
  )
  expect(await newcomer.offline('node', 'reach.js')).toBe('ENETUNREACH\n')
})
