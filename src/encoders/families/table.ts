// The table of all encoder families.
import { HalfbyteError } from '../../core/base/errors.ts'
import { isObject } from '../../core/base/values.ts'
import { shown } from '../../core/formats/malformed.ts'
import type { ModelFile } from '../../core/formats/readers.ts'
import type { MetaValue } from '../../core/formats/tensors.ts'
import { BERT } from './bert.ts'
import { GEMMA, QWEN3 } from './decoder-bodies.ts'
import { JINA } from './jina.ts'
import { MODERN_BERT } from './modern-bert.ts'
import { MPNET } from './mpnet.ts'
import { NOMIC } from './nomic.ts'
import type { EncoderFamily } from './placed.ts'

const FAMILIES: readonly EncoderFamily[] = [BERT, MPNET, NOMIC, JINA, MODERN_BERT, QWEN3, GEMMA]

/** The family that reads an encoder's files. Throws `architecture` for other families. */
export function encoderFamily(file: ModelFile): EncoderFamily {
  const found = FAMILIES.find(({ isOf }) => isOf(file))
  if (found !== undefined) return found
  throw new HalfbyteError(
    'architecture',
    `${file.name}: ${architectureOf(file)} is not an encoder that Halfbyte supports; choose one of ` +
      `${FAMILIES.map(({ name }) => name).join(', ')}; chat models are for Engine and halfbyte chat`,
    { file: file.name },
  )
}

/** The architecture that the file names. */
function architectureOf({ format, metadata }: ModelFile): string {
  if (format === 'hbm') return 'a .hbm pack'
  const config = metadata.get('config')
  const { architectures, model_type: type } = isObject(config) ? config : {}
  const own =
    format === 'gguf'
      ? metadata.get('general.architecture')
      : ((Array.isArray(architectures) ? architectures[0] : type) as MetaValue | undefined)
  return own === undefined ? 'a model that does not name its architecture' : shown(own)
}
