/** What a sign-in through the external issuer leaves until it comes back, in this tab alone. */

interface Started {
  /** Compared when it comes back: a sign-in that began elsewhere is not finished here. */
  state: string;
  to?: string | undefined;
}

const NAME = 'gpuaas.oidc';

export function keepOidc(started: Started): void {
  sessionStorage.setItem(NAME, JSON.stringify(started));
}

export function takeOidc(): Started | undefined {
  const text = sessionStorage.getItem(NAME);
  sessionStorage.removeItem(NAME);
  return text ? (JSON.parse(text) as Started) : undefined;
}
