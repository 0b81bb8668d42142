// Planning weights. In: a model's tensors and what the caller wants of them. Out: the encoding of each, and
// the order in which its inputs lie.
import { groupEncoding, isQuantized, type PackedEncoding } from '../../abi/encodings.ts'
import type { ModelConfig } from '../../arch/config/config.ts'
import { roleOf, type Weights, weightOf } from '../../arch/tensors/names.ts'
import { readVector } from '../../formats/dequantize.ts'
import { chooseEncoding, type WeightPolicy } from '../../weights/choose.ts'

/** Of each weight by itself; the experts' of a layer are one weight, whichever way each of them is stored. */
export function encodings(
  weights: Weights,
  { experts }: ModelConfig,
  policy: WeightPolicy,
): (name: string) => PackedEncoding {
  const known = new Map<string, PackedEncoding>()
  return (name) => {
    const all = name.replace(/\.experts\.\d+/, '.experts')
    const found = known.get(all)
    if (found !== undefined) return found
    const tensors = Array.from({ length: all === name ? 1 : (experts?.count ?? 1) }, (_, expert) =>
      weightOf(weights, all.replace('.experts', `.experts.${expert}`)),
    )
    const chosen = chooseEncoding(
      policy,
      roleOf(name),
      tensors.map(({ dtype, like = dtype }) => like),
    )
    const [{ packed } = {}] = tensors
    const isPacked = packed !== undefined && tensors.every((each) => each.packed === packed)
    const encoding = isPacked && groupEncoding(packed) === chosen ? packed : chosen
    known.set(all, encoding)
    return encoding
  }
}

export interface WeightOptions {
  readonly weights: WeightPolicy
  /** The weights are to be stored: every matrix keeps its inputs in the model's order. Default false. */
  readonly forPack?: boolean | undefined
  readonly signal?: AbortSignal | undefined
}

/** Whether floats stay as the file has them: adapters change them. */
export const keepsFloats = ({
  weights,
  lora = [],
}: Pick<WeightOptions, 'weights'> & { readonly lora?: readonly unknown[] | undefined }): boolean =>
  weights === 'auto' && lora.length === 0

/**
 * Matrices whose inputs lie sorted by their groups, where kernels read int8 activations, which are then made
 * in that order. Equal orders have one name.
 */
export async function sortInputs(weights: Weights, options: WeightOptions) {
  const sorted = new Map(weights)
  const orders = new Map<string, string>()
  const known = new Map<string, string>()
  for (const [name, { sorted: form }] of weights) {
    if (form === undefined || options.forPack === true || name.includes('.experts.')) continue
    if (!isQuantized(chooseEncoding(options.weights, roleOf(name), [form.tensor.dtype]))) continue
    const places = String(await readVector(form.order, options.signal))
    const order = known.get(places) ?? form.order.name
    known.set(places, order)
    orders.set(name, order)
    sorted.set(name, form.tensor).set(order, form.order)
  }
  return { weights: sorted, orders }
}
