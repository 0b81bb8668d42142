// Offline use. In: the page in two builds, and servers, networks and browsers that fail. Out: whether users
// get what the table says, ranges and sizes of cached files, and a complete list of files.
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from '@playwright/test'
import { FAULTS } from './faults.ts'
import { Scene } from './scene.ts'
import { twoBuilds, type UpdatingSite, updatingSite } from './updating-site.ts'

test.use({ serviceWorkers: 'allow' })

let builds: readonly [string, string]
let site: UpdatingSite

test.beforeAll(async () => {
  builds = await twoBuilds()
})
test.beforeEach(async () => {
  site = await updatingSite(builds[0])
})
test.afterEach(() => site.close())

for (const { title, run } of FAULTS) {
  test(`offline: a server, a network or a browser that ${title}`, ({ page }) =>
    run(new Scene(page, site, builds)))
}

test('offline: the documentation has the same table', () => {
  const text = readFileSync(new URL('../../../docs/internals/offline.md', import.meta.url), 'utf8')
  for (const { title, gets } of FAULTS) expect(text).toContain(`| ${title} | ${gets} |`)
})

test('offline: requests for ranges and sizes of a cached model get the same answers as from a server', async ({
  page,
}) => {
  const scene = new Scene(page, site, builds)
  await scene.keep()
  const name = scene.asset(0, 'halfbyte-stories.hbm')
  await expect.poll(() => scene.files()).toContain(name)
  const bytes = readFileSync(join(builds[0], name))
  await scene.disconnect()
  const asked = (range?: string, method = 'GET') =>
    page.evaluate(
      async ([path, part, how]) => {
        const headers: HeadersInit = part === undefined ? {} : { Range: part }
        const response = await fetch(path as string, { method: how, headers })
        const body = new Uint8Array(await response.arrayBuffer())
        return {
          status: response.status,
          range: response.headers.get('content-range'),
          length: response.headers.get('content-length'),
          body: [...body.slice(0, 8)],
          size: body.length,
        }
      },
      [name, range, method] as const,
    )
  const part = (first: number, end: number) => ({
    status: 206,
    range: `bytes ${first}-${end - 1}/${bytes.length}`,
    length: String(end - first),
    body: [...bytes.subarray(first, Math.min(end, first + 8))],
    size: end - first,
  })
  const whole = { ...part(0, bytes.length), status: 200, range: null }
  expect(await asked('bytes=0-0')).toEqual(part(0, 1))
  expect(await asked('bytes=4096-524287')).toEqual(part(4096, 524_288))
  expect(await asked(`bytes=${bytes.length - 3}-`)).toEqual(part(bytes.length - 3, bytes.length))
  expect(await asked('bytes=-7')).toEqual(part(bytes.length - 7, bytes.length))
  expect(await asked(`bytes=100-${2 * bytes.length}`)).toEqual(part(100, bytes.length))
  expect(await asked(`bytes=${bytes.length}-`)).toMatchObject({
    status: 416,
    range: `bytes */${bytes.length}`,
  })
  for (const range of ['bytes=1-2,4-5', 'bytes=-', 'lines=1-2', undefined])
    expect(await asked(range), range).toEqual(whole)
  expect(await asked(undefined, 'HEAD')).toEqual({ ...whole, body: [], size: 0 })
})

test('offline: requesting a range of a file that is not cached fetches only that range', async ({ page }) => {
  const scene = new Scene(page, site, builds)
  await scene.keep()
  await page.reload()
  const name = scene.asset(0, 'halfbyte-mamba.hbm')
  const size = await page.evaluate(async (path) => {
    const response = await fetch(path, { headers: { Range: 'bytes=0-99' } })
    return [response.status, (await response.arrayBuffer()).byteLength]
  }, name)
  expect(size).toEqual([206, 100])
  await page.evaluate((path) => fetch(path, { method: 'HEAD' }), name)
  await page.waitForTimeout(500)
  expect(site.asked.filter((each) => each.endsWith(name))).toEqual([`GET ${name}`, `HEAD ${name}`])
  expect(await scene.files()).not.toContain(name)
})

test("offline: a build's list has every file with its hash, and every asset’s name in other builds", () => {
  const [folder] = builds
  const script = readFileSync(join(folder, 'sw.js'), 'utf8')
  const listed = Object.assign(
    {},
    ...[...script.matchAll(/^const (?:FILES|LATER) = (\{.*\})$/gm)].map(([, json]) =>
      JSON.parse(json as string),
    ),
  ) as Record<string, [string, string?]>
  const names = (readdirSync(folder, { recursive: true }) as string[]).filter(
    (name) => statSync(join(folder, name)).isFile() && name !== 'sw.js',
  )
  expect(Object.keys(listed).sort()).toEqual(names.sort())
  for (const [name, [sum, kind]] of Object.entries(listed)) {
    // Pages are recognised by their mark.
    if (name.endsWith('.html')) expect(readFileSync(join(folder, name), 'utf8')).toContain('name="build"')
    else
      expect(sum, name).toBe(
        createHash('sha256')
          .update(readFileSync(join(folder, name)))
          .digest('base64'),
      )
    expect(kind === undefined, name).toBe(!name.startsWith('assets/'))
    if (kind !== undefined) expect(kind).toBe(name.slice(7).replace(/-.{8}(\.\w+)$/, '$1'))
  }
})
