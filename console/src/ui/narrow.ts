/** Whether the window is narrow: where the style sheet's `md` ends. */

import { useSyncExternalStore } from 'react';

const QUERY = '(width < 48rem)';

function subscribe(listener: () => void): () => void {
  const media = window.matchMedia(QUERY);
  media.addEventListener('change', listener);
  return () => media.removeEventListener('change', listener);
}

export function useIsNarrow(): boolean {
  return useSyncExternalStore(subscribe, () => window.matchMedia(QUERY).matches);
}
