// The texts of `english.ts` in Japanese.
import type { DocumentWords } from '../documents.ts'
import type { CommonWords, WidgetWords } from '../english.ts'

export const COMMON: CommonWords = {
  conversation: '会話',
  toEnd: '最新のメッセージへ',
  message: 'メッセージ',
  placeholder: 'メッセージを入力',
  send: '送信',
  stop: '停止',
  you: 'あなた',
  thinking: '考え中…',
  thought: '思考',
  copy: 'コピー',
  copied: 'コピーしました',
  copyCode: 'コードをコピー',
  code: 'コード',
  table: '表',
  formula: '数式',
  details: '詳細',
  cancel: 'キャンセル',
  left: '残り {time}',
}

/** The texts of `documents.ts`. */
export const DOCUMENTS: DocumentWords = {
  'document-kind':
    '{name} はこのページが読める種類のファイルではありません。テキスト、ウェブページ、PDF、画像を添付してください。',
  'document-large': '{name} は {size} です。ファイルの上限は {most} です。一部を添付してください。',
  'document-long': '{name} は長すぎてここでは読めません。一部を添付してください。',
  'document-locked':
    '{name} はパスワードで保護されています。パスワードなしのコピーを保存して添付してください。',
  'document-scanned':
    '{name} にはテキストがなく、ページは画像です。画像か、テキストのある PDF を添付してください。',
  'document-empty': '{name} にはテキストがありません。別のファイルを添付してください。',
  'document-damaged': '{name} は壊れています。元のアプリで開いて保存し直し、それを添付してください。',
  'document-part': '{name} を読む部分を読み込めませんでした。接続を確認して、もう一度添付してください。',
  documentsMany:
    '1 件のメッセージのファイルは {most} 個までですが、これで {count} 個になります。添付を減らしてください。',
  documentReading: '{name} を読んでいます：{all} ページ中 {done} ページ',
  documentsSmall: 'このモデルは小さすぎてファイルを読めず、作り話をします。大きいモデルを選んでください。',
  placePage: '{page} ページ',
  placeLines: '{from}–{to} 行',
  placeLine: '{line} 行',
  placeRows: '表の {from}–{to} 行',
  placeRow: '表の {row} 行',
}

export const WIDGET: WidgetWords = {
  ...DOCUMENTS,
  attachDocuments: '文書を添付',
  attachedDocuments: '添付した文書',
  dropDocuments: 'ここにドロップして文書を添付',
  documentOpening: '{name} を読んでいます',
  documentsUnread: 'このチャットのモデルは小さすぎて文書を読めません。',
  heading: 'チャット',
  open: 'チャットを開く',
  close: 'チャットを閉じる',
  clear: '新しい会話',
  empty: '質問してください。回答はこのデバイス上で作成されます。',
  suggestions: '候補',
  model: '回答',
  again: 'もう一度回答',
  retry: '再試行',
  stopped: '停止しました',
  cut: '途中で終了：回答が長さの上限に達しました',
  looped: '停止しました：回答が繰り返しになりました',
  answering: '回答中',
  checking: 'ダウンロードのサイズを確認中',
  consentTitle: '言語モデルをダウンロードしますか？',
  consentSize:
    'このチャットはお使いのデバイスで動作します。言語モデルは一度だけダウンロードされます：{size}。',
  consentUnknown:
    'このチャットはお使いのデバイスで動作します。言語モデルは一度だけダウンロードされます。サイズは不明です。',
  consentTight: 'このデバイスではメモリが足りない可能性があります。',
  accept: 'ダウンロード',
  decline: '後で',
  waiting: 'サーバーを待っています',
  downloading: 'ダウンロード中：{loaded}/{total}',
  downloadingUnknown: 'ダウンロード中：{loaded}',
  retrying: '接続が切れました。{time}後に再試行します（{attempt}/{attempts}）',
  reading: 'このデバイスからモデルを読み込み中',
  preparing: 'モデルを準備中',
  ready: '準備完了',
  searching: '文書を読み取り中：{done}/{total}',
  sources: '出典',
  source: '出典 {number}',
  toolRunning: '実行中：{name}',
  toolDone: '完了：{name}',
  toolFailed: '失敗：{name}',
  toolArguments: '引数',
  toolResult: '結果',
  passages:
    '次の文章に基づいて質問に答えてください。答えが含まれていない場合は、そう伝えてください。\n\n{passages}\n\n質問：{question}',
  offline: 'オフラインです。インターネットに接続してから、もう一度お試しください。',
  oldBrowser:
    'このブラウザは古いためチャットを使えません。Chrome、Edge、Firefox、Safari の最新版をお使いください。',
  noModel: 'このチャットにはモデルがありません。サイトの所有者にお知らせください。',
  notFound: 'サーバーにモデルがありません。サイトの所有者にお知らせください。',
  'error-unsupported': 'チャットのモデルまたは設定をここでは使えません。サイトの所有者にお知らせください。',
  'error-worker':
    'チャットを開始できませんでした。ページを再読み込みしてください。再び起きる場合は、サイトの所有者にお知らせください。',
  'error-network': 'モデルをダウンロードできませんでした。接続を確認してから、もう一度お試しください。',
  'error-integrity':
    'ダウンロードしたデータが壊れていました。もう一度お試しください。壊れた部分だけをダウンロードします。',
  'error-format': 'モデルのファイルが壊れているか不完全です。サイトの所有者にお知らせください。',
  'error-architecture': 'このモデルはここでは使えません。サイトの所有者にお知らせください。',
  'error-out-of-memory': 'メモリが足りません。ほかのタブを閉じてから、もう一度お試しください。',
  'error-storage-full': 'デバイスのストレージがいっぱいです。空きを作ってから、もう一度お試しください。',
  'error-context-overflow': 'メッセージがこのモデルには長すぎます。短くするか、新しい会話を始めてください。',
  'error-disposed': 'モデルは閉じられました。もう一度試すと、再び読み込みます。',
  'error-internal': 'モデルで問題が起きました。もう一度試すと、再び読み込みます。',
}
