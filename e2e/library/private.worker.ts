// An engine worker as in a private window. The real engine worker, without access to storage.
import '../../workers/engine.worker.ts'

navigator.storage.getDirectory = () => Promise.reject(new DOMException('refused', 'SecurityError'))
