// A compute worker that never answers.
self.addEventListener('message', () => undefined)
