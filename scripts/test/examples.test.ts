// The examples' packages. In: their package.json files, those of the tests and the package's. Out: a failure
// for a version that no test installs.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

const here = (path: string) => new URL(`../../${path}`, import.meta.url)
const read = (path: string) => JSON.parse(readFileSync(here(path), 'utf8'))

const names = readdirSync(here('examples')).filter((name) =>
  existsSync(here(`examples/${name}/package.json`)),
)

test('each example requires the versions that its test installs', () => {
  const { version } = read('package.json')
  const tried = { ...read('e2e/bundlers/package.json').devDependencies, halfbyte: version }
  expect(names.length).toBeGreaterThan(0)
  for (const name of names) {
    const { dependencies, devDependencies } = read(`examples/${name}/package.json`)
    const asked = { ...dependencies, ...devDependencies }
    expect({ ...tried, ...asked }, name).toEqual(tried)
  }
})

test('each example is in the list of examples', () => {
  const list = readFileSync(here('examples/README.md'), 'utf8')
  const folders = readdirSync(here('examples'), { withFileTypes: true }).filter((entry) =>
    entry.isDirectory(),
  )
  const missing = folders.filter(({ name }) => !list.includes(`| [\`${name}\`](${name}) |`))
  expect(missing.map(({ name }) => name)).toEqual([])
})
