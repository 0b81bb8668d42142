// OpenAI's embeddings. In: an engine, a request's body. Out: one vector per text, as numbers or as base64.
import { wrongOption } from '../../../base/options.ts'
import type { Engine } from '../../engine.ts'
import type { EmbeddingList, EmbeddingParams } from '../openai-types.ts'
import { type OnWarning, warnOfUnread } from '../warn.ts'

const FIELDS: Record<keyof EmbeddingParams, true> = {
  input: true,
  model: true,
  encoding_format: true,
  dimensions: true,
}

/** Throws `unsupported` for a field with a wrong value, or for vectors shorter than the model's. */
export async function embeddings(
  engine: Engine,
  params: EmbeddingParams,
  onWarning: OnWarning,
  signal?: AbortSignal,
): Promise<EmbeddingList> {
  const { input, encoding_format: format, dimensions } = params
  const texts = typeof input === 'string' ? [input] : input
  if (!Array.isArray(texts) || texts.length === 0 || texts.some((text) => typeof text !== 'string'))
    throw wrongOption('input', input, 'a text or a list of texts')
  if (format != null && format !== 'float' && format !== 'base64')
    throw wrongOption('encoding_format', format, 'float or base64')
  warnOfUnread(params, FIELDS, onWarning)
  const vectors = await engine.embed(texts, { signal })
  const size = vectors[0]?.length
  if (dimensions != null && dimensions !== size)
    throw wrongOption('dimensions', dimensions, `${size}, the length of the model's vectors`)
  const counts = await Promise.all(texts.map((text) => engine.countTokens(text)))
  const tokens = counts.reduce((sum, count) => sum + count, 0)
  return {
    object: 'list',
    data: vectors.map((vector, index) => ({
      object: 'embedding',
      index,
      embedding: format === 'base64' ? base64(vector) : [...vector],
    })),
    model: engine.model.id,
    usage: { prompt_tokens: tokens, total_tokens: tokens },
  }
}

/** The vector's little-endian f32 bytes. */
function base64(vector: Float32Array): string {
  const bytes = new DataView(new ArrayBuffer(vector.length * 4))
  for (const [index, value] of vector.entries()) bytes.setFloat32(index * 4, value, true)
  return btoa(Array.from(new Uint8Array(bytes.buffer), (byte) => String.fromCharCode(byte)).join(''))
}
