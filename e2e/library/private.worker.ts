// The real engine worker, without access to storage, as in a private window.
import '../../workers/engine.worker.ts'

navigator.storage.getDirectory = () => Promise.reject(new DOMException('refused', 'SecurityError'))
