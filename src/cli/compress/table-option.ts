// `--table`: in which codes the embedding and the logits matrix are stored.
import { Option } from 'commander'
import type { Format } from '../../shrink/codes/coded-matrix.ts'

export const TABLE_FORMATS = { w4: 'w4_g32', w4m: 'w4m_g32', w8: 'w8_g32' } as const satisfies Readonly<
  Record<string, Format>
>

export type TableFormat = keyof typeof TABLE_FORMATS

export const tableOption = (): Option =>
  new Option(
    '--table <format>',
    "codes of the embedding and the logits matrix: w4 or w4m (4 bits, w4m with a minimum too), or w8; default: the model's own, or w8",
  ).choices(Object.keys(TABLE_FORMATS))
