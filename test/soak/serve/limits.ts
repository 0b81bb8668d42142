// What the server of the soak may hold.

/** Requests at a time; more are rejected with 429. */
export const MOST_REQUESTS = 32
export const STATE_BYTES = 8 * 1024 * 1024
/** So long that a reply whose client left would still continue when its round is judged. */
export const CONTEXT_LENGTH = 16_384
