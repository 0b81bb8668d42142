// A tokenizer. In: nothing. Out: a tokenizer.json of the 256 bytes, for models that are made here.
import { bufferSource } from '../../src/base/bytes.ts'

const letters = Array.from({ length: 256 }, (_, byte) => byte)
let next = 256
const printable = (byte: number) => (byte > 32 && byte < 127) || (byte > 160 && byte !== 173)
const vocab = Object.fromEntries(
  letters.map((byte) => [String.fromCharCode(printable(byte) ? byte : next++), byte]),
)

const json = {
  version: '1.0',
  added_tokens: [],
  normalizer: null,
  pre_tokenizer: { type: 'ByteLevel', add_prefix_space: false, trim_offsets: true, use_regex: true },
  post_processor: null,
  decoder: { type: 'ByteLevel', add_prefix_space: true, trim_offsets: true, use_regex: true },
  model: { type: 'BPE', dropout: null, unk_token: null, vocab, merges: [] },
}

export const BYTE_TOKENIZER = bufferSource('tokenizer.json', new TextEncoder().encode(JSON.stringify(json)))
