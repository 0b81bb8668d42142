// Hostile files. In: a random model. Out: files that are damaged, inconsistent or of another kind, each with
// its error code.
import type { ErrorCode } from '../../../../src/core/base/errors.ts'
import { byteLevelSpec, jsonSpec } from '../../../../src/core/text/testing/tiny.ts'
import { ggufContents, ggufFile, jsonFile, newFile, safetensorsFiles } from '../model-files.ts'
import { randomLlama } from '../random-llama.ts'
import { type GgufContents, ggufBytes } from './gguf-writer.ts'
import { safetensorsFile } from './safetensors-writer.ts'

interface HostileModel {
  readonly title: string
  readonly code: ErrorCode
  /** Text that the message must contain, because it must name the problem. */
  readonly says: RegExp
  readonly files: () => Promise<readonly File[]>
}

const HUGE = 2n ** 60n
const model = randomLlama({ seed: 9 })

/** A valid GGUF file with damaged bytes. */
const damaged = (title: string, says: RegExp, damage: (bytes: Uint8Array) => Uint8Array): HostileModel => ({
  title,
  says,
  code: 'format',
  files: async () => [newFile('random.gguf', damage(await goodBytes()))],
})

/** A header and data that are consistent but wrong. */
const lying = (
  title: string,
  code: ErrorCode,
  says: RegExp,
  metadata: GgufContents['metadata'],
): HostileModel => ({ title, code, says, files: async () => [await ggufFile(model, 'F32', { metadata })] })

/** A changed folder of safetensors. */
const folder = (
  title: string,
  code: ErrorCode,
  says: RegExp,
  change: (files: File[]) => readonly File[],
): HostileModel => ({ title, code, says, files: async () => change(safetensorsFiles(model)) })

const text = (name: string, content: string) => async () => [new File([content], name)]

export const HOSTILE_MODELS: readonly HostileModel[] = [
  { title: 'an empty file', code: 'format', says: /empty/, files: text('model.gguf', '') },
  {
    title: 'a web page',
    code: 'format',
    says: /web page/,
    files: text('model.gguf', '<!DOCTYPE html>\n<html><body>Sign in</body></html>'),
  },
  { title: 'four bytes of GGUF', code: 'format', says: /4 /, files: text('model.gguf', 'GGUF') },
  damaged('a file truncated in its header', /the file has 3000/, (bytes) => bytes.slice(0, 3000)),
  damaged('a file truncated in its last tensor', /ends at byte \d+ of a file of \d+/, (bytes) =>
    bytes.slice(0, -100),
  ),
  damaged('2^60 tensors', /1152921504606846976 tensors/, (bytes) => withU64(bytes, 8, HUGE)),
  damaged('2^60 metadata entries', /1152921504606846976 metadata/, (bytes) => withU64(bytes, 16, HUGE)),
  damaged('a key of 2^60 bytes', /1152921504606846976/, (bytes) => withU64(bytes, 24, HUGE)),
  damaged('a vocabulary of 2^60 tokens', /1152921504606846976/, (bytes) =>
    withU64(bytes, after(bytes, 'tokenizer.ggml.tokens') + 8, HUGE),
  ),
  damaged('a tensor of 2^60 columns', /1152921504606846976/, (bytes) =>
    withU64(bytes, after(bytes, 'blk.1.ffn_up.weight') + 4, HUGE),
  ),
  damaged('a tensor of 2^30 by 2^30', /larger than the file/, (bytes) => {
    const dims = after(bytes, 'blk.1.ffn_up.weight') + 4
    return withU64(withU64(bytes, dims, 2n ** 30n), dims + 8, 2n ** 30n)
  }),
  damaged('a tensor at offset 2^60', /ends at byte 11529215046068\d+ of a file of \d+/, (bytes) =>
    withU64(bytes, after(bytes, 'blk.1.ffn_up.weight') + 24, HUGE),
  ),
  damaged('two tensors at the same offset', /inside "token_embd/, (bytes) =>
    withU64(bytes, after(bytes, 'blk.1.ffn_up.weight') + 24, 0n),
  ),
  lying('an unknown architecture', 'architecture', /gpt9/, { 'general.architecture': ['string', 'gpt9'] }),
  lying('2^31 layers', 'architecture', /2147483648/, { 'llama.block_count': ['u32', 2 ** 31] }),
  lying('one more layer than the file has', 'architecture', /blk\.2/, { 'llama.block_count': ['u32', 3] }),
  lying('one layer fewer than the file has', 'unsupported', /blk\.1/, { 'llama.block_count': ['u32', 1] }),
  lying('no heads', 'architecture', /a llama needs heads/, { 'llama.attention.head_count': ['u32', 0] }),
  lying('rows of 2^30', 'architecture', /1073741824/, { 'llama.embedding_length': ['u32', 2 ** 30] }),
  lying('an epsilon that is not a number', 'architecture', /NaN/, {
    'llama.attention.layer_norm_rms_epsilon': ['f32', Number.NaN],
  }),
  lying('a text in place of a number', 'architecture', /block_count is "two"/, {
    'llama.block_count': ['string', 'two'],
  }),
  lying('a vocabulary of another size', 'architecture', /259/, {
    'tokenizer.ggml.tokens': ['string[]', byteLevelSpec().tokens.slice(10)],
    'tokenizer.ggml.token_type': ['i32[]', byteLevelSpec().types!.slice(10)],
  }),
  lying('merges of tokens that do not exist', 'format', /merge/, {
    'tokenizer.ggml.merges': ['string[]', ['kitten cat']],
  }),
  lying('an unknown kind of tokenizer', 'unsupported', /runes/, {
    'tokenizer.ggml.model': ['string', 'runes'],
  }),
  {
    title: 'a GGUF file without a tokenizer',
    code: 'format',
    says: /has no tokenizer; convert/,
    files: async () => {
      const contents = ggufContents(model, 'F32')
      const kept = Object.entries(contents.metadata).filter(([key]) => !key.startsWith('tokenizer.'))
      return [newFile('random.gguf', await ggufBytes({ ...contents, metadata: Object.fromEntries(kept) }))]
    },
  },
  folder(
    'safetensors without tokenizer.json',
    'format',
    /has no tokenizer; pass its tokenizer\.json/,
    (files) => files.filter(({ name }) => !name.startsWith('tokenizer')),
  ),
  folder('safetensors without config.json', 'format', /config\.json/, (files) =>
    files.filter(({ name }) => name !== 'config.json'),
  ),
  folder('safetensors of an unknown architecture', 'architecture', /Gpt9/, (files) =>
    replaced(files, jsonFile('config.json', { ...model.config, architectures: ['Gpt9ForCausalLM'] })),
  ),
  folder('a configuration of another size', 'architecture', /128/, (files) =>
    replaced(files, jsonFile('config.json', { ...model.config, hidden_size: 128 })),
  ),
  folder('a configuration that is not JSON', 'format', /config\.json/, (files) =>
    replaced(files, new File(['<html>'], 'config.json')),
  ),
  folder('the tokenizer of a larger model', 'format', /tokens/, (files) =>
    replaced(files, jsonFile('tokenizer.json', largerTokenizer())),
  ),
  folder('a safetensors header of 2^60 bytes', 'format', /1152921504606846976/, (files) =>
    replaced(files, newFile('model.safetensors', withU64(new Uint8Array(1000), 0, HUGE))),
  ),
  folder('a safetensors offset of 2^52', 'format', /4503599627370752/, (files) => {
    const header = {
      'model.norm.weight': { dtype: 'F32', shape: [64], data_offsets: [2 ** 52, 2 ** 52 + 256] },
    }
    return replaced(files, newFile('model.safetensors', safetensorsFile(header, new Uint8Array(256))))
  }),
  folder('a safetensors dimension of 2^60', 'format', /model\.norm\.weight/, (files) => {
    const header = { 'model.norm.weight': { dtype: 'F32', shape: [2 ** 60], data_offsets: [0, 256] } }
    return replaced(files, newFile('model.safetensors', safetensorsFile(header, new Uint8Array(256))))
  }),
]

async function goodBytes(): Promise<Uint8Array> {
  return new Uint8Array(await (await ggufFile(model)).arrayBuffer())
}

function replaced(files: readonly File[], by: File): File[] {
  return files.map((file) => (file.name === by.name ? by : file))
}

/** The tiny tokenizer with a hundred more special tokens. */
/** Its own vocabulary has more tokens than the model has rows; only added tokens may exceed the rows. */
function largerTokenizer(): object {
  const { tokenizer } = jsonSpec()
  const own = tokenizer.model as { readonly vocab: Readonly<Record<string, number>> }
  const more = Array.from({ length: 100 }, (_, index) => [`extra${index}`, model.config.vocab_size + index])
  return { ...tokenizer, model: { ...own, vocab: { ...own.vocab, ...Object.fromEntries(more) } } }
}

function withU64(bytes: Uint8Array, at: number, value: bigint): Uint8Array {
  const changed = bytes.slice()
  new DataView(changed.buffer).setBigUint64(at, value, true)
  return changed
}

/** The offset just after the text `name`. */
function after(bytes: Uint8Array, name: string): number {
  const at = new TextDecoder('latin1').decode(bytes).indexOf(name)
  if (at < 0) throw new Error(`the file has no ${name}`)
  return at + name.length
}
