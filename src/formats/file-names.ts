// File names. In: a path or address. Out: its last part, by which the files of a model are told apart.

/** `model.safetensors` of `https://host/repo/resolve/main/model.safetensors?download=true`. */
export function baseName(name: string): string {
  const isAddress = /^[a-z][a-z0-9+.-]*:/i.test(name)
  const path = isAddress ? name.replace(/[?#].*$/, '') : name
  return path.slice(Math.max(path.lastIndexOf('/'), path.lastIndexOf('\\')) + 1)
}

/** The base name without its ending and without the number of a split. */
export function modelName(name: string): string {
  return baseName(name)
    .replace(/\.[a-z0-9]+$/i, '')
    .replace(/-\d{5}-of-\d{5}$/, '')
}
