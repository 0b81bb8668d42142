// The families with few models, by name. A page loads them together when a file needs one, so they build
// their graphs with a decoder that is passed to them.

import { apertus } from '../families/apertus.ts'
import { bitnet } from '../families/bitnet.ts'
import { bloom, mpt } from '../families/classic/alibi.ts'
import { falcon } from '../families/classic/falcon.ts'
import { codegen, gptJ } from '../families/classic/gpt-j.ts'
import { gptNeox, persimmon } from '../families/classic/gpt-neox.ts'
import { gpt2 } from '../families/classic/gpt2.ts'
import { gptNeo, opt } from '../families/classic/opt.ts'
import { phi2 } from '../families/classic/phi2.ts'
import { stablelm } from '../families/classic/stablelm.ts'
import { starcoder2 } from '../families/classic/starcoder2.ts'
import { cohere, cohere2 } from '../families/cohere.ts'
import { diffllama } from '../families/diffllama.ts'
import { exaone, exaone4 } from '../families/exaone.ts'
import { deepseek2, minicpm3 } from '../families/experts/deepseek.ts'
import { dots1 } from '../families/experts/dots.ts'
import { ernie45moe } from '../families/experts/ernie.ts'
import { gptOss } from '../families/experts/gpt-oss.ts'
import { phimoe } from '../families/experts/phimoe.ts'
import { vaultgemma } from '../families/gemma.ts'
import { glm, glm4 } from '../families/glm.ts'
import { granite, granitehybrid, granitemoe, graniteSwa, hyperclovax } from '../families/granite.ts'
import { lfm2moe, lfm3 } from '../families/lfm2.ts'
import { internlm3 } from '../families/llama.ts'
import { mamba, mamba2 } from '../families/mamba.ts'
import { modernbertDecoder } from '../families/modernbert-decoder.ts'
import { ernie, helium, hunyuan, seedOss } from '../families/near-llama.ts'
import { olmo, olmo2, olmoe } from '../families/olmo.ts'
import { gemma3n } from '../families/per-layer/gemma3n.ts'
import { gemma4 } from '../families/per-layer/gemma4.ts'
import { qwen2moe } from '../families/qwen.ts'
import { bamba, falconH1 } from '../families/recurrent/falcon-h1.ts'
import { jamba } from '../families/recurrent/jamba.ts'
import { nemotronH } from '../families/recurrent/nemotron-h.ts'
import { olmoHybrid } from '../families/recurrent/olmo-hybrid.ts'
import { qwen35 } from '../families/recurrent/qwen3-5.ts'
import { qwen3next } from '../families/recurrent/qwen3-next.ts'
import { recurrentGemma } from '../families/recurrent/recurrent-gemma.ts'
import { rwkv } from '../families/recurrent/rwkv.ts'
import { zamba2 } from '../families/recurrent/zamba2.ts'
import { arcee, jais2, nanochat, nemotron } from '../families/relu-squared.ts'
import type { FamilyFile } from '../family.ts'
import type { RareFamily } from './names.ts'

export const RARE_FAMILIES: Readonly<Record<RareFamily, FamilyFile>> = {
  granite,
  granitehybrid,
  granitemoe,
  granite_swa: graniteSwa,
  hyperclovax,
  olmo,
  olmo2,
  olmoe,
  vaultgemma,
  internlm3,
  exaone,
  exaone4,
  cohere,
  cohere2,
  glm,
  glm4,
  stablelm,
  starcoder2,
  phi2,
  nemotron,
  jais2,
  arcee,
  nanochat,
  apertus,
  persimmon,
  seed_oss: seedOss,
  ernie4_5: ernie,
  helium,
  hunyuan,
  gpt2,
  gpt_neox: gptNeox,
  gptj: gptJ,
  gpt_neo: gptNeo,
  codegen,
  falcon,
  bitnet,
  bloom,
  deepseek2,
  dots1,
  ernie4_5_moe: ernie45moe,
  gpt_oss: gptOss,
  lfm2moe,
  lfm3,
  minicpm3,
  modernbert_decoder: modernbertDecoder,
  qwen2moe,
  mpt,
  opt,
  phimoe,
  mamba,
  mamba2,
  qwen3_5: qwen35,
  qwen3next,
  olmo_hybrid: olmoHybrid,
  falcon_h1: falconH1,
  bamba,
  jamba,
  nemotron_h: nemotronH,
  recurrent_gemma: recurrentGemma,
  rwkv,
  gemma3n,
  gemma4,
  diffllama,
  zamba2,
}
