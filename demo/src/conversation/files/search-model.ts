// The search model: a sentence encoder that compares passages with a question. It loads with the first
// question about a long file.
import { Embedder } from '../../../../src/encoders/embedder/embedder.ts'
import { type Encoder, EncoderSlot } from '../../../../src/ui/chat/encoder-slot.ts'

const slot = new EncoderSlot(() => (source, options) => Embedder.load(source, options))

/** The encoder at an address. Rejects like `Embedder.load`. */
export const encoderAt = (address: string): Promise<Encoder> => slot.of(address, {})
