// File names. In: a path or URL. Out: its last part, which identifies a file of a model.

/** E.g. `model.safetensors` for `https://host/repo/resolve/main/model.safetensors?download=true`. */
export function baseName(name: string): string {
  const isAddress = /^[a-z][a-z0-9+.-]*:/i.test(name)
  const path = isAddress ? name.replace(/[?#].*$/, '') : name
  return path.slice(Math.max(path.lastIndexOf('/'), path.lastIndexOf('\\')) + 1)
}

/** The base name without its extension and split number. */
export function modelName(name: string): string {
  return baseName(name)
    .replace(/\.[a-z0-9]+$/i, '')
    .replace(/-\d{5}-of-\d{5}$/, '')
}
