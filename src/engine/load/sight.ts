// What a model sees of prompts and sessions: their text and, with a vision tower, their images.
import { HalfbyteError } from '../../core/base/errors.ts'
import { isMessage } from '../chat/messages.ts'
import type { Message } from '../types/conversation.ts'
import type { Prompt } from '../wire/protocol.ts'
import type { ModelText, Sight } from './loaded-model.ts'

/**
 * `tower` handles prompts and sessions with images. `id`: the model's name. `hasOtherTower`: the model
 * has a tower that is not supported.
 */
export function sightOf(
  tower: Sight | undefined,
  id: string,
  text: Pick<ModelText, 'encode'>,
  hasOtherTower = false,
): Sight {
  return {
    async look(prompt, signal) {
      if (!hasPictures(prompt))
        return { prompt, encode: (...given) => text.encode(...given), hold: async () => () => {} }
      if (tower !== undefined) return tower.look(prompt, signal)
      throw new HalfbyteError(
        'unsupported',
        hasOtherTower
          ? `a message has images but the vision tower of ${id} is not supported; send text only`
          : `a message has images but ${id} was loaded without a vision tower; load it with the option ` +
              'vision, the address of its mmproj file',
      )
    },
    async save(sequence, messages) {
      return tower === undefined ? { messages } : tower.save(sequence, messages)
    },
    restore(sequence, saved, name) {
      if (tower !== undefined) return tower.restore(sequence, saved, name)
      if (!saved.messages.some(({ images }) => images !== undefined)) return saved.messages
      throw new HalfbyteError(
        'unsupported',
        `${name} is a session with images, but the model was loaded without its vision tower; load it with the option vision`,
      )
    },
  }
}

const hasPictures = (prompt: Prompt): boolean =>
  prompt.type === 'messages' &&
  Array.isArray(prompt.messages) &&
  prompt.messages.some((message: Message) => isMessage(message) && (message.images?.length ?? 0) > 0)
