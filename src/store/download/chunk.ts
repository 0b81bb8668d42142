// Chunks. In: nothing. Out: the piece in which files are fetched and written.

/** What is asked for at a time, and what a cut costs at most per connection. */
export const CHUNK_BYTES = 4 << 20
