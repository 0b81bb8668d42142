// `halfbyte embed`: prints the vectors of texts, one JSON object a line.
import { existsSync, statSync } from 'node:fs'
import { Command, Option } from 'commander'
import { Embedder } from '../../api/embedder/embedder.ts'
import { HalfbyteError } from '../../base/errors.ts'
import { loadEncoder } from '../../engine/embed/build-encoder.ts'
import { createEmbedderService } from '../../engine/embed/embed-service.ts'
import type { FileOpener } from '../../engine/load/open/requested-files.ts'
import { localConnection } from '../../engine/wire/connection.ts'
import type { WeightPolicy } from '../../weights/choose-encoding.ts'
import { isUrl, openModelFiles, placeOf, readText } from '../files.ts'
import { nodeHost } from '../node-host.ts'
import { threadCount, weightsOption, whole } from '../options.ts'
import { interruptible } from '../terminal/failure.ts'
import { clearProgress, showProgress, writeOutput } from '../terminal/output.ts'

interface EmbedFlags {
  readonly text?: readonly string[]
  readonly file?: string
  readonly kind?: 'query' | 'document'
  readonly dimensions?: number
  readonly maxTokens?: number
  readonly threads: number | 'auto'
  readonly weights: WeightPolicy
}

export function embedCommand(): Command {
  return new Command('embed')
    .description('Print the vectors of texts from a sentence encoder, one JSON object a line.')
    .argument('<model>', 'a folder of sentence-transformers, a GGUF file, its URL or owner/name')
    .option('--text <text...>', 'texts')
    .option('--file <file>', 'UTF-8, a text a line; default: stdin, without --text')
    .addOption(
      new Option('--kind <kind>', "the model's prompt before each text").choices(['query', 'document']),
    )
    .option('--dimensions <n>', 'first values of a vector that are kept', whole(1))
    .option('--max-tokens <n>', "most tokens of a text; default: the model's", whole(1))
    .addOption(
      new Option('--threads <n>', 'threads that compute; auto measures which number is fastest')
        .argParser(threadCount)
        .default('auto'),
    )
    .addOption(weightsOption())
    .action((model: string, flags: EmbedFlags) => interruptible((signal) => embed(model, flags, signal)))
}

/** A local folder of sentence-transformers has files that may be missing. */
const openFiles: FileOpener = ({ source }, { signal, onProgress }) => {
  const place = String(source)
  if (place.endsWith('.json') && !isUrl(place) && !existsSync(place)) {
    throw new HalfbyteError('format', `there is no file ${place}; download the model again`, {
      missing: true,
    })
  }
  return openModelFiles(place, { signal, onProgress })
}

async function embed(model: string, flags: EmbedFlags, signal: AbortSignal): Promise<void> {
  const { text, file, kind, dimensions, maxTokens, threads, weights } = flags
  const lines = text !== undefined && file === undefined ? '' : await readText(file)
  const texts = [...(text ?? []), ...lines.split(/\r?\n/).filter((line) => line !== '')]
  const place = await placeOf(model)
  const isFolder = !isUrl(place) && existsSync(place) && statSync(place).isDirectory()
  const service = createEmbedderService(async (request, hooks) =>
    loadEncoder(request, hooks, nodeHost(), async (each, own) => openFiles(each, own)),
  )
  const source = isFolder && !place.endsWith('/') ? `${place}/` : place
  const options = { signal, threads, weights, maxTokens, onProgress: showProgress }
  const embedder = await Embedder.open(localConnection(service), source, options).finally(clearProgress)
  try {
    const { vectors, tokens, truncated } = await embedder.embed(texts, { kind, dimensions, signal })
    const cut = new Set(truncated)
    const encoder = new TextEncoder()
    const written = vectors.map((vector, index) => {
      const facts = { index, tokens: tokens[index], ...(cut.has(index) && { truncated: true }) }
      return encoder.encode(`${JSON.stringify({ ...facts, vector: [...vector] })}\n`)
    })
    await writeOutput(undefined, written, signal)
  } finally {
    await embedder.dispose()
  }
}
