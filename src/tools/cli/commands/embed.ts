// `halfbyte embed` prints the vectors of texts, and `halfbyte rerank` sorts documents by score: one JSON
// object per line.
import { Command, Option } from 'commander'
import { TEXT_OPTIONS } from '../../../encoders/service/embed-service.ts'
import { POOLINGS } from '../../../encoders/service/embed-settings.ts'
import { type EncoderFlags, openEmbedder } from '../command-embedder.ts'
import { readText } from '../files.ts'
import { demand, dtypeOption, threadsOption, weightsOption, whole } from '../options.ts'
import { interruptible } from '../terminal/failure.ts'
import { writeOutput } from '../terminal/output.ts'

interface EmbedFlags extends EncoderFlags {
  readonly text?: readonly string[]
  readonly file?: string
  readonly kind?: 'query' | 'document'
  readonly dimensions?: number
}

interface RerankFlags extends EncoderFlags {
  readonly query: string
  readonly document?: readonly string[]
  readonly file?: string
  readonly top?: number
}

export function embedCommand(): Command {
  return new Command('embed')
    .description('Embed texts with a sentence encoder. Prints one JSON object per line.')
    .argument('<model>', 'a sentence-transformers or ONNX folder, a GGUF file, its URL or owner/name')
    .option('--text <text...>', 'texts')
    .option('--file <file>', 'UTF-8, one text per line; default: stdin, unless --text is given')
    .addOption(
      new Option('--kind <kind>', "the model's prompt before each text").choices(TEXT_OPTIONS.kind.choices),
    )
    .option('--dimensions <n>', 'keep only the first n dimensions of each vector', whole(1))
    .option('--max-tokens <n>', "maximum tokens per text; default: the model's", whole(1))
    .addOption(
      new Option('--pooling <kind>', "how a text's states become a vector; default: the model's").choices(
        POOLINGS,
      ),
    )
    .addOption(dtypeOption())
    .addOption(threadsOption())
    .addOption(weightsOption())
    .action((model: string, flags: EmbedFlags) => interruptible((signal) => embed(model, flags, signal)))
}

export function rerankCommand(): Command {
  return new Command('rerank')
    .description('Sort documents by how well they answer a query. Prints one JSON object per line.')
    .argument('<model>', "a reranker's folder, its URL or owner/name")
    .option('--query <text>', 'the query')
    .hook('preAction', demand('--query <text>'))
    .option('--document <text...>', 'documents')
    .option('--file <file>', 'UTF-8, one document per line; default: stdin, unless --document is given')
    .option('--top <n>', 'maximum documents; default: all', whole(1))
    .option(
      '--max-tokens <n>',
      "maximum tokens of query and document together; default: the model's",
      whole(1),
    )
    .addOption(dtypeOption())
    .addOption(threadsOption())
    .addOption(weightsOption())
    .action((model: string, flags: RerankFlags) => interruptible((signal) => rerank(model, flags, signal)))
}

/** The given texts, then the lines of the file; lines of stdin if there is neither. */
async function textsOf(given: readonly string[] | undefined, file: string | undefined): Promise<string[]> {
  const lines = given !== undefined && file === undefined ? '' : await readText(file)
  return [...(given ?? []), ...lines.split(/\r?\n/).filter((line) => line !== '')]
}

async function embed(model: string, flags: EmbedFlags, signal: AbortSignal): Promise<void> {
  const { kind, dimensions } = flags
  const texts = await textsOf(flags.text, flags.file)
  await using embedder = await openEmbedder(model, flags, signal)
  const { vectors, tokens, truncated } = await embedder.embed(texts, { kind, dimensions, signal })
  const facts = factsOf(tokens, truncated)
  await writeLines(
    vectors.map((vector, index) => ({ ...facts(index), vector: [...vector] })),
    signal,
  )
}

async function rerank(model: string, flags: RerankFlags, signal: AbortSignal): Promise<void> {
  const documents = await textsOf(flags.document, flags.file)
  await using embedder = await openEmbedder(model, flags, signal)
  const { results, tokens, truncated } = await embedder.rerank(flags.query, documents, {
    topN: flags.top,
    signal,
  })
  const facts = factsOf(tokens, truncated)
  await writeLines(
    results.map(({ index, score }) => ({ ...facts(index), score, document: documents[index] })),
    signal,
  )
}

function factsOf(tokens: readonly number[], truncated: readonly number[]) {
  const cut = new Set(truncated)
  return (index: number) => ({ index, tokens: tokens[index], ...(cut.has(index) && { truncated: true }) })
}

async function writeLines(objects: readonly object[], signal: AbortSignal): Promise<void> {
  const encoder = new TextEncoder()
  const lines = objects.map((each) => encoder.encode(`${JSON.stringify(each)}\n`))
  await writeOutput(undefined, lines, signal)
}
