// Token ids from a caller.
import { checkList, shown } from '../../core/base/check-options.ts'
import { HalfbyteError } from '../../core/base/errors.ts'
import { isCount } from '../../core/base/values.ts'
import type { TextOrIds } from '../wire/protocol.ts'
import { checkNotEmpty } from './fit.ts'
import type { LoadedModel } from './loaded-model.ts'

type WithIds = Pick<LoadedModel, 'text' | 'logitRows'>

/** Larger than any context. */
const MAX_IDS = 1 << 24

/**
 * The ids of a list or a typed array. Throws `code` for an id outside the model's vocabulary, and
 * `unsupported` for anything other than a list.
 */
export function checkedIds(
  name: string,
  ids: unknown,
  { logitRows: { vocab } }: { readonly logitRows: { readonly vocab: number } },
  code: 'unsupported' | 'format' = 'unsupported',
): number[] {
  const given = ids instanceof Uint32Array || ids instanceof Int32Array ? [...ids] : ids
  checkList(name, given, MAX_IDS)
  // Holes in a sparse list become undefined, which is rejected.
  const list = Array.from(given) as number[]
  const wrong = list.findIndex((id) => !(isCount(id) && id < vocab))
  if (wrong < 0) return list
  throw new HalfbyteError(
    code,
    `${name} has the id ${shown(list[wrong])} at index ${wrong}, but this model's ${vocab} ids are 0 to ${vocab - 1}; pass ids from its tokenizer`,
    { name, id: shown(list[wrong]), vocab },
  )
}

/**
 * A text's ids with BOS, if the model's texts begin with it, or the given ids unchanged. Throws `unsupported`
 * if there are none or if they are not in the vocabulary.
 */
export function promptIds(prompt: TextOrIds, model: WithIds): readonly number[] {
  const ids =
    typeof prompt === 'string' ? model.text.encode(prompt, true) : checkedIds('the prompt', prompt, model)
  checkNotEmpty(ids.length)
  return ids
}
