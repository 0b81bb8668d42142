// A byte tokenizer. In: a number of tokens. Out: a tokenizer.json with bytes and, from 256, fillers, for
// generated models.
import { type ByteSource, bufferSource } from '../../../src/core/base/bytes.ts'

const printable = (byte: number) => (byte > 32 && byte < 127) || (byte > 160 && byte !== 173)

/** GPT-2's printable stand-in for each byte; token 256 + N is `<filler_N>`, as in the benches' GGUF. */
export function byteTokenizer(count: number): ByteSource {
  let next = 256
  const letters = Array.from({ length: 256 }, (_, byte) =>
    String.fromCharCode(printable(byte) ? byte : next++),
  )
  const fillers = Array.from({ length: Math.max(0, count - 256) }, (_, index) => `<filler_${index}>`)
  const tokens = [...letters.slice(0, count), ...fillers]
  const vocab = Object.fromEntries(tokens.map((token, id) => [token, id]))
  const level = { type: 'ByteLevel', add_prefix_space: false, trim_offsets: true, use_regex: true }
  const json = {
    version: '1.0',
    added_tokens: [],
    normalizer: null,
    pre_tokenizer: level,
    post_processor: null,
    decoder: level,
    model: { type: 'BPE', dropout: null, unk_token: null, vocab, merges: [] },
  }
  return bufferSource('tokenizer.json', new TextEncoder().encode(JSON.stringify(json)))
}
