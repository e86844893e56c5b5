/** Small preferences that outlive a visit. Nothing secret: scripts can read it. */

type Kept = 'theme' | 'organization' | 'project';

export function recall(name: Kept): string | undefined {
  try {
    return localStorage.getItem(`gpuaas.${name}`) ?? undefined;
  } catch {
    return undefined;
  }
}

export function remember(name: Kept, value: string | undefined): void {
  try {
    if (value === undefined) localStorage.removeItem(`gpuaas.${name}`);
    // eslint-disable-next-line no-restricted-syntax -- this is the one place
    else localStorage.setItem(`gpuaas.${name}`, value);
  } catch {
    // A browser that keeps nothing still shows everything.
  }
}

/** What a reload of this browser tab finds again. Nothing secret either. */
export function recallHere(name: string): string | undefined {
  try {
    return sessionStorage.getItem(`gpuaas.${name}`) ?? undefined;
  } catch {
    return undefined;
  }
}

export function rememberHere(name: string, value: string): void {
  try {
    sessionStorage.setItem(`gpuaas.${name}`, value);
  } catch {
    // As above.
  }
}

export function forgetHere(name: string): void {
  try {
    sessionStorage.removeItem(`gpuaas.${name}`);
  } catch {
    // As above.
  }
}
