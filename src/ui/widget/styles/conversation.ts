// Styles: the log, notices, the message input. In: the variables of base.ts. Out: a style sheet.
import { css } from 'lit'

export const conversationStyles = css`
  .place {
    position: relative;
    min-height: 0;
  }
  .log {
    height: 100%;
    padding: 16px;
  }
  .log:focus-visible {
    outline-offset: -2px;
  }
  .to-end {
    inset-block-end: 8px;
    inset-inline: 0;
    margin-inline: auto;
    width: var(--touch);
  }
  .empty {
    flex: 1;
    display: grid;
    align-content: center;
    justify-items: center;
    gap: 16px;
    padding-block: 8px;
    text-align: center;
    color: var(--ink-soft);
  }
  .empty .mark {
    display: grid;
    place-items: center;
    width: 52px;
    height: 52px;
    border-radius: 16px;
    background: color-mix(in srgb, var(--accent) 12%, transparent);
    color: var(--accent);
  }
  .empty .mark .icon {
    width: 28px;
    height: 28px;
  }
  .suggestions {
    display: grid;
    gap: 8px;
    width: 100%;
    max-width: 420px;
    margin: 0;
    padding: 0;
    list-style: none;
  }
  .suggestions button {
    width: 100%;
    padding-block: 8px;
    border-color: var(--line);
    text-align: start;
    justify-content: flex-start;
    color: var(--ink);
  }

  .notice {
    display: grid;
    gap: 10px;
    margin: 0 12px 4px;
    padding: 14px;
    border: 1px solid var(--line);
    border-radius: var(--small-radius);
    background: var(--panel);
    font-size: 0.9375em;
    line-height: 1.45;
  }
  .notice .title {
    font-weight: 600;
  }
  .row {
    align-items: center;
  }
  .row.spread {
    flex-wrap: nowrap;
    justify-content: space-between;
    font-variant-numeric: tabular-nums;
  }
  .row.start {
    flex-wrap: nowrap;
    align-items: flex-start;
  }
  .notice.loading {
    gap: 6px;
    padding-block: 8px 12px;
  }
  .notice.error {
    border-color: color-mix(in srgb, var(--danger) 35%, transparent);
    background: var(--danger-ground);
  }
  .notice.error .icon {
    color: var(--danger);
  }
  .notice.error .retry .icon {
    color: inherit;
  }
  .notice summary {
    font-size: 0.8125em;
    color: var(--ink);
  }
  .reason {
    padding-block: 4px;
    font-size: 0.8125em;
    overflow-wrap: anywhere;
    max-height: 8em;
    overflow: auto;
  }
  .composer {
    flex-wrap: wrap;
    gap: 8px;
    padding: 8px 12px 12px;
  }
  textarea {
    max-height: min(9em, 40dvh);
    padding: 9px 14px;
    border: 1px solid var(--edge);
    border-radius: 22px;
    background: var(--paper);
    line-height: 1.5;
    overflow-y: auto;
  }
  @media (pointer: coarse) {
    /* A smaller font makes iOS zoom in when the field gets the focus. */
    textarea {
      font-size: max(1em, 16px);
    }
  }
  textarea::placeholder {
    white-space: nowrap;
  }
  textarea:focus-visible {
    outline-offset: -1px;
  }
  .wrong,
  .attached {
    flex-basis: 100%;
    min-width: 0;
    margin: 0;
    font-size: 0.875em;
  }
  .wrong {
    color: var(--danger);
    overflow-wrap: anywhere;
  }
  .attached {
    display: flex;
    flex-wrap: wrap;
    gap: 6px;
    padding: 0;
    list-style: none;
  }
  .attached li {
    display: flex;
    align-items: center;
    gap: 6px;
    max-width: 100%;
    padding-inline-start: 6px;
    border: 1px solid var(--line);
    border-radius: var(--small-radius);
    background: var(--panel);
  }
  .attached span {
    min-width: 0;
    overflow: hidden;
    text-overflow: ellipsis;
    white-space: nowrap;
  }
  .attached canvas {
    width: 36px;
    height: 36px;
    object-fit: cover;
    border-radius: 6px;
  }
  .panel[data-drop]::after {
    content: attr(data-drop);
    position: absolute;
    inset: 0;
    z-index: 2;
    display: grid;
    place-items: center;
    padding: 16px;
    border: 2px dashed var(--accent);
    border-radius: inherit;
    background: color-mix(in srgb, var(--paper) 88%, transparent);
    text-align: center;
    font-weight: 600;
    pointer-events: none;
  }
  .searching {
    padding-block: 8px;
    font-size: 0.875em;
    color: var(--ink-soft);
  }
`
