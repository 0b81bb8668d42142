// Adapts models for version 7 of the AI SDK to versions 5 and 6.
import type {
  CallOptions,
  EmbedCall,
  EmbeddingModel,
  FinishReason,
  GenerateResult,
  LanguageModel,
  RerankingModel,
  StreamPart,
  Usage,
  Warning,
} from './ai-sdk-types.ts'

/** `LanguageModelV3` differs only in parts that we do not use. */
export type LanguageModel6 = Omit<LanguageModel, 'specificationVersion'> & {
  readonly specificationVersion: 'v3'
}
export type EmbeddingModel6 = Omit<EmbeddingModel, 'specificationVersion'> & {
  readonly specificationVersion: 'v3'
}

export interface Usage5 {
  inputTokens: number | undefined
  outputTokens: number | undefined
  totalTokens: number | undefined
  cachedInputTokens?: number | undefined
}

/** Version 5's form of a warning about a setting or tool that has no effect. */
export type Warning5 = { type: 'other'; message: string }

export type GenerateResult5 = Omit<GenerateResult, 'finishReason' | 'usage' | 'warnings'> & {
  finishReason: FinishReason['unified']
  usage: Usage5
  warnings: Warning5[]
}

export type StreamPart5 =
  | Exclude<StreamPart, { type: 'stream-start' | 'finish' }>
  | { type: 'stream-start'; warnings: Warning5[] }
  | { type: 'finish'; usage: Usage5; finishReason: FinishReason['unified'] }

/** `LanguageModelV2` in the SDK. */
export interface LanguageModel5
  extends Omit<LanguageModel, 'specificationVersion' | 'doGenerate' | 'doStream'> {
  readonly specificationVersion: 'v2'
  doGenerate(options: CallOptions): Promise<GenerateResult5>
  doStream(options: CallOptions): Promise<{ stream: ReadableStream<StreamPart5> }>
}

/** `EmbeddingModelV2` in the SDK. */
export interface EmbeddingModel5 extends Omit<EmbeddingModel, 'specificationVersion' | 'doEmbed'> {
  readonly specificationVersion: 'v2'
  doEmbed(options: EmbedCall): Promise<{ embeddings: number[][]; usage: { tokens: number } }>
}

export type RerankingModel6 = Omit<RerankingModel, 'specificationVersion'> & {
  readonly specificationVersion: 'v3'
}

export const languageModel6 = (model: LanguageModel): LanguageModel6 => ({
  ...model,
  specificationVersion: 'v3',
})

export const embeddingModel6 = (model: EmbeddingModel): EmbeddingModel6 => ({
  ...model,
  specificationVersion: 'v3',
})

export const rerankingModel6 = (model: RerankingModel): RerankingModel6 => ({
  ...model,
  specificationVersion: 'v3',
})

export const languageModel5 = (model: LanguageModel): LanguageModel5 => ({
  ...model,
  specificationVersion: 'v2',
  async doGenerate(options) {
    const { finishReason, usage, warnings, ...result } = await model.doGenerate(options)
    return {
      ...result,
      finishReason: finishReason.unified,
      usage: usage5(usage),
      warnings: warnings.map(warning5),
    }
  },
  async doStream(options) {
    const { stream } = await model.doStream(options)
    const transform = new TransformStream<StreamPart, StreamPart5>({
      transform: (part, controller) => controller.enqueue(part5(part)),
    })
    return { stream: stream.pipeThrough(transform) }
  },
})

export const embeddingModel5 = (model: EmbeddingModel): EmbeddingModel5 => ({
  ...model,
  specificationVersion: 'v2',
  async doEmbed(options) {
    const { embeddings, usage } = await model.doEmbed(options)
    return { embeddings, usage }
  },
})

function part5(part: StreamPart): StreamPart5 {
  if (part.type === 'stream-start') return { ...part, warnings: part.warnings.map(warning5) }
  if (part.type !== 'finish') return part
  return { type: 'finish', usage: usage5(part.usage), finishReason: part.finishReason.unified }
}

const usage5 = ({
  inputTokens: { total: input, cacheRead },
  outputTokens: { total: output },
}: Usage): Usage5 => ({
  inputTokens: input,
  outputTokens: output,
  totalTokens: input === undefined || output === undefined ? undefined : input + output,
  cachedInputTokens: cacheRead,
})

const warning5 = (warning: Warning): Warning5 =>
  warning.type === 'other' ? warning : { type: 'other', message: `${warning.feature} is not supported` }
