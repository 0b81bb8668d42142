// The address under which the store keeps a model's weights in the kernels' layout. No server has it.
const PREFIX = 'pack:auto:'

export const packAddress = (model: string): string => PREFIX + model

/** The address of the model of a pack; undefined if the address is not that of a pack. */
export const packedModel = (address: string): string | undefined =>
  address.startsWith(PREFIX) ? address.slice(PREFIX.length) : undefined
