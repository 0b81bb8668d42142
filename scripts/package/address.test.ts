// The project's address. In: addresses as people write them, and package.json. Out: the three fields of
// package.json, and whether it can be published.
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { addressFields, checkAddress, PLACEHOLDER } from './address.mjs'

test('an address fills all fields', () => {
  const fields = addressFields('https://example.org/group/team/halfbyte.git')
  expect(fields).toEqual({
    homepage: 'https://example.org/group/team/halfbyte#readme',
    bugs: { url: 'https://example.org/group/team/halfbyte/issues' },
    repository: { type: 'git', url: 'git+https://example.org/group/team/halfbyte.git' },
  })
  expect(() => checkAddress(fields)).not.toThrow()
})

test.each([
  undefined,
  '',
  'halfbyte',
  'http://example.org/owner/halfbyte',
  'https://example.org/halfbyte',
  'https://example.org/owner/halfbyte?tab=readme',
  'https://example.org/owner/halfbyte#readme',
  'git@example.org:owner/halfbyte.git',
])('%s is rejected', (address) => {
  expect(() => addressFields(address)).toThrow('give one like https://')
})

test('package.json has the fields, and cannot be published with the placeholder or with two addresses', () => {
  const manifest = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))
  const { homepage, bugs, repository } = manifest
  const home = homepage.replace(/#readme$/, '')
  expect({ homepage, bugs, repository }).toEqual(addressFields(home))
  expect(() => checkAddress(addressFields(PLACEHOLDER))).toThrow('has no address yet')
  const other = addressFields('https://example.org/owner/halfbyte')
  expect(() => checkAddress({ ...other, bugs: { url: 'https://example.org/issues' } })).toThrow(
    'several addresses',
  )
  expect(manifest.scripts.prepublishOnly).toBe('node scripts/package/address.mjs --check')
})
