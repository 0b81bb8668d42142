// Tests that docs/compared.md has the versions that the command measures.
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { betweenMarkers } from '../perf/docs.ts'
import { nameAndVersion, PEERS } from './peers.ts'

const page = readFileSync(new URL('../../../docs/compared.md', import.meta.url), 'utf8')
const versionOf = ({ packages }: (typeof PEERS)[number]) =>
  packages[0] === undefined ? '' : nameAndVersion(packages[0]).version

test('the page has a row for each library in the measured version', () => {
  const rows = betweenMarkers(page, 'npm run bench:compared -- --docs')?.split('\n').slice(2) ?? []
  expect(rows).toHaveLength(PEERS.length)
  for (const [at, peer] of PEERS.entries()) expect(rows[at]).toContain(`| ${peer.name} ${versionOf(peer)}`)
})

test('the page mentions no other version of a library', () => {
  const header = page.split('\n').find((line) => line.startsWith('| | Halfbyte')) ?? ''
  const columns = header.split('|').slice(2, -1)
  const named = columns.map((column) => /^ (\S+) (\d[\w.-]*)/.exec(column)?.slice(1) ?? [])
  for (const peer of PEERS.filter(({ name }) => columns.some((column) => column.includes(name))))
    if (versionOf(peer) !== '') expect(named).toContainEqual([peer.name, versionOf(peer)])
})

test('only exact versions are installed', () => {
  expect(nameAndVersion('@a/b@1.2.3-dev.4')).toEqual({ name: '@a/b', version: '1.2.3-dev.4' })
  for (const spec of ['a', 'a@latest', 'a@^1.2.3'])
    expect(() => nameAndVersion(spec)).toThrow(/exact version/)
})
