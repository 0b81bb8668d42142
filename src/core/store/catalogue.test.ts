// In: the catalogue. Out: whether each entry can be downloaded as described, and whether a user's input finds
// it.
import { describe, expect, test } from 'vitest'
import { REAL_MODELS } from '../../../scripts/models/real-models.mjs'
import { CATALOGUE, catalogued } from './catalogue.ts'
import { hubUrl, parseHubAddress } from './hub.ts'

describe.each(CATALOGUE)('$id', (model) => {
  test('names files at a fixed commit, with known hash and size', () => {
    const parts = parseHubAddress(model.address)!
    expect(parts.revision).toMatch(/^[0-9a-f]{40}$/)
    expect(model.sha256).toMatch(/^[0-9a-f]{64}$/)
    expect(model.sizeBytes).toBeGreaterThanOrEqual(100e6)
    expect(model.sizeBytes).toBeLessThanOrEqual(1.2e9)
    expect(hubUrl(parts)).toBe(
      `https://huggingface.co/${parts.repo}/resolve/${parts.revision}/${parts.file ?? ''}`,
    )
  })

  test('is marked as checked if and only if its weights were set up', () => {
    const name = parseHubAddress(model.address)!.repo.replace(/^.*\/|-GGUF$/g, '')
    const [first] = Object.values(REAL_MODELS).filter(({ title }) => title.startsWith(`${name}, `))
    expect(model.checked).toBe(first && /GGUF, (\w+)$/.exec(first.title)?.[1])
  })

  test('is found by its id, its repository and its address', () => {
    const { repo } = parseHubAddress(model.address)!
    for (const text of [model.id, repo, repo.toLowerCase(), `hf:${repo}`, model.address])
      expect(catalogued(text)).toBe(model)
  })

  test('does not match another file or revision in its repository', () => {
    const { repo } = parseHubAddress(model.address)!
    for (const text of [`${repo}:other.gguf`, `${repo}@v1`, `${repo}/`, `./${repo}`, `${model.id}.gguf`])
      expect(catalogued(text)).toBeUndefined()
  })
})

test('ids and repositories are unique, and the smallest download comes first', () => {
  for (const key of ['id', 'title', 'address', 'sha256'] as const)
    expect(new Set(CATALOGUE.map((model) => model[key])).size).toBe(CATALOGUE.length)
  const repos = CATALOGUE.map(({ address }) => parseHubAddress(address)?.repo)
  expect(new Set(repos).size).toBe(CATALOGUE.length)
  const sizes = CATALOGUE.map(({ sizeBytes }) => sizeBytes)
  expect(sizes).toEqual(sizes.toSorted((a, b) => a - b))
})
