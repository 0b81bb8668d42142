// The AI SDK. In: the engine's provider. Out: text, a stream, an object, a tool round trip, vectors of the
// engine and of an encoder, and a ranking of documents.
import * as ai from 'ai'
import { embed, embedMany, generateText, Output, stepCountIs, streamText, tool } from 'ai'
import { createHalfbyte } from 'halfbyte/ai-sdk'
import { z } from 'zod'
import { areSame, engine, loadEncoder, PROMPT, serve, TEXTS } from './engine.js'

serve(async (sdk) => {
  const provider = createHalfbyte({ engine, sdk })
  const model = provider()
  const settings = { model, temperature: 0, maxOutputTokens: 24 }
  const { text, usage, finishReason, warnings } = await generateText({ ...settings, prompt: PROMPT })
  const stream = streamText({ ...settings, prompt: PROMPT })
  let streamed = ''
  for await (const part of stream.textStream) streamed += part
  const output = Output.object({ schema: z.object({ name: z.enum(['Tom', 'Mia']), lives: z.literal(9) }) })
  const object = await generateText({
    ...settings,
    prompt: 'A cat, please.',
    maxOutputTokens: 64,
    output,
    // The name of this function in version 5.
    experimental_output: output,
  })
  const asked = []
  const calling = await generateText({
    ...settings,
    prompt: 'What is 2 + 3?',
    maxOutputTokens: 64,
    toolChoice: 'required',
    tools: {
      add: tool({
        description: 'Adds two numbers.',
        inputSchema: z.object({ a: z.literal(2), b: z.literal(3) }),
        execute({ a, b }) {
          asked.push([a, b])
          return a + b
        },
      }),
    },
    stopWhen: stepCountIs(1),
  })
  const { embeddings } = await embedMany({
    model: (provider.textEmbeddingModel ?? provider.embeddingModel)(),
    values: ['a cat', 'a dog'],
  })
  const [embedder, reranker] = await Promise.all([loadEncoder('/encoder/'), loadEncoder('/reranker/')])
  const encoders = createHalfbyte({ embedder, reranker, sdk })
  const encoder = (encoders.textEmbeddingModel ?? encoders.embeddingModel)()
  const one = await embed({ model: encoder, value: TEXTS[0] })
  const many = await embedMany({ model: encoder, values: TEXTS })
  const { vectors } = await embedder.embed(TEXTS)
  return {
    text,
    streamed,
    finishReason,
    usage: [usage.inputTokens > 0, usage.outputTokens],
    warnings,
    streamEnd: await stream.finishReason,
    object: object.output ?? object.experimental_output,
    asked,
    calls: calling.toolCalls.map(({ toolName, input }) => ({ toolName, input })),
    results: calling.toolResults.map(({ output }) => output),
    vectors: embeddings.map((vector) => vector.length > 0),
    encoded: [areSame([one.embedding], [vectors[0]]), areSame(many.embeddings, vectors)],
    isRanked: await isRanked(encoders, reranker),
  }
})

/** Whether `rerank` gives the reranker's own order; undefined in version 5, which lacks that function. */
async function isRanked(provider, reranker) {
  if (ai.rerank === undefined) return undefined
  const documents = ['a', 'the cat', 'running cats']
  const { ranking } = await ai.rerank({ model: provider.rerankingModel(), query: 'the cat', documents })
  const { results } = await reranker.rerank('the cat', documents)
  return ranking.map(({ originalIndex }) => originalIndex).join() === results.map(({ index }) => index).join()
}
