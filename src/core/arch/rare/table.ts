// The families of few models, by name. A page loads them together when a file is of one, so they build their
// graphs with the decoder that they are given.

import { gptNeox } from '../families/gpt-neox.ts'
import { gpt2 } from '../families/gpt2.ts'
import { granite, granitehybrid } from '../families/granite.ts'
import { mamba, mamba2 } from '../families/mamba.ts'
import { olmo2, olmoe } from '../families/olmo.ts'
import type { FamilyFile } from '../family.ts'
import type { RareFamily } from './names.ts'

export const RARE_FAMILIES: Readonly<Record<RareFamily, FamilyFile>> = {
  granite,
  granitehybrid,
  olmo2,
  olmoe,
  gpt2,
  gpt_neox: gptNeox,
  mamba,
  mamba2,
}
