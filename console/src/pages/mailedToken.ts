/** A token that came with a link in a mail: behind the `#`, which no server sees. */

export function mailedToken(prefix: 'gpi' | 'gpm'): string {
  const token = new URLSearchParams(location.hash.slice(1)).get('token') ?? '';
  return token.startsWith(`${prefix}_`) ? token : '';
}

/** Takes the token out of the address, so that it stays in no history. */
export function dropMailedToken(): void {
  history.replaceState(history.state, '', location.pathname + location.search);
}
