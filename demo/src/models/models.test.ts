// Addresses. In: what people type or paste. Out: the address that the page loads, shows and remembers.
import { expect, test } from 'vitest'
import { CATALOGUE } from '../../../src/ui/chat/library.ts'
import { choiceKey, choiceName, typedAddress } from './models.ts'

test.each([
  ['https://huggingface.co/owner/name/blob/main/x.gguf?download=true', 'owner/name:x.gguf'],
  ['https://huggingface.co/owner/name/resolve/v1/sub/x.gguf', 'owner/name:sub/x.gguf@v1'],
  ['huggingface.co/owner/name', 'owner/name'],
  ['owner/name:x.gguf', 'owner/name:x.gguf'],
  ['hf:owner/name', 'hf:owner/name'],
  ['https://a.example/x.gguf?token=1', 'https://a.example/x.gguf?token=1'],
  ['models/tiny.gguf', 'models/tiny.gguf'],
])('%s is %s', (text, address) => {
  expect(typedAddress(text)).toBe(address)
})

test('the hub page of a catalogue model’s repository selects that model', () => {
  for (const { address } of CATALOGUE) {
    const repo = address.split(/:|@/, 1)[0] ?? ''
    expect(typedAddress(`https://huggingface.co/${repo.replace(/^hf:/, '')}`), address).toBe(
      typedAddress(repo),
    )
  }
})

test('models with the same name at two addresses have different keys', () => {
  const [one, other] = ['https://a.example/m.gguf', 'https://b.example/m.gguf'].map((address) => ({
    kind: 'address' as const,
    address,
  }))
  if (one === undefined || other === undefined) throw new Error('there are two')
  expect(choiceName(one)).toBe(choiceName(other))
  expect(choiceKey(one)).not.toBe(choiceKey(other))
  const file = new File(['x'], 'm.gguf')
  expect(choiceKey({ kind: 'files', files: [file] })).toBe('m.gguf')
})
