// A compute worker that never answers. In: anything. Out: nothing.
self.addEventListener('message', () => undefined)
