// Reference model. In: a random model and tokens. Out: every position's logits, computed in f64 directly from
// the definition.
//
// Shares no code with the engine. Names, row order, RoPE with its scaling, and shared heads are written out
// as in Hugging Face's implementation. Deliberately slow and short.
import { isQwen2, type RandomConfig, type RandomModel } from './random-llama.ts'

type Row = Float64Array<ArrayBuffer>

/** [position][vocab] */
export function referenceLogits({ config, weights }: RandomModel, tokens: readonly number[]): Row[] {
  const { hidden_size: hidden, head_dim: dims, num_attention_heads: heads } = config
  const shared = heads / config.num_key_value_heads
  const window = config.sliding_window ?? Number.POSITIVE_INFINITY
  const values = (name: string) => {
    const tensor = weights.get(name)
    if (tensor === undefined) throw new Error(`the model has no ${name}`)
    return tensor.values
  }
  const linear = (name: string, x: Row, bias = false): Row => {
    const w = values(`${name}.weight`)
    const y = new Float64Array(w.length / x.length)
    for (let n = 0; n < y.length; n++) {
      for (let k = 0; k < x.length; k++) y[n]! += w[n * x.length + k]! * x[k]!
      if (bias) y[n]! += values(`${name}.bias`)[n]!
    }
    return y
  }
  const norm = (name: string, x: Row): Row => {
    const scale =
      1 / Math.sqrt(x.reduce((sum, value) => sum + value * value, 0) / hidden + config.rms_norm_eps)
    return x.map((value, index) => value * scale * values(`${name}.weight`)[index]!)
  }
  const frequencies = ropeFrequencies(config)
  const turned = (x: Row, position: number): Row => {
    const y = x.slice()
    for (let start = 0; start < x.length; start += dims) {
      frequencies.forEach((frequency, pair) => {
        const low = start + pair
        const high = start + pair + dims / 2
        const cos = Math.cos(position * frequency)
        const sin = Math.sin(position * frequency)
        y[low] = x[low]! * cos - x[high]! * sin
        y[high] = x[high]! * cos + x[low]! * sin
      })
    }
    return y
  }
  const add = (x: Row, y: Row): Row => x.map((value, index) => value + y[index]!)

  let rows = tokens.map((id) =>
    Float64Array.from(values('model.embed_tokens.weight').subarray(id * hidden, (id + 1) * hidden)),
  )
  for (let layer = 0; layer < config.num_hidden_layers; layer++) {
    const at = `model.layers.${layer}`
    const bias = isQwen2(config)
    const inputs = rows.map((x) => norm(`${at}.input_layernorm`, x))
    const keys = inputs.map((x, position) => turned(linear(`${at}.self_attn.k_proj`, x, bias), position))
    const parts = inputs.map((x) => linear(`${at}.self_attn.v_proj`, x, bias))
    rows = rows.map((x, position) => {
      const query = turned(linear(`${at}.self_attn.q_proj`, inputs[position]!, bias), position)
      const mixed = new Float64Array(heads * dims)
      for (let head = 0; head < heads; head++) {
        const from = Math.floor(head / shared) * dims
        const scores = Float64Array.from({ length: position + 1 }, (_, seen) => {
          if (position - seen >= window) return Number.NEGATIVE_INFINITY
          let score = 0
          for (let i = 0; i < dims; i++) score += query[head * dims + i]! * keys[seen]![from + i]!
          return score / Math.sqrt(dims)
        })
        const peak = Math.max(...scores)
        const shares = scores.map((score) => Math.exp(score - peak))
        const total = shares.reduce((sum, share) => sum + share, 0)
        shares.forEach((share, seen) => {
          for (let i = 0; i < dims; i++) mixed[head * dims + i]! += (share / total) * parts[seen]![from + i]!
        })
      }
      const attended = add(x, linear(`${at}.self_attn.o_proj`, mixed))
      const input = norm(`${at}.post_attention_layernorm`, attended)
      const gate = linear(`${at}.mlp.gate_proj`, input)
      const up = linear(`${at}.mlp.up_proj`, input)
      const gated = gate.map((value, index) => (value / (1 + Math.exp(-value))) * up[index]!)
      return add(attended, linear(`${at}.mlp.down_proj`, gated))
    })
  }
  const output = config.tie_word_embeddings ? 'model.embed_tokens' : 'lm_head'
  return rows.map((x) => linear(output, norm('model.norm', x)))
}

/** Radians per position, for each pair. */
function ropeFrequencies({
  rope_theta: theta,
  head_dim: dims,
  rope_scaling: scaling,
}: RandomConfig): number[] {
  return Array.from({ length: dims / 2 }, (_, pair) => {
    const frequency = 1 / theta ** ((2 * pair) / dims)
    if (scaling === undefined) return frequency
    const { factor, low_freq_factor: low, high_freq_factor: high } = scaling
    const trained = scaling.original_max_position_embeddings
    const wavelength = (2 * Math.PI) / frequency
    if (wavelength > trained / low) return frequency / factor
    if (wavelength < trained / high) return frequency
    const smooth = (trained / wavelength - low) / (high - low)
    return ((1 - smooth) * frequency) / factor + smooth * frequency
  })
}
