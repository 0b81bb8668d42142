// Chunks. In: nothing. Out: the size in which files are fetched and written.

/** Bytes in one request. A broken connection loses at most this much. */
export const CHUNK_BYTES = 4 << 20
