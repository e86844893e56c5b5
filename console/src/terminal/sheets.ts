/**
 * xterm.js writes `<style>` elements and style attributes, which the page's policy
 * forbids. Here they become what the policy allows, because only scripts of this
 * site can do it: constructed style sheets, and properties that are set one by one.
 */

import type { Terminal } from '@xterm/xterm';

/** Stands where a `<style>` would; its text becomes a sheet of the document. */
function sheetElement(): HTMLElement {
  const sheet = new CSSStyleSheet();
  const element = Document.prototype.createElement.call(document, 'span') as HTMLElement;
  element.hidden = true;
  document.adoptedStyleSheets.push(sheet);
  Object.defineProperty(element, 'textContent', { set: (text: string) => sheet.replaceSync(text) });
  element.remove = () => {
    const at = document.adoptedStyleSheets.indexOf(sheet);
    if (at >= 0) document.adoptedStyleSheets.splice(at, 1);
    HTMLElement.prototype.remove.call(element);
  };
  return element;
}

/** As the document's own, without what the policy forbids. */
function createElement(name: string): HTMLElement {
  if (name === 'style') return sheetElement();
  const element = Document.prototype.createElement.call(document, name) as HTMLElement;
  element.setAttribute = (attribute: string, value: string) => {
    if (attribute === 'style') element.style.cssText = value;
    else HTMLElement.prototype.setAttribute.call(element, attribute, value);
  };
  return element;
}

/** The document as a terminal sees it. */
export const strictDocument: Document = new Proxy(document, {
  get(target, name) {
    if (name === 'createElement') return createElement;
    const value: unknown = Reflect.get(target, name, target);
    return typeof value === 'function' ? (value.bind(target) as unknown) : value;
  },
});

/** What of xterm.js makes the cells of a row. It has no public name. */
interface Inside {
  _core: { _renderService: { _renderer: { value: { _rowFactory: { _document: Document } } } } };
}

/**
 * Opens a terminal. Two places in xterm.js take the document that everybody has,
 * whatever it is told: one while it opens, one whenever a row is drawn.
 */
export function openStrictly(terminal: Terminal, element: HTMLElement): void {
  document.createElement = createElement as typeof document.createElement;
  try {
    terminal.open(element);
  } finally {
    // What is found from now on is the prototype's own.
    delete (document as Partial<Document>).createElement;
  }
  (terminal as unknown as Inside)._core._renderService._renderer.value._rowFactory._document = strictDocument;
}
