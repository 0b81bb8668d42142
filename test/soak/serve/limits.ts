// The soak server's memory limit.

/** Maximum concurrent requests; more are rejected with 429. */
export const MAX_REQUESTS = 32
export const STATE_BYTES = 8 * 1024 * 1024
/** Long enough that a reply whose client left would still be running when its round is checked. */
export const CONTEXT_LENGTH = 16_384
