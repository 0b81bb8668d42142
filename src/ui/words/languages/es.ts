// The texts of `english.ts` in Spanish.
import type { DocumentWords } from '../documents.ts'
import type { CommonWords, WidgetWords } from '../english.ts'

export const COMMON: CommonWords = {
  conversation: 'Conversación',
  toEnd: 'Ir al mensaje más reciente',
  message: 'Mensaje',
  placeholder: 'Escribe un mensaje',
  send: 'Enviar',
  stop: 'Detener',
  you: 'Tú',
  thinking: 'Pensando …',
  thought: 'Razonamiento',
  copy: 'Copiar',
  copied: 'Copiado',
  copyCode: 'Copiar código',
  code: 'código',
  table: 'Tabla',
  formula: 'Fórmula',
  details: 'Detalles',
  cancel: 'Cancelar',
  left: 'quedan {time}',
}

/** The texts of `documents.ts`. */
export const DOCUMENTS: DocumentWords = {
  'document-kind':
    'Esta página no lee archivos del tipo de {name}. Adjunta texto, una página web, un PDF o una imagen.',
  'document-large': '{name} ocupa {size}; un archivo puede ocupar {most} como máximo. Adjunta una parte.',
  'document-long': '{name} es demasiado largo para leerlo aquí. Adjunta una parte.',
  'document-locked': '{name} está protegido con contraseña. Guarda una copia sin ella y adjúntala.',
  'document-scanned':
    '{name} no tiene texto: sus páginas son imágenes. Adjunta las imágenes o un PDF con texto.',
  'document-empty': '{name} no contiene texto. Adjunta otro archivo.',
  'document-damaged': '{name} está dañado. Ábrelo en su programa, guárdalo de nuevo y adjunta esa copia.',
  'document-part': 'La parte que lee {name} no se cargó. Comprueba la conexión y adjúntalo otra vez.',
  documentsMany: 'Un mensaje puede tener {most} archivos como máximo, y así serían {count}. Adjunta menos.',
  documentReading: 'Leyendo {name}: página {done} de {all}',
  documentsSmall:
    'Este modelo es demasiado pequeño para leer archivos: inventaría cosas. Elige uno más grande.',
  placePage: 'página {page}',
  placeLines: 'líneas {from}–{to}',
  placeLine: 'línea {line}',
  placeRows: 'filas {from}–{to}',
  placeRow: 'fila {row}',
}

export const WIDGET: WidgetWords = {
  ...DOCUMENTS,
  attachDocuments: 'Adjuntar documentos',
  attachedDocuments: 'Documentos adjuntos',
  dropDocuments: 'Suelta documentos para adjuntarlos',
  documentOpening: 'Leyendo {name}',
  documentsUnread: 'El modelo de este chat es demasiado pequeño para leer documentos.',
  heading: 'Chat',
  open: 'Abrir el chat',
  close: 'Cerrar el chat',
  clear: 'Nueva conversación',
  empty: 'Haz una pregunta. Se responde en este dispositivo.',
  suggestions: 'Sugerencias',
  model: 'Respuesta',
  again: 'Responder de nuevo',
  retry: 'Reintentar',
  stopped: 'Detenida',
  cut: 'Cortada: la respuesta alcanzó la longitud máxima',
  looped: 'Detenida: la respuesta se repetía',
  answering: 'Respondiendo',
  checking: 'Comprobando el tamaño de la descarga',
  consentTitle: '¿Descargar el modelo de lenguaje?',
  consentSize:
    'Este chat funciona en tu dispositivo. Su modelo de lenguaje se descarga una sola vez: {size}.',
  consentUnknown:
    'Este chat funciona en tu dispositivo. Su modelo de lenguaje se descarga una sola vez; no se conoce el tamaño.',
  consentTight: 'Puede que este dispositivo no tenga memoria suficiente.',
  accept: 'Descargar',
  decline: 'Ahora no',
  waiting: 'Esperando al servidor',
  downloading: 'Descargando: {loaded} de {total}',
  downloadingUnknown: 'Descargando: {loaded}',
  retrying: 'Se perdió la conexión. Nuevo intento en {time} ({attempt} de {attempts})',
  reading: 'Leyendo el modelo de este dispositivo',
  preparing: 'Preparando el modelo',
  ready: 'Listo',
  searching: 'Leyendo los documentos: {done} de {total}',
  sources: 'Fuentes',
  source: 'Fuente {number}',
  toolRunning: 'En curso: {name}',
  toolDone: 'Hecho: {name}',
  toolFailed: 'Error: {name}',
  toolArguments: 'Argumentos',
  toolResult: 'Resultado',
  passages:
    'Responde a la pregunta con estos pasajes. Si no la responden, dilo.\n\n{passages}\n\nPregunta: {question}',
  offline: 'No tienes conexión. Conéctate a internet y vuelve a intentarlo.',
  oldBrowser:
    'Este navegador es demasiado antiguo para el chat. Usa una versión actual de Chrome, Edge, Firefox o Safari.',
  noModel: 'Este chat no tiene ningún modelo. Avisa al propietario del sitio.',
  notFound: 'El servidor no tiene el modelo. Avisa al propietario del sitio.',
  'error-unsupported':
    'El modelo del chat o su configuración no se pueden usar aquí. Avisa al propietario del sitio.',
  'error-worker':
    'El chat no pudo iniciarse. Recarga la página; si vuelve a ocurrir, avisa al propietario del sitio.',
  'error-network': 'No se pudo descargar el modelo. Comprueba la conexión y vuelve a intentarlo.',
  'error-integrity': 'La descarga llegó dañada. Vuelve a intentarlo: solo se descargan las partes dañadas.',
  'error-format': 'El archivo del modelo está dañado o incompleto. Avisa al propietario del sitio.',
  'error-architecture': 'Este modelo no se puede usar aquí. Avisa al propietario del sitio.',
  'error-out-of-memory': 'No hay memoria suficiente. Cierra otras pestañas y vuelve a intentarlo.',
  'error-storage-full': 'El almacenamiento del dispositivo está lleno. Libera espacio y vuelve a intentarlo.',
  'error-context-overflow':
    'El mensaje es demasiado largo para este modelo. Acórtalo o empieza una conversación nueva.',
  'error-disposed': 'El modelo se cerró. Vuelve a intentarlo para cargarlo de nuevo.',
  'error-internal': 'Algo falló en el modelo. Vuelve a intentarlo para cargarlo de nuevo.',
}
