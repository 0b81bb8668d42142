// Styles: documents of messages. In: the shared rules. Out: a style sheet.
import { css } from 'lit'

export const documentStyles = css`
  .documents {
    display: flex;
    flex-wrap: wrap;
    gap: 6px;
    margin: 0;
    padding: 0;
    list-style: none;
    flex-basis: 100%;
  }
  .documents li {
    display: flex;
    align-items: center;
    gap: 4px;
    max-width: 100%;
    padding-inline-start: 12px;
    border: 1px solid var(--line);
    border-radius: var(--small-radius);
    background: var(--panel);
    font-size: 0.875em;
  }
  .documents span {
    overflow: hidden;
    text-overflow: ellipsis;
    white-space: nowrap;
  }
  .composer .wrong,
  .reading {
    flex-basis: 100%;
    margin: 0;
    font-size: 0.875em;
    overflow-wrap: anywhere;
  }
  .composer .wrong {
    color: var(--danger);
  }
  .reading {
    display: flex;
    align-items: center;
    justify-content: space-between;
    gap: 8px;
    color: var(--ink-soft);
    font-variant-numeric: tabular-nums;
  }
  .document pre {
    margin-block: 4px;
    max-height: 12em;
    overflow: auto;
    white-space: pre-wrap;
    font-family: inherit;
  }
  .panel[data-drop]::after {
    content: attr(data-drop);
    position: absolute;
    z-index: 1;
    inset: 8px;
    display: grid;
    place-content: center;
    padding: 16px;
    border: 2px dashed var(--accent);
    border-radius: var(--small-radius);
    background: color-mix(in srgb, var(--paper) 90%, transparent);
    font-weight: 600;
    text-align: center;
    pointer-events: none;
  }
`
