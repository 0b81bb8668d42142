// BitNet b1.58: Llama with a norm before each block's last matrix, and a squared ReLU in the gate.
// Its weights are -1, 0 and 1 times a scale, which the kernels keep exactly in 2 bits.
import { PLAIN } from '../blocks/parts.ts'
import { defaults, family } from '../family.ts'

export const bitnet = family(
  { ...PLAIN, activation: 'relu2', subNorms: true },
  {
    gguf: {
      architecture: 'bitnet',
      pairing: 'halves',
      // llama.cpp's family is the original version, whose gate is SiLU.
      config: () => ({ activation: 'silu' }),
    },
    hf: {
      classes: {
        BitNetForCausalLM: defaults(128_256, 2560, 6912, 30, 20, 2048, {
          num_key_value_heads: 5,
          rms_norm_eps: 1e-5,
          rope_theta: 5e5,
        }),
      },
    },
  },
)
