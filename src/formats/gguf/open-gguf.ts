// GGUF models and adapters. In: the files of one. Out: its headers, read and checked.
import type { ByteSource } from '../../base/bytes.ts'
import { type Adapter, otherKind, pairsOf } from '../adapter.ts'
import { malformed, shown } from '../malformed.ts'
import type { ModelFile } from '../model-file.ts'
import { modelName } from '../names/file-names.ts'
import { readGguf } from './gguf.ts'
import { mergeSplits } from './gguf-splits.ts'
import { scaleTensors } from './tensor-scales.ts'
import { ggufGeneration, ggufTokenizer } from './tokenizer-data.ts'

/** One file or all its splits, in any order. */
export async function openGguf(files: readonly ByteSource[], signal?: AbortSignal): Promise<ModelFile> {
  const parts = []
  for (const file of files) parts.push(await readGguf(file, signal))
  const { metadata, tensors } = mergeSplits(parts)
  const file = files[0] as ByteSource
  const name = metadata.get('general.name')
  return {
    format: 'gguf',
    name: typeof name === 'string' && name !== '' ? name : modelName(file.name),
    tensors: scaleTensors(tensors),
    metadata,
    tokenizer: ggufTokenizer(file.name, metadata),
    generationConfig: ggufGeneration(metadata),
  }
}

/** Throws `unsupported` for a file that is no LoRA adapter. */
export async function readGgufAdapter(file: ByteSource, signal?: AbortSignal): Promise<Adapter> {
  const { metadata, tensors } = await readGguf(file, signal)
  const [type, kind] = [metadata.get('general.type'), metadata.get('adapter.type')]
  if (type !== 'adapter' || kind !== 'lora') {
    const found = type === undefined ? 'a model' : `${shown(type)}, ${shown(kind ?? '')}`
    throw otherKind(file.name, `it is ${found}`)
  }
  const alpha = metadata.get('adapter.lora.alpha') ?? 0
  if (typeof alpha !== 'number')
    throw malformed(file.name, `its alpha is ${shown(alpha)} but must be a number`)
  const changes = pairsOf(file.name, tensors, /^(.*)\.lora_(a|b)$/, (rank) =>
    alpha === 0 ? 1 : alpha / rank,
  )
  return { name: file.name, format: 'gguf', architecture: metadata.get('general.architecture'), changes }
}
