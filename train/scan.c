/* Mamba's two recurrences, forward and backward: causal convolution with SiLU, and the gated selective scan.
 *
 * Values are f32 [batch][time][channels], 16 channels to a vector; channels are a multiple of 16. STATES numbers are
 * kept per channel. A and its gradient lie as [STATES][channels], the convolution's weights as [WIDTH][channels], so
 * that a vector of channels is contiguous. B and C are [batch][time][2 * STATES], B in front.
 *
 *   delta = softplus(raw)    h = exp(delta A) h + delta x B    y = (h . C + D x) silu(z)
 *
 * The forward pass keeps h at the start of every CHUNK of time [batch][chunks][channels / 16][STATES][16]; the backward
 * pass runs a chunk again from there and then walks it from its end. */
#include <string.h>

enum { LANES = 16, STATES = 16, WIDTH = 4, CHUNK = 16 };

typedef float vec __attribute__((vector_size(64)));
typedef int ints __attribute__((vector_size(64)));
typedef float loose __attribute__((vector_size(64), aligned(4), may_alias));

static inline vec load(const float *p) { return (vec) * (const loose *)p; }
static inline void store(float *p, vec v) { *(loose *)p = (loose)v; }
static inline vec splat(float x) { return x - (vec){}; }
static inline vec pick(ints mask, vec a, vec b) { return (vec)((mask & (ints)a) | (~mask & (ints)b)); }
static inline vec at_most(vec a, float b) { return pick(a < splat(b), a, splat(b)); }
static inline vec at_least(vec a, float b) { return pick(a > splat(b), a, splat(b)); }

/* 2^x within 2e-7 of it: the whole part goes into the exponent, the rest through a polynomial. */
static inline vec exp2_of(vec x) {
  x = at_least(x, -125.0f);
  vec shifted = x + 12582912.0f;
  vec f = x - (shifted - 12582912.0f);
  vec p = f * 1.5403530e-4f + 1.3333558e-3f;
  p = p * f + 9.6181291e-3f;
  p = p * f + 5.5504109e-2f;
  p = p * f + 2.4022651e-1f;
  p = p * f + 6.9314718e-1f;
  p = p * f + 1.0f;
  return (vec)((ints)p + ((ints)shifted << 23));
}

static const float LOG2E = 1.44269504f;
static inline vec sigmoid(vec x) { return 1.0f / (1.0f + exp2_of(at_most(x * -LOG2E, 125.0f))); }

/* max(x, 0) + log1p(u), u = exp(-|x|): log1p(u) = 2 atanh(s), s = u / (2 + u) <= 1/3. */
static inline vec softplus(vec x) {
  vec size = pick(x < 0.0f, -x, x);
  vec u = exp2_of(size * -LOG2E);
  vec s = u / (2.0f + u), q = s * s;
  vec p = q * (1.0f / 13) + (1.0f / 11);
  p = p * q + (1.0f / 9);
  p = p * q + (1.0f / 7);
  p = p * q + (1.0f / 5);
  p = p * q + (1.0f / 3);
  p = p * q + 1.0f;
  return at_least(x, 0.0f) + 2.0f * s * p;
}

static inline float sum_of(vec v) {
  float sum = 0;
  for (int i = 0; i < LANES; i++) sum += v[i];
  return sum;
}

/* out = silu(bias + the last WIDTH inputs times their weights), before the start zeros. */
void conv_forward(int batch, int time, int channels, const float *x, const float *weight, const float *bias, float *out) {
  for (int b = 0; b < batch; b++)
    for (int c = 0; c < channels; c += LANES) {
      vec w[WIDTH], seen[WIDTH] = {};
      for (int k = 0; k < WIDTH; k++) w[k] = load(weight + k * channels + c);
      vec base = load(bias + c);
      long at = (long)b * time * channels + c;
      for (int t = 0; t < time; t++, at += channels) {
        vec sum = base;
        for (int k = 0; k < WIDTH - 1; k++) seen[k] = seen[k + 1];
        seen[WIDTH - 1] = load(x + at);
        for (int k = 0; k < WIDTH; k++) sum += w[k] * seen[k];
        store(out + at, sum * sigmoid(sum));
      }
    }
}

/* grad_weight and grad_bias are added to, grad_x is written. */
void conv_backward(int batch, int time, int channels, const float *x, const float *weight, const float *bias,
                   const float *grad_out, float *grad_x, float *grad_weight, float *grad_bias) {
  for (int b = 0; b < batch; b++)
    for (int c = 0; c < channels; c += LANES) {
      vec w[WIDTH], seen[WIDTH] = {}, due[WIDTH] = {}, grad_w[WIDTH] = {}, grad_base = {};
      for (int k = 0; k < WIDTH; k++) w[k] = load(weight + k * channels + c);
      vec base = load(bias + c);
      long at = (long)b * time * channels + c;
      for (int t = 0; t < time + WIDTH - 1; t++, at += channels) {
        for (int k = 0; k < WIDTH - 1; k++) seen[k] = seen[k + 1], due[k] = due[k + 1];
        due[WIDTH - 1] = seen[WIDTH - 1] = (vec){};
        if (t < time) {
          vec sum = base;
          seen[WIDTH - 1] = load(x + at);
          for (int k = 0; k < WIDTH; k++) sum += w[k] * seen[k];
          vec s = sigmoid(sum), grad = load(grad_out + at) * s * (1.0f + sum * (1.0f - s));
          grad_base += grad;
          for (int k = 0; k < WIDTH; k++) grad_w[k] += grad * seen[k], due[k] += grad * w[k];
        }
        if (t >= WIDTH - 1) store(grad_x + at - (WIDTH - 1) * channels, due[0]);
      }
      store(grad_bias + c, load(grad_bias + c) + grad_base);
      for (int k = 0; k < WIDTH; k++) {
        float *p = grad_weight + k * channels + c;
        store(p, load(p) + grad_w[k]);
      }
    }
}

/* states: what the backward pass starts its chunks from; chunks = time / CHUNK, rounded up. */
void scan_forward(int batch, int time, int channels, const float *x, const float *raw, const float *z, const float *bc,
                  const float *a, const float *d, float *out, float *states) {
  int chunks = (time + CHUNK - 1) / CHUNK;
  for (int b = 0; b < batch; b++)
    for (int c = 0; c < channels; c += LANES) {
      vec h[STATES] = {}, rate[STATES], skip = load(d + c);
      for (int n = 0; n < STATES; n++) rate[n] = load(a + n * channels + c) * LOG2E;
      for (int t = 0; t < time; t++) {
        if (t % CHUNK == 0) memcpy(states + (((long)b * chunks + t / CHUNK) * channels + c) * STATES, h, sizeof h);
        long at = ((long)b * time + t) * channels + c;
        const float *enter = bc + ((long)b * time + t) * 2 * STATES, *leave = enter + STATES;
        vec step = softplus(load(raw + at)), in = load(x + at), gate = load(z + at);
        vec fed = step * in, y = skip * in;
        for (int n = 0; n < STATES; n++) {
          h[n] = exp2_of(step * rate[n]) * h[n] + fed * enter[n];
          y += h[n] * leave[n];
        }
        store(out + at, y * gate * sigmoid(gate));
      }
    }
}

/* grad_a and grad_d are added to, the others written. carry: room for [channels / 16][STATES][16]. */
void scan_backward(int batch, int time, int channels, const float *x, const float *raw, const float *z, const float *bc,
                   const float *a, const float *d, const float *states, const float *grad_out, float *grad_x,
                   float *grad_raw, float *grad_z, float *grad_bc, float *grad_a, float *grad_d, float *carry) {
  static vec h[CHUNK + 1][STATES], decay[CHUNK][STATES], grad_enter[CHUNK][STATES], grad_leave[CHUNK][STATES];
  int chunks = (time + CHUNK - 1) / CHUNK;
  for (int b = 0; b < batch; b++) {
    memset(carry, 0, (long)channels * STATES * sizeof *carry);
    for (int chunk = chunks - 1; chunk >= 0; chunk--) {
      int from = chunk * CHUNK, count = time - from < CHUNK ? time - from : CHUNK;
      const float *between = bc + ((long)b * time + from) * 2 * STATES;
      memset(grad_enter, 0, sizeof grad_enter);
      memset(grad_leave, 0, sizeof grad_leave);
      for (int c = 0; c < channels; c += LANES) {
        vec rate[STATES], grad_h[STATES], grad_rate[STATES] = {}, steps[CHUNK], ys[CHUNK], skip = load(d + c);
        vec grad_skip = {};
        long base = ((long)b * time + from) * channels + c;
        for (int n = 0; n < STATES; n++) rate[n] = load(a + n * channels + c);
        memcpy(h[0], states + (((long)b * chunks + chunk) * channels + c) * STATES, sizeof h[0]);
        memcpy(grad_h, carry + (long)c * STATES, sizeof grad_h);
        for (int t = 0; t < count; t++) {
          const float *enter = between + t * 2 * STATES, *leave = enter + STATES;
          vec in = load(x + base + (long)t * channels), y = skip * in;
          vec step = steps[t] = softplus(load(raw + base + (long)t * channels));
          vec fed = step * in, scaled = step * LOG2E;
          for (int n = 0; n < STATES; n++) {
            decay[t][n] = exp2_of(scaled * rate[n]);
            h[t + 1][n] = decay[t][n] * h[t][n] + fed * enter[n];
            y += h[t + 1][n] * leave[n];
          }
          ys[t] = y;
        }
        for (int t = count - 1; t >= 0; t--) {
          long at = base + (long)t * channels;
          const float *enter = between + t * 2 * STATES, *leave = enter + STATES;
          vec grad = load(grad_out + at), gate = load(z + at), s = sigmoid(gate), in = load(x + at), step = steps[t];
          store(grad_z + at, grad * ys[t] * s * (1.0f + gate * (1.0f - s)));
          vec grad_y = grad * gate * s, fed = step * in, grad_fed = {}, grad_step = {};
          grad_skip += grad_y * in;
          for (int n = 0; n < STATES; n++) {
            vec g = grad_h[n] + grad_y * leave[n];
            grad_leave[t][n] += grad_y * h[t + 1][n];
            grad_enter[t][n] += g * fed;
            grad_fed += g * enter[n];
            g *= decay[t][n];
            grad_h[n] = g;
            g *= h[t][n];
            grad_step += g * rate[n];
            grad_rate[n] += g * step;
          }
          grad_step += grad_fed * in;
          store(grad_x + at, grad_y * skip + grad_fed * step);
          store(grad_raw + at, grad_step * (1.0f - exp2_of(step * -LOG2E)));
        }
        memcpy(carry + (long)c * STATES, grad_h, sizeof grad_h);
        store(grad_d + c, load(grad_d + c) + grad_skip);
        for (int n = 0; n < STATES; n++) {
          float *p = grad_a + n * channels + c;
          store(p, load(p) + grad_rate[n]);
        }
      }
      for (int t = 0; t < count; t++)
        for (int n = 0; n < STATES; n++) {
          float *p = grad_bc + ((long)b * time + from + t) * 2 * STATES + n;
          p[0] = sum_of(grad_enter[t][n]);
          p[STATES] = sum_of(grad_leave[t][n]);
        }
    }
  }
}
