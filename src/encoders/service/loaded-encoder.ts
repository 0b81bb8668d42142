// A loaded encoder as the service sees it, and the interface of the script that loads one from an ONNX graph.
import type { ByteSource } from '../../core/base/bytes.ts'
import type { Place } from '../../core/formats/names/named-files.ts'
import type { Host } from '../../core/runtime/host.ts'
import type { TokenizerSpec } from '../../core/text/spec.ts'
import type { EncoderTokenizer } from '../../core/text/tokenize/read/encoder-tokenizer.ts'
import type { MemoryUse } from '../../engine/api/types.ts'
import type { LoaderHooks } from '../../engine/load/loaded-model.ts'
import type { OpenFiles } from '../../engine/load/open/requested-files.ts'
import type { DenseHead } from '../families/dense-head.ts'
import type { RankHead } from '../families/rank-head.ts'
import type { EmbedderInfo, EncoderRequest } from './embed-protocol.ts'
import type { EmbedSettings } from './embed-settings.ts'
import type { EmbedRun, EncodedText } from './embed-texts.ts'

/** An encoder that is ready to use. */
export interface LoadedEncoder {
  readonly info: EmbedderInfo
  readonly settings: EmbedSettings
  readonly tokenizer: EncoderTokenizer
  /** A reranker's score of a pair's pooled hidden states; undefined for other encoders. */
  readonly score: RankHead['score'] | undefined
  /** Must not be called concurrently. */
  embed(texts: readonly EncodedText[], run: Omit<EmbedRun, 'heads'>): Promise<Float32Array[]>
  memory(): MemoryUse
  dispose(): void | Promise<void>
}

/** Information about an encoder that is known before its graph is read. */
export interface GraphParts {
  readonly sources: readonly ByteSource[]
  readonly request: EncoderRequest
  readonly hooks: LoaderHooks
  readonly host: Host
  readonly settings: EmbedSettings
  /** Opens external data next to the graph. */
  readonly open: (place: Place) => Promise<OpenFiles>
  /**
   * The tokenizer of the file `name`, for an embedding of `rows` rows, if their number is known. Throws
   * `format` if the specification is missing, malformed or of another model.
   */
  readonly tokenizerOf: (
    name: string,
    spec: TokenizerSpec | undefined,
    rows: number | undefined,
  ) => EncoderTokenizer
  /** The Dense modules after the pooling. `width`: the length of the pooled vectors. */
  readonly headsOf: (width: number) => Promise<readonly DenseHead[]>
}

/** The exports of dist/readers/encoders.js. */
export interface GraphEncoders {
  /**
   * Throws the errors that `Embedder.load` documents, in which case nothing stays allocated. The sources must
   * stay open until the encoder is disposed.
   */
  openGraphEncoder(parts: GraphParts): Promise<LoadedEncoder>
}
